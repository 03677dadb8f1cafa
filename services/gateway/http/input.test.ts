import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bodyReader, oneOrMore, parameterReader, refuseAll } from './input.ts';

const query = z.object({
  limit: z.int().min(1).max(10).optional(),
  ratio: z.number().default(0.5),
  detail: z.boolean().optional(),
  order: z.enum(['asc', 'desc']).optional(),
  name: z.string().optional(),
  tags: z.array(z.string()).optional(),
  ids: z.array(z.int()).optional(),
});
const read = parameterReader(query, { place: 'query', refuse: refuseAll });

describe('a query', () => {
  it('becomes what its schema asks for', () => {
    expect(read({ limit: '3', ratio: '-0.25', detail: 'TRUE', name: '7', tags: 'a', ids: ['1', '2'] })).toEqual({
      limit: 3,
      ratio: -0.25,
      detail: true,
      name: '7',
      tags: ['a'],
      ids: [1, 2],
    });
  });

  it('counts the last of a repeated value, and ignores a parameter that it does not know', () => {
    expect(read({ limit: ['1', '2'], page: 'x' })).toEqual({ limit: 2, ratio: 0.5 });
  });

  it('is read also where the schema changes the object', () => {
    const schema = z.object({ limit: z.int() }).transform(({ limit }) => limit * 2);
    expect(parameterReader(schema, { place: 'query', refuse: refuseAll })({ limit: '4' })).toBe(8);
  });

  it('gives all values to a schema of a text or a list', () => {
    const reads = parameterReader(z.object({ types: oneOrMore.optional() }), { place: 'query', refuse: refuseAll });
    expect(reads({ types: ['a', 'b'] })).toEqual({ types: ['a', 'b'] });
    expect(reads({ types: 'a' })).toEqual({ types: ['a'] });
  });

  it.each([
    [{ limit: 'many' }, 'limit: must be a number, not "many"'],
    [{ limit: '1.5' }, 'limit: must be a whole number, not "1.5"'],
    [{ limit: '1e1' }, 'limit: must be a number, not "1e1"'],
    [{ limit: '' }, 'limit: must be a number, not ""'],
    [{ limit: '0' }, 'limit: must be at least 1, not "0"'],
    [{ limit: '11' }, 'limit: must be at most 10, not "11"'],
    [{ detail: '1' }, 'detail: must be true or false, not "1"'],
    [{ order: 'up' }, 'order: must be one of asc, desc, not "up"'],
    [{ ids: ['1', 'b'] }, 'ids.1: must be a number, not "b"'],
  ])('refuses %j, and says what was sent', (given, text) => {
    expect(() => read(given)).toThrow(`The query is not valid: ${text}`);
  });

  it('names every mistake, and every unknown parameter of a strict schema', () => {
    const strict = parameterReader(z.strictObject(query.shape), { place: 'query', refuse: refuseAll });
    expect(() => strict({ limit: 'x', order: 'up', page: '1', sort: '2' })).toThrow(
      /limit: .*; order: .*; page: unknown field; known are .*; sort: unknown field/,
    );
  });

  it('keeps a field with the name of a property of all objects apart', () => {
    expect(read({ constructor: 'x', ['__proto__']: 'y' })).toEqual({ ratio: 0.5 });
  });
});

describe('headers', () => {
  it('are read by their names, and others are left alone', () => {
    const headers = z.strictObject({ 'client-id': z.string().optional(), 'x-wait': z.int().optional() });
    const readHeaders = parameterReader(headers, { place: 'headers', refuse: refuseAll });
    expect(readHeaders({ 'client-id': 'c', 'x-wait': '5', host: 'h' })).toEqual({ 'client-id': 'c', 'x-wait': 5 });
  });
});

describe('a body', () => {
  const readBody = bodyReader(z.object({ name: z.string() }), refuseAll);

  it('that is absent is an empty object where one is needed, so that its fields are named', () => {
    expect(() => readBody(undefined)).toThrow('The request body is not valid: name: is required: expected string');
    expect(bodyReader(z.object({ name: z.string().optional() }), refuseAll)(undefined)).toEqual({});
    expect(bodyReader(z.object({}).optional(), refuseAll)(undefined)).toBeUndefined();
  });

  it('names the known fields of an object that is optional, prepared or one of several with the same fields', () => {
    const one = z.strictObject({ kind: z.literal('a'), name: z.string() });
    const either = z.discriminatedUnion('kind', [one, one.extend({ kind: z.literal('b') })]);
    const given = { kind: 'a', name: 'n', more: 1 };
    for (const schema of [one.nullish(), either, z.preprocess((body) => body, either)])
      expect(() => bodyReader<unknown>(schema, refuseAll)(given)).toThrow('more: unknown field; known are kind, name');
    const other = z.discriminatedUnion('kind', [one, z.strictObject({ kind: z.literal('c') })]);
    expect(() => bodyReader<unknown>(other, refuseAll)(given)).toThrow(/more: unknown field$/);
  });

  it('is refused in the words of an API', () => {
    const first = bodyReader(z.object({ name: z.string() }), ([mistake]) => new RangeError(mistake?.path) as never);
    expect(() => first({ name: 1 })).toThrow(RangeError);
  });
});
