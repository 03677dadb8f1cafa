import { describe, expect, it } from 'vitest';
import { Mistakes } from '../mistakes.ts';
import { toJson } from '@anneal/python/yaml/node.ts';
import { parse } from './parse.ts';

const read = (text: string): unknown => {
  const mistakes = new Mistakes();
  const node = parse({ text, file: undefined, mistakes });
  return node ? toJson(node) : mistakes.all().map(({ line, column, message }) => [line, column, message]);
};

describe('reading a document', () => {
  it.each([
    ['yes', true],
    ['off', false],
    ['y', 'y'],
    ['N', 'N'],
    ['0644', 420],
    ['0o644', '0o644'],
    ['08', '08'],
    ['0x1F', 31],
    ['0b11', 3],
    ['1_000', 1000],
    ['12:30:45', 45_045],
    ['190:20:30', 685_230],
    ['1e3', '1e3'],
    ['1.5e3', '1.5e3'],
    ['1.5e+3', 1500],
    ['1.', 1],
    ['~', null],
    ['', null],
    ['Null', null],
    ['2013-05-23', '2013-05-23'],
    ["'yes'", 'yes'],
    ['!!str 1', '1'],
  ])('reads the word %s as YAML 1.1 does', (text, expected) => {
    expect(read(`a: ${text}`)).toEqual({ a: expected });
  });

  it('merges maps, follows anchors, and lets the last of equal keys win', () => {
    expect(read('x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}\nz: 1\nz: 2')).toEqual({
      x: { a: 1, b: 2 },
      y: { b: 3, a: 1 },
      z: 2,
    });
    expect(read('a: {b: {1: x}}')).toEqual({ a: { b: { '1': 'x' } } });
  });

  it('reads JSON by the rules of JSON', () => {
    expect(read('{"a": 1e3, "b": [true, null, "yes", "\\/"]}')).toEqual({ a: 1000, b: [true, null, 'yes', '/'] });
    expect(read('{\n\t"a": {\n\t\t"b": 1\n\t}\n}')).toEqual({ a: { b: 1 } });
  });

  it.each([
    ['a: !foo 1', 1, 9],
    ['a:\n  b: =', 2, 6],
    ['on: 1', 1, 1],
    ['a: [1\nb: 2', 2, 2],
    ['a: *x', 1, 4],
  ])('reports the place of the mistake in %j', (text, line, column) => {
    const mistakes = read(text) as [number, number, string][];
    expect(mistakes[0]?.slice(0, 2)).toEqual([line, column]);
    expect(mistakes[0]?.[2]).toContain('Error parsing template [root stack]');
  });

  it('names a key that is not a word', () => {
    expect(JSON.stringify(read('no: 1'))).toContain('the key no is the boolean false in YAML 1.1; put it in quotes');
  });
});
