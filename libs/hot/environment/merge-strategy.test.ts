/** Parameters of several environments, merged by the strategies that the environments name. */
import type { Json } from '@anneal/contracts/json.ts';
import { describe, expect, it } from 'vitest';
import { Mistakes } from '../mistakes.ts';
import type { ParameterType } from '../parameters/parameter-schema.ts';
import { readEnvironments } from './environment.ts';

interface File {
  readonly parameters: Json;
  readonly strategies?: Json;
}

/** The merged value of the parameter `p`, or the messages of the mistakes. */
function merge(type: ParameterType | undefined, ...files: readonly File[]): unknown {
  const mistakes = new Mistakes();
  const documents = files.map(({ parameters, strategies }, index) => ({
    content: JSON.stringify({
      parameters,
      ...(strategies !== undefined && { parameter_merge_strategies: strategies }),
    }),
    file: `file ${index + 1}`,
  }));
  const environment = readEnvironments(documents, { mistakes, parameterType: () => type });
  const found = mistakes.all().map(({ message }) => message);
  return found.length > 0 ? found : (environment.merged['parameters'] as Record<string, Json>)['p'];
}
const two = (type: ParameterType, first: Json, second: Json, strategy = 'merge') =>
  merge(type, { parameters: { p: first } }, { parameters: { p: second }, strategies: { p: strategy } });
const both = (type: ParameterType, first: Json, second: Json, strategy: string) => {
  const strategies = { p: strategy };
  return merge(type, { parameters: { p: first }, strategies }, { parameters: { p: second }, strategies });
};

describe('two values of one parameter', () => {
  it.each([
    ['overwrite', 'json', { a: 1 }, { b: 2 }, { b: 2 }],
    ['merge', 'json', { a: { x: 1 }, b: 1 }, { a: { y: 2 }, b: null }, { a: { y: 2 }, b: 1 }],
    ['deep_merge', 'json', { a: { x: 1 }, l: [1] }, { a: { y: 2 }, l: [2] }, { a: { x: 1, y: 2 }, l: [1, 2] }],
    ['deep_merge', 'json', { a: { t: 'x', n: 1 } }, { a: { t: 'y', n: 2 } }, { a: { t: 'xy', n: 2 } }],
    ['deep_merge', 'json', { a: 0 }, { a: { y: 2 } }, { a: { y: 2 } }],
    ['merge', 'json', '', { b: 2 }, { b: 2 }],
    ['merge', 'json', { a: 1 }, '{"b": 2}', { a: 1, b: 2 }],
    ['merge', 'comma_delimited_list', ['a'], ['b'], ['a', 'b']],
    ['merge', 'comma_delimited_list', 'a,b', 'c', 'a,b,c'],
    ['merge', 'comma_delimited_list', [], 'c', 'c'],
    ['merge', 'string', 'a', 'b', 'ab'],
    ['merge', 'number', '1', '2', '12'],
  ] as const)('with %s of a %s: %j and %j give %j', (strategy, type, first, second, result) => {
    expect(both(type, first as Json, second as Json, strategy)).toEqual(result);
  });

  it.each([
    ['boolean', true, false, "Invalid merge strategy 'merge' for parameter 'p'."],
    ['number', 1, 2, 'a number cannot be merged'],
    ['string', 'a', 1, 'only text can be joined to text'],
    ['comma_delimited_list', ['a'], 'b', 'a list and a text with commas do not go together'],
    ['comma_delimited_list', ['a'], { b: 1 }, 'it is a map, not a list'],
    ['json', { a: 1 }, [1], 'only a map can be merged into a map'],
    ['json', { a: 1 }, 'secret{', 'it is not valid JSON'],
  ] as const)('of the type %s: %j and %j are refused', (type, first, second, reason) => {
    const refused = both(type, first as Json, second as Json, 'merge');
    expect(refused).toEqual([expect.stringContaining(reason)]);
    expect(JSON.stringify(refused)).not.toContain('secret');
  });

  it('in a deep merge are refused where their kinds differ', () => {
    expect(both('json', { a: { b: 'x' } }, { a: { b: [1] } }, 'deep_merge')).toEqual([
      expect.stringContaining('only a list can be added to a list'),
    ]);
    expect(both('json', { a: { b: [1] } }, { a: { b: 'x' } }, 'deep_merge')).toEqual([
      expect.stringContaining('only text can be joined to text'),
    ]);
  });
});

describe('a strategy', () => {
  it('is that of the parameter, else the default; an unknown one is ignored', () => {
    const named = { p: 'merge', default: 'overwrite' };
    const first = { parameters: { p: 'a' }, strategies: named };
    expect(merge('string', first, { parameters: { p: 'b' }, strategies: named })).toBe('ab');
    const byDefault = { default: 'merge' };
    const files = [{ parameters: { p: 'a' }, strategies: byDefault }] as const;
    expect(merge('string', ...files, { parameters: { p: 'b' }, strategies: byDefault })).toBe('ab');
    const unknown = { p: 'append', default: 'merge' };
    expect(merge('string', { parameters: { p: 'a' }, strategies: unknown }, { parameters: { p: 'b' } })).toBe('ab');
    expect(both('string', 'a', 'b', 'append')).toBe('b');
    expect(two('string', 'a', 'b', 'append')).toBe('b');
  });

  it('of an earlier file holds for a later one that names none, and may not change', () => {
    const first = { parameters: { p: 'a' }, strategies: { p: 'merge' } };
    expect(merge('string', first, { parameters: { p: 'b' } })).toBe('ab');
    expect(two('string', 'a', 'b')).toEqual(["Conflicting merge strategy 'merge' for parameter 'p' in file 'file 2'."]);
  });

  it('does not concern a parameter that no template declares, or a null: the first file decides', () => {
    expect(merge(undefined, { parameters: { p: 'a' } }, { parameters: { p: 'b' } })).toBe('a');
    expect(merge('string', { parameters: { p: 'a' } }, { parameters: { p: null } })).toBe('a');
    expect(merge('string', { parameters: { p: null } }, { parameters: { p: 'b' } })).toBe('b');
  });
});
