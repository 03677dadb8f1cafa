import type { JsonObject } from '@anneal/contracts/json.ts';
import { exactReviver, mayHoldExact, readStoredJson } from '@anneal/python/yaml/json-text.ts';
import { expect, it } from 'vitest';
import { exactDocument, exactParameters } from './exact-numbers.ts';
import { readStackBody } from './stack-body.ts';

const parse = (text: string): JsonObject => JSON.parse(text, exactReviver) as JsonObject;

it('a document with a number that JSON would change becomes text, and any other stays as it is', () => {
  expect(exactDocument(parse('{"a": [1.0, 2, "1.0"]}'))).toBe('{"a":[1.0,2,"1.0"]}');
  expect(exactDocument(parse('{"a": [1.5, 2]}'))).toEqual({ a: [1.5, 2] });
  expect(exactDocument('a: 1.0')).toBe('a: 1.0');
});

it('a parameter with such a number becomes a text that every type accepts, except a list', () => {
  const given = parse('{"number": 1.0, "large": 12345678901234567890, "map": {"x": 2e3}, "list": [3.0], "plain": 4}');
  expect(exactParameters(given)).toEqual({
    number: '1.0',
    large: '12345678901234567890',
    map: '{"x":2000.0}',
    list: [3],
    plain: 4,
  });
});

it('only the documents of a request hold such numbers', () => {
  const body = readStackBody(parse('{"timeout_mins": 60.0, "parameters": {"x": 1.0}, "environment": {"y": 2.0}}'));
  expect(body).toMatchObject({ timeoutMinutes: 60, parameters: { x: '1.0' }, environments: ['{"y":2.0}'] });
});

it('a stored document is read with its numbers, whatever their form', () => {
  const text = '{"a":1.0,"b":-2.50,"c":1E2,"d":12345678901234567890,"e":7,"f":"10.0.0.1"}';
  expect(mayHoldExact('{"a":1,"b":2.5,"c":1234567}')).toBe(false);
  expect(JSON.stringify(readStoredJson(text))).toBe(
    '{"a":1.0,"b":-2.5,"c":100.0,"d":12345678901234567890,"e":7,"f":"10.0.0.1"}',
  );
});
