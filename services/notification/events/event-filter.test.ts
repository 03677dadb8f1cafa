import type { Envelope } from '@anneal/contracts/envelope.ts';
import { filtersOfScope, type EventScope } from '@anneal/contracts/event-scope.ts';
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

describe('the scope of a filter', () => {
  const origin = { root: { stack_id: 'id-1', stack_name: 'web' }, path: 'group/0/server', tags: ['prod', 'eu'] };
  const nested: Envelope = {
    ...event,
    data: { origin, stack_id: 'id-2', stack_name: 'web-group-0-x', host_id: 'h1', host_name: 'one' },
  };
  const fits = (scope: EventScope, about: Envelope = nested): boolean => parseFilters(filtersOfScope(scope))(about);

  it('has a stack with everything nested in it, by name, id, or path, and never another stack', () => {
    for (const stack of ['web', 'id-1', 'web/group', 'id-1/group/0', 'web/group/0/server', 'id-2', 'web-group-0-x']) {
      expect(fits({ stack: [stack] }), stack).toBe(true);
    }
    for (const stack of ['we', 'group', 'web/gro', 'web/0', 'web/', 'web/group/0/server/x', '']) {
      if (stack !== '') expect(fits({ stack: [stack] }), stack).toBe(false);
    }
    expect(fits({ stack: ['db', 'web'] })).toBe(true);
  });

  it('has tags, groups and hosts; every parameter must match', () => {
    expect(fits({ tag: ['prod'], group: ['web/group'], host: ['one'] })).toBe(true);
    expect(fits({ tag: ['test'], group: ['web/group'] })).toBe(false);
    expect(fits({ group: ['group'] })).toBe(true);
    expect(fits({ group: ['web'] })).toBe(false);
    expect(fits({ host: ['h1'] })).toBe(true);
    expect(fits({ host: ['web'] })).toBe(false);
    const up: Envelope = { ...event, type: 'host.up', data: { host_id: 'h1', name: 'one' } };
    expect(fits({ host: ['one'] }, up)).toBe(true);
    expect(fits({ host: ['one'] }, { ...up, type: 'node.enrolled' })).toBe(false);
  });

  it('works in every dialect, and holds for no event without an origin', () => {
    expect(parseFilters([{ prefix: { stack: 'web/gr' } }, { suffix: { tag: 'od' } }])(nested)).toBe(true);
    expect(parseFilters([{ not: { exact: { tag: 'prod' } } }])(nested)).toBe(false);
    for (const data of [null, 'text', {}, { origin: null }, { origin: { root: null, path: 3, tags: 'prod' } }]) {
      expect(fits({ tag: ['prod'] }, { ...event, data })).toBe(false);
      expect(fits({ stack: ['web'] }, { ...event, data })).toBe(false);
      expect(fits({ group: ['web'] }, { ...event, data })).toBe(false);
    }
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
