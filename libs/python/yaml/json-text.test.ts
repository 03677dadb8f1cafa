import { describe, expect, it } from 'vitest';
import { parseJsonText } from './json-text.ts';
import { plain } from '../values/exact.ts';
import { jsonText, pythonText } from '../values/compare.ts';

describe('JSON as Python reads it', () => {
  it.each([
    ['{"b": 1.0, "10": 1e2, "9": [12345678901234567890]}', "{'b': 1.0, '10': 100.0, '9': [12345678901234567890]}"],
    ['[NaN, Infinity, -Infinity, -0, -0.0]', '[nan, inf, -inf, 0, -0.0]'],
    ['{"a": 1, "a": 2}', "{'a': 2}"],
    ['"\\ud83d\\ude00\\/"', '😀/'],
    [' [ ] ', '[]'],
  ])('%s prints as %s', (text, expected) => {
    expect(pythonText(parseJsonText(text))).toBe(expected);
  });

  it.each(['', '[1,]', '{a: 1}', "{'a': 1}", '[1] x', '01', '"\n"', '"a', '[1', '1.', 'nan'])('refuses %j', (text) => {
    expect(() => parseJsonText(text)).toThrow(SyntaxError);
  });

  it('becomes plain JSON and the text of Python', () => {
    const value = parseJsonText('{"é": 1.50, "10": [1.0, 1e16], "9": null}');
    expect(plain(value)).toEqual({ é: 1.5, '10': [1, 1e16], '9': null });
    expect(jsonText(value)).toBe('{"10": [1.0, 1e+16], "9": null, "\\u00e9": 1.5}');
    expect(JSON.stringify(parseJsonText('[1.0, 12345678901234567890]'))).toBe('[1.0,12345678901234567890]');
  });

  it('fails on too deep nesting instead of exhausting the stack', () => {
    expect(() => parseJsonText('['.repeat(200_000))).toThrow(SyntaxError);
  });
});
