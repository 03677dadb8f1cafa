import type { Json } from '@anneal/contracts/json.ts';
import { describe, expect, it } from 'vitest';
import { planOf, mistakesOf } from '../testing/types-and-compile.ts';

const template = (schema: string): string => `heat_template_version: 2018-08-31\nparameters:\n  p: {${schema}}\n`;
const value = (schema: string, given: Json): Json | undefined =>
  planOf(template(schema), { parameters: { p: given } }).parameters['p']?.value;
const problem = (schema: string, given: Json): string =>
  mistakesOf(template(schema), { parameters: { p: given } })
    .map(({ message }) => message)
    .join('; ');

describe('parameters', () => {
  it.each<[string, Json, Json]>([
    ['string', true, 'True'],
    ['string', 1.1, '1.1'],
    ['string', { a: 1 }, "{'a': 1}"],
    ['string', [1, 'a'], "[1, 'a']"],
    ['number', '1e3', 1000],
    ['number', ' 7 ', 7],
    ['boolean', 'ON', true],
    ['boolean', 'n', false],
    ['comma_delimited_list', 'a, b ,,c', ['a', ' b ', '', 'c']],
    ['comma_delimited_list', '', []],
    ['comma_delimited_list', [1, true, null], ['1', 'True', 'None']],
    ['json', '{"a": [1]}', { a: [1] }],
    ['json', '', ''],
    ['CommaDelimitedList', 'a,b', ['a', 'b']],
  ])('of type %s accept %j', (type, given, expected) => {
    expect(value(`type: ${type}`, given)).toEqual(expected);
  });

  it('of type string keep the written form of a default', () => {
    const plan = planOf(template('type: string, default: 1.0'));
    expect(plan.parameters['p']?.value).toBe('1.0');
  });

  it.each<[string, Json, string]>([
    ['type: number', '0x10', 'to a number'],
    ['type: boolean', 'maybe', "Unrecognized value 'maybe'"],
    ['type: json', '{', 'Value must be valid JSON'],
    ['type: string, constraints: [{length: {max: 3}}]', 'abcde', 'length (5) is out of range (min: None, max: 3)'],
    ['type: number, constraints: [{range: {min: 1, max: 3}}]', 4, '4 is out of range (min: 1, max: 3)'],
    ['type: number, constraints: [{modulo: {step: 2, offset: 0}}]', 7, '7 is not a multiple of 2 with an offset of 0'],
    ['type: string, constraints: [{allowed_values: [a, b]}]', 'v', '"v" is not an allowed value ["a", "b"]'],
    ["type: string, constraints: [{allowed_pattern: '[a-z]'}]", 'ab', '"ab" does not match pattern "[a-z]"'],
    ['type: string, constraints: [{custom_constraint: ip_addr}]', 'x', 'Invalid IP address: x'],
    ['type: string, constraints: [{custom_constraint: nonsense}]', 'x', 'constraint not found'],
    ['type: string, constraints: [{length: {max: 1}, description: my words}]', 'xx', 'my words'],
    ['type: string, constraints: [{range: {max: 1}}]', 'x', 'range constraint invalid for string'],
    ['type: string, constraints: [{}]', 'x', 'No constraint expressed'],
    ['label: x', 'x', 'Missing parameter type for parameter: p'],
  ])('{%s} refuse %j', (schema, given, message) => {
    expect(problem(schema, given)).toContain(message);
  });

  it('accept values that only a service could verify', () => {
    expect(value('type: string, constraints: [{custom_constraint: nova.flavor}]', 'x')).toBe('x');
    expect(value('type: string, constraints: [{allowed_values: [true]}]', true)).toBe('True');
  });

  it('check their defaults', () => {
    const found = mistakesOf(template('type: number, default: 7, constraints: [{modulo: {step: 2, offset: 0}}]'));
    expect(found[0]?.message).toBe(
      "Parameter 'p' is invalid: Invalid default 7 (7 is not a multiple of 2 with an offset of 0)",
    );
  });
});
