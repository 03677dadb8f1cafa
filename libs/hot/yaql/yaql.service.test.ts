import { readFileSync } from 'node:fs';
import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plain } from '@anneal/python/values/exact.ts';
import { EvaluationWork } from '../evaluate/work.ts';
import { evaluateYaql, parseYaql, YaqlFault } from './yaql.ts';
import { defaultEvaluation, type EvaluationLimits } from '../limits.ts';
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

const run = (expression: string, data: Json = table.data, limits: Partial<EvaluationLimits> = {}): Json => {
  const work = new EvaluationWork({ ...defaultEvaluation, ...limits });
  return plain(evaluateYaql({ tree: parseYaql(expression), data: { data }, work }));
};

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
      run(expression, null, { elements: -1, memory: -1, work: 400_000 });
    } catch (error) {
      expect(error).toBeInstanceOf(YaqlFault);
    }
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  it('may read more when the limits are raised', () => {
    expect(run('range(300).toList().len()', null, { elements: 1000 })).toBe(300);
    expect(run("('a' * 20000).len()", null, { memory: 1_000_000 })).toBe(20_000);
    expect(run('(list(1, 2) * 5000).len()', null, { elements: 10_000, memory: 1_000_000 })).toBe(10_000);
  });

  it.each<[what: string, expression: string, limits: Partial<EvaluationLimits>, message: string]>([
    ['elements', 'range(300)', {}, 'Collection length exceeds 200 elements (the limit is ANNEAL_YAQL_LIMIT_ITERATORS)'],
    [
      'elements of a list',
      '$.data.select($)',
      { elements: 2 },
      'exceeds 2 elements (the limit is ANNEAL_YAQL_LIMIT_ITE',
    ],
    ['bytes of a text', "'a' * 20000", {}, 'has over 10000 bytes (the limit is ANNEAL_YAQL_MEMORY_QUOTA)'],
    ['bytes of a list', 'list(1, 2) * 9', { memory: 99 }, 'has over 99 bytes (the limit is ANNEAL_YAQL_MEMORY_QUOTA)'],
    [
      'work',
      'range(99).len()',
      { work: 50 },
      'read 50 values (or 32 characters each) altogether (the limit is ANNEAL_E',
    ],
    ['work of a text', "('a' * 1000000000).len()", { memory: -1 }, '(the limit is ANNEAL_EVALUATION_WORK)'],
    ['work of a list', '(list(1) * 100000000).len()', { memory: -1 }, '(the limit is ANNEAL_EVALUATION_WORK)'],
  ])('names the setting and the present value when there are too many %s', (_, expression, limits, message) => {
    expect(() => run(expression, [1, 2, 3], limits)).toThrow(message);
  });

  it.each([
    '$.data.select({name => $.name, ports => $.ports.where($ > 80).select(str($))}).len()',
    'dict($.data.select([$.name, $.ports])).items().where($[1].len() > 1).select($[0]).len()',
    'let(all => $.data) -> $all.where($.name != null and $.name.len() > 2).orderBy($.name).select($.name).distinct().len()',
    '$.data.select($.config).aggregate($1.mergeWith($2), {}).keys().len()',
  ])('takes a list of 10,000 with the limits that TripleO sets: %s', (expression) => {
    const data = Array.from({ length: 10_000 }, (_, at) => ({
      name: `service-${at}`,
      ports: [80, 443],
      config: { [`key${at % 50}`]: at },
    }));
    expect(run(expression, data, { elements: 10_000, memory: 1_000_000 })).toBeGreaterThan(49);
  });

  const words =
    "$|$.data|.|(|)|[|]|{|}|,|=>|->|1|2.5|'a'|null|true|a|+|-|*|/|mod|and|or|not | in |=|<|where(|select(|let(|len()|range(3)|sum()|groupBy(|def(f, |f(|switch(|dict(|orderBy(|cycle()|sequence()|flatten()|regex(|$1|?.";
  const word = constantFrom(...words.split('|'));
  it('never hangs and throws only yaql errors when random', () => {
    assert(
      property(array(word, { maxLength: 14 }), (parts) => {
        try {
          run(parts.join(''), { a: [1, 'b', { c: null }] }, { work: 80_000 });
        } catch (error) {
          expect(error).toBeInstanceOf(YaqlFault);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
