import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { describe, expect, it } from 'vitest';
import { checkPatterns, parseFilters } from './event-filter.ts';

const event: Envelope = {
  specversion: '1.0',
  id: 'e1',
  type: 'stack.create.failed',
  source: 'anneal/scheduling',
  subject: 's1',
  time: '2026-11-22T00:00:00.000Z',
  correlationid: 'c',
  project: 'p1',
  data: { stack_name: 'web-1', version: 3, failure: { code: 'Timeout' }, tags: ['a'] },
};
const passes = (...filters: Json[]): boolean => parseFilters(filters)(event);

describe('the filter dialects of CloudEvents', () => {
  it('compare attributes and values in the data; all names of one filter must match', () => {
    expect(passes()).toBe(true);
    expect(passes({ exact: { subject: 's1', project: 'p1' } })).toBe(true);
    expect(passes({ exact: { subject: 's1', project: 'p2' } })).toBe(false);
    expect(passes({ prefix: { 'data.stack_name': 'web-' } }, { suffix: { type: '.failed' } })).toBe(true);
    expect(passes({ prefix: { 'data.stack_name': 'db-' } }, { suffix: { type: '.failed' } })).toBe(false);
    expect(passes({ exact: { 'data.failure.code': 'Timeout', 'data.version': '3' } })).toBe(true);
    expect(passes({ exact: { 'data.absent': 'x' } })).toBe(false);
    expect(passes({ prefix: { 'data.constructor.name': 'O' } })).toBe(false);
  });

  it('combine with all, any and not', () => {
    const failed = { suffix: { type: '.failed' } };
    const other = { exact: { subject: 's2' } };
    expect(passes({ any: [other, failed] })).toBe(true);
    expect(passes({ all: [other, failed] })).toBe(false);
    expect(passes({ not: other })).toBe(true);
    expect(passes({ not: { any: [other, failed] } })).toBe(false);
  });

  it('are refused with every mistake, and with a bound on their size', () => {
    expect(() =>
      passes(
        { like: { subject: '%' } },
        { exact: {} },
        { any: [] },
        { not: { prefix: { 'Data.x': 'y', subject: 1 } } },
      ),
    ).toThrow(
      /filters\[0\]: must be .*filters\[1\]\.exact: .*filters\[2\]\.any: .*filters\[3\]\.not\.prefix\.Data\.x: .*prefix\.subject: /,
    );
    let deep: Json = { exact: { subject: 's1' } };
    for (let level = 0; level < 9; level += 1) deep = { not: deep };
    expect(() => passes(deep)).toThrow('8 levels');
    expect(() => passes(...Array.from({ length: 101 }, () => ({ exact: { subject: 's1' } })))).toThrow('100 filters');
  });
});

it('a pattern that matches no event type is refused with the nearest one that does', () => {
  const types = ['stack.create.completed', 'stack.create.failed', 'host.up'];
  expect(() => checkPatterns(['#', 'stack.#', 'host.*', '*.*.failed'], types)).not.toThrow();
  expect(() => checkPatterns(['stack.#', 'stak.#'], types)).toThrow(
    'No event type matches stak.#. Did you mean stack.#?',
  );
  expect(() => checkPatterns(['host.upp'], types)).toThrow('Did you mean host.up?');
});
