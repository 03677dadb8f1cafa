import type { Json } from '@anneal/contracts/json.ts';
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { describe, expect, it } from 'vitest';
import { compareProperties, resolveProperties } from './properties.ts';
import { EvaluationWork } from '../evaluate/work.ts';

const scope = {
  templateVersion: '2018-08-31',
  work: new EvaluationWork(),
  parameter: () => undefined,
  reference: () => undefined,
  attribute: () => undefined,
};
const typeOf = (properties: Record<string, PropertySchema>): ResourceType => ({
  type: 'T',
  properties,
  attributes: {},
});

function resolve(schema: PropertySchema, value?: Json): unknown {
  const properties = value === undefined ? {} : { p: { kind: 'literal' as const, value } };
  const resource = { name: 'r', type: 'T', requires: [], properties };
  const result = resolveProperties({ resource, type: typeOf({ p: schema }), scope });
  return result.mistakes.length > 0 ? result.mistakes.map(({ message }) => message) : result.properties['p'];
}
const error = (message: string): string[] => [`Property error: resources.r.properties.p: ${message}`];

describe('properties', () => {
  it.each<[PropertySchema['type'], Json, unknown]>([
    ['String', true, 'True'],
    ['String', 7, '7'],
    ['String', 1.5, error('Value must be a string; got 1.5')],
    ['String', [1], error('Value must be a string; got [1]')],
    ['Integer', '7', 7],
    ['Integer', 1.9, 1],
    ['Integer', true, 1],
    ['Integer', 'x', error("Value 'x' is not an integer")],
    ['Number', '1.5', 1.5],
    ['Number', 'inf', error("Value 'inf' is not a finite number")],
    ['Number', 'nan', error("Value 'nan' is not a finite number")],
    ['Boolean', 'TRUE', true],
    ['Boolean', 'yes', error('"yes" is not a valid boolean')],
    ['Boolean', 1, error('"1" is not a valid boolean')],
    ['Map', 'x', error('"x" is not a map')],
    ['List', 'a,b', error('"a,b" is not a list')],
    ['Any', { a: [1] }, { a: [1] }],
    ['String', null, ''],
    ['Integer', null, 0],
    ['List', null, []],
    ['Boolean', null, false],
  ])('%s accepts %j as Heat does', (type, value, expected) => {
    expect(resolve({ type }, value)).toEqual(expected);
  });

  it('have defaults, also for null', () => {
    expect(resolve({ type: 'String', default: 'd' })).toBe('d');
    expect(resolve({ type: 'String', default: 'd' }, null)).toBe('d');
    expect(resolve({ type: 'String', required: true }, null)).toBe('');
    expect(resolve({ type: 'String', required: true })).toEqual([
      'Property error: resources.r.properties: Property p not assigned',
    ]);
  });

  it('are checked at any depth', () => {
    const item: PropertySchema = {
      type: 'Map',
      schema: { n: { type: 'Integer', constraints: [{ range: { max: 3 } }] } },
    };
    expect(resolve({ type: 'List', schema: { '*': item } }, [{ n: 9 }, { m: 1 }])).toEqual([
      'Property error: resources.r.properties.p.0.n: 9 is out of range (min: None, max: 3)',
      'Property error: resources.r.properties.p.1.m: Unknown Property m',
    ]);
  });

  it('are omitted and listed while unknown', () => {
    const call = {
      kind: 'call' as const,
      function: 'get_attr',
      arguments: { kind: 'literal' as const, value: ['x', 'y'] },
    };
    const resource = { name: 'r', type: 'T', requires: [], properties: { p: call } };
    const result = resolveProperties({ resource, type: typeOf({ p: { type: 'Integer', required: true } }), scope });
    expect(result).toMatchObject({ properties: {}, mistakes: [], unknown: ['p'] });
  });

  it('replace the resource when changed, unless their schema allows an update', () => {
    const type = typeOf({ a: { type: 'Any', update_allowed: true }, b: { type: 'String' } });
    expect(
      compareProperties({ type, before: { a: { x: 1, y: 2 }, b: '1' }, after: { a: { y: 2, x: 1 }, b: '1' } }),
    ).toEqual({ changed: [], replace: [] });
    expect(compareProperties({ type, before: { a: 1 }, after: { a: 2, b: '1' } })).toEqual({
      changed: ['a', 'b'],
      replace: ['b'],
    });
  });

  it('replace the test resource when they ask for it, and not when they take it back', () => {
    const type = {
      ...typeOf({ update_replace: { type: 'Boolean', update_allowed: true } }),
      type: 'OS::Heat::TestResource',
    };
    const set = { update_replace: true };
    const unset = { update_replace: false };
    expect(compareProperties({ type, before: unset, after: set }).replace).toEqual(['update_replace']);
    expect(compareProperties({ type, before: set, after: unset }).replace).toEqual([]);
  });
});
