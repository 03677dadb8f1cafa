import { readFileSync } from 'node:fs';
import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plain } from '@anneal/python/values/exact.ts';
import { EvaluationWork } from '../evaluate/work.ts';
import { evaluateYaql, heatLimits, parseYaql, YaqlFault } from './yaql.ts';
import type { Json } from '@anneal/contracts/json.ts';

/** The result of each expression on the same data. A row without `is` and `set` is refused. */
interface Row {
  readonly is?: Json;
  readonly set?: Json[];
}
const table = JSON.parse(readFileSync(new URL('../testdata/yaql.json', import.meta.url), 'utf8')) as {
  data: Json;
  rows: [string, Row][];
};

const run = (expression: string, data: Json = table.data, limits = heatLimits, work = new EvaluationWork()): Json =>
  plain(evaluateYaql({ tree: parseYaql(expression), data: { data }, limits, work }));

const sorted = (items: Json): Json[] =>
  (items as Json[]).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

describe('an expression', () => {
  it.each(table.rows)('%s', (expression, row) => {
    if (row.is !== undefined) expect(run(expression)).toEqual(row.is);
    else if (row.set) expect(sorted(run(expression))).toEqual(sorted(row.set));
    else expect(() => run(expression)).toThrow(YaqlFault);
  });

  it('reports the position of a mistake', () => {
    expect(() => parseYaql('$.data.where($ >')).toThrow(expect.objectContaining({ offset: 16 }));
  });

  it.each([
    'sequence().len()',
    'sequence().where(false).len()',
    '[1].cycle().where(false).first()',
    'generate(1, true, $ + 1).len()',
    'def(f, f($)) -> f(1)',
    'def(f, f($ + 1) + f($ + 2)) -> f(1)',
    'pow(10, 1000000)',
    'shiftBitsLeft(1, 1000000000)',
    `regex('(a+)+$').matches('${'a'.repeat(60)}b')`,
    `regex('(a|aa)+(?=c)$').matches('${'a'.repeat(60)}b')`,
  ])('always ends: %s', (expression) => {
    const started = performance.now();
    try {
      run(expression, null, { iterators: -1, memory: -1 }, new EvaluationWork(400_000));
    } catch (error) {
      expect(error).toBeInstanceOf(YaqlFault);
    }
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  it('may read more when the limits are raised', () => {
    expect(() => run('range(300)')).toThrow('exceeds 200');
    expect(run('range(300).len()', null, { ...heatLimits, iterators: 1000 })).toBe(300);
  });

  const words =
    "$|$.data|.|(|)|[|]|{|}|,|=>|->|1|2.5|'a'|null|true|a|+|-|*|/|mod|and|or|not | in |=|<|where(|select(|let(|len()|range(3)|sum()|groupBy(|def(f, |f(|switch(|dict(|orderBy(|cycle()|sequence()|flatten()|regex(|$1|?.";
  const word = constantFrom(...words.split('|'));
  it('never hangs and throws only yaql errors when random', () => {
    assert(
      property(array(word, { maxLength: 14 }), (parts) => {
        try {
          run(parts.join(''), { a: [1, 'b', { c: null }] }, heatLimits, new EvaluationWork(80_000));
        } catch (error) {
          expect(error).toBeInstanceOf(YaqlFault);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
