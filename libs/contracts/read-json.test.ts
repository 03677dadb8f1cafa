import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isExact, numberOf, written } from './exact-number.ts';
import { safeParseExact } from './exact-schema.ts';
import { isObject, json, sameJson, type Json, type JsonObject } from './json.ts';
import { toRecord } from './ordered-map.ts';
import { parseExact } from './read-json.ts';

describe('JSON', () => {
  it.each([
    '1.0',
    '[-0,-0.0,0.10,1e2,1E+2,1e400,12345678901234567890,0.1,5e-324,123456789.000000001]',
    '{"b":1.0,"10":{"z":1,"2":2,"1":"x"},"9":[{"1":1,"0":0}]}',
    '{"__proto__":{"2":1,"1":2},"constructor":1.0,"toJSON":"no function"}',
    '"\\ud800 \\u0000 \\\\"',
    '{"a\\\\":"\\"1.0,","1":[]}',
  ])('%s is read and written without a change', (text) => {
    expect(JSON.stringify(parseExact(text))).toBe(text);
  });

  it('with spaces, and with a key that is repeated, is read as JSON.parse reads it', () => {
    const text = ' { "b" : [ 1.0 , true , false , null , "x" ] , "1" : 1 , "b" : 2 , "0" : { } , "e" : [ ] } ';
    expect(JSON.stringify(parseExact(text))).toBe('{"b":2,"1":1,"0":{},"e":[]}');
    expect(() => parseExact('{"a":1.0,}')).toThrow(SyntaxError);
  });

  it('of every kind keeps its values', () => {
    const number = fc.stringMatching(/^-?(0|[1-9]\d{0,20})(\.\d{1,20})?([eE][-+]?\d{1,3})?$/);
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(number, fc.json({ maxDepth: 0 }), tie('list'), tie('map')),
      list: fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
      map: fc
        .uniqueArray(fc.tuple(fc.oneof(fc.nat(20).map(String), fc.string()), tie('value')), {
          selector: ([key]) => key,
        })
        .map((entries) => `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${String(item)}`).join(',')}}`),
    }));
    fc.assert(
      fc.property(value as fc.Arbitrary<string>, (text) => {
        // A writer chooses the escapes of a text, so both sides are written once.
        const once = JSON.stringify(parseExact(text));
        expect(JSON.stringify(parseExact(once))).toBe(once);
        expect(once.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')).toBe(text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""'));
      }),
    );
  });
});

describe('a number that keeps its text', () => {
  const [float, large] = parseExact('[1.0,12345678901234567890]') as Json[];

  it('is no map, has a plain value, and equals only its own form', () => {
    expect([isObject(float), isExact(float), numberOf(float), numberOf('1')]).toEqual([false, true, 1, undefined]);
    expect([sameJson(float, parseExact('1.0')), sameJson(float, 1), sameJson(float, large)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('has the text of Python, and JSON for what JSON lacks', () => {
    const texts = (parseExact('[1e2,-0,1e21,0.10]') as unknown[]).map((each) => isExact(each) && each.text);
    expect(texts).toEqual(['100.0', '0', '1e+21', '0.1']);
    expect(JSON.stringify([written(Number.NaN, 'nan'), written(Infinity, 'inf')])).toBe('[null,1e999]');
  });

  it('is plain for a schema that asks for a number, and stays elsewhere', () => {
    const count = z.union([z.null(), z.int()]);
    const schema = z.strictObject({ count, list: z.array(z.object({ n: z.number() })), value: json });
    const given = parseExact('{"count":60.0,"list":[{"n":1e1}],"value":{"b":1.0,"1":[2.0]}}');
    const parsed = safeParseExact(schema, given);
    expect(JSON.stringify(parsed.data)).toBe('{"count":60,"list":[{"n":10}],"value":{"b":1.0,"1":[2.0]}}');
    expect(safeParseExact(schema, parseExact('{"count":1.5,"list":[],"value":1.0}')).success).toBe(false);
  });
});

describe('a map in the order of its keys', () => {
  const entries: [string, number][] = [
    ['b', 1],
    ['10', 2],
    ['9', 3],
  ];

  it('is an object like any other', () => {
    const map = toRecord(entries) as JsonObject;
    map['new'] = 4;
    delete map['10'];
    expect([Object.keys(map), { ...map }]).toEqual([['b', '9', 'new'], { b: 1, 9: 3, new: 4 }]);
    expect(Object.entries(toRecord(entries))).toEqual(entries);
    expect(toRecord([['__proto__', 1]])).toHaveProperty(['__proto__'], 1);
  });
});
