import { written } from '@anneal/contracts/exact-number.ts';
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
    ['number', '1e3', written(1000, '1000.0')],
    ['number', ' 7 ', 7],
    ['boolean', 'ON', true],
    ['boolean', 'n', false],
    ['comma_delimited_list', 'a, b ,,c', ['a', ' b ', '', 'c']],
    ['comma_delimited_list', '', []],
    ['comma_delimited_list', [1, true, null], ['1', 'True', 'None']],
    ['json', '{"a": [1]}', { a: [1] }],
    ['json', '', ''],
  ])('of type %s accept %j', (type, given, expected) => {
    expect(value(`type: ${type}`, given)).toEqual(expected);
  });

  it("have CloudFormation's types only in the first version", () => {
    const first = template('type: CommaDelimitedList').replace('2018-08-31', '2013-05-23');
    expect(planOf(first, { parameters: { p: 'a,b' } }).parameters['p']?.value).toEqual(['a', 'b']);
    expect(problem('type: String', 'a')).toBe('Invalid type (String)');
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
    [
      'type: string, constraints: [{custom_constraint: no.such}]',
      'x',
      '"x" does not validate no.such (constraint not found)',
    ],
    ['type: string, default: x, constraints: [{custom_constraint: no.such}]', null, 'constraint not found'],
    [
      'type: string, constraints: [{custom_constraint: json_string}]',
      '{',
      "Error validating value '{': JSON string { is invalid",
    ],
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

  it.each<[string, string | undefined]>([
    ['2026-05-04T12:00:01Z', undefined],
    ['2026-05-04T12:00:00.5', undefined],
    ['2026-05-04T13:30:00+01:00', undefined],
    ['', undefined],
    ['2026-05-04T12:00:00Z', 'Expiration time is out of date.'],
    ['2026-05-04T12:59:59+01:00', 'Expiration time is out of date.'],
    ['2026-05-04T07:59:59-0400', 'Expiration time is out of date.'],
    ['2026-05', 'Expiration time is out of date.'],
    ['2026-02-30', 'it is no ISO 8601 time.'],
    ['tomorrow', 'it is no ISO 8601 time.'],
  ])('with the constraint expiration take %j as a time after the request, or refuse it: %s', (given, reason) => {
    const text = template('type: string, constraints: [{custom_constraint: expiration}]');
    const now = new Date('2026-05-04T12:00:00Z');
    const messages = mistakesOf(text, { parameters: { p: given }, now }).map(({ message }) => message);
    const wanted = `Parameter 'p' is invalid: Error validating value '${given}': Expiration ${given} is invalid: ${reason}`;
    expect(messages).toEqual(reason === undefined ? [] : [wanted]);
  });

  it('that have expired do not stop a stack that is compiled again, because then no time is given', () => {
    expect(value('type: string, constraints: [{custom_constraint: expiration}]', '2001-01-01')).toBe('2001-01-01');
  });

  it('check their defaults', () => {
    const found = mistakesOf(template('type: number, default: 7, constraints: [{modulo: {step: 2, offset: 0}}]'));
    expect(found[0]?.message).toBe(
      "Parameter 'p' is invalid: Invalid default 7 (7 is not a multiple of 2 with an offset of 0)",
    );
  });
});
