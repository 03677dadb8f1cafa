import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toExact } from './node.ts';
import { pythonText } from '../values/compare.ts';
import { compose } from './compose.ts';
import { lineTable } from './lines.ts';
import { YamlError } from './token.ts';

/** Prints the value as Python prints what it read. */
const read = (text: string): string => {
  const { node } = compose(text, lineTable(text));
  return node ? pythonText(toExact(node)) : 'None';
};

describe('YAML as libyaml reads it', () => {
  it.each([
    ['a: {b: "c\nd"}', "{'a': {'b': 'c d'}}"],
    ['x:\n  y:\n    k: "a\n b\n\n c"', "{'x': {'y': {'k': 'a b\\nc'}}}"],
    ["x:\n  y: 'a\n b'", "{'x': {'y': 'a b'}}"],
    ['x:\n  y: "a\\\n    b"', "{'x': {'y': 'ab'}}"],
    ['k: [a,\n b\n]', "{'k': ['a', 'b']}"],
    ['k:\n- a\n-  - b\n   - c\n', "{'k': ['a', ['b', 'c']]}"],
    ['k: |\n  a\n   b\n\nl: x', "{'k': 'a\\n b\\n', 'l': 'x'}"],
    ['k: >-\n  a\n  b\n\n  c\n', "{'k': 'a b\\nc'}"],
    ['k: |+\n  a\n\n', "{'k': 'a\\n\\n'}"],
    ['k: |2\n   a\n', "{'k': ' a\\n'}"],
    ['k: [?a]', "{'k': [{'a': None}]}"],
    ['k: [-]', "{'k': ['-']}"],
    ['k: [a: 1, b]', "{'k': [{'a': 1}, 'b']}"],
    ['k: {a, b: }', "{'k': {'a': None, 'b': None}}"],
    ['k: http://x:80/a#b # c', "{'k': 'http://x:80/a#b'}"],
    ['? a\n: b', "{'a': 'b'}"],
    ['k: ! 5', "{'k': 5}"],
    ['k: !!float 1', "{'k': 1.0}"],
    ['k: {a: {10: a, 9: b, "1": c}}', "{'k': {'a': {10: 'a', 9: 'b', '1': 'c'}}}"],
    ['k: {a: {1: x, yes: y, ~: z}}', "{'k': {'a': {1: 'x', True: 'y', None: 'z'}}}"],
    ['k: {<<: [{a: 1, b: 1}, {a: 2, c: 3}], d: 4}', "{'k': {'a': 1, 'c': 3, 'b': 1, 'd': 4}}"],
    ['k: {b: 2, <<: {a: 1}}', "{'k': {'a': 1, 'b': 2}}"],
    ['k: [.inf, -.INF, .nan]', "{'k': [inf, -inf, nan]}"],
    ['k: [1.0, 1e16, 1.0e+16, -0.0]', "{'k': [1.0, '1e16', 1e+16, -0.0]}"],
    ['---\na: 1\n...\n', "{'a': 1}"],
    ['\ufeffa: 1', "{'a': 1}"],
    ['# nothing', 'None'],
  ])('%j is %s', (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  it.each([
    'a: b: c',
    'a:\n\t- b',
    'k: {a:,b: 1}',
    'k: "\\ud83d"',
    'k: [? , 2]',
    'k: <<',
    'a: &x 1\nb: &x 2',
    'a: 1\n---\nb: 2',
    'k: @a',
    'k: `a',
    'a: [1',
    'a: "x',
    '- a\nb: c',
    'a: \u0007',
    'a: !foo b',
    'a: |\n b\n c: [',
    '[1, 2]: a',
  ])('%j is a mistake', (text) => {
    expect(() => (text.endsWith('[') ? read(`${text}\n]`) : read(text))).toThrow(YamlError);
  });

  it('reads any random text or fails with a place', () => {
    const pieces = fc.constantFrom(
      ...'a|: |- |\n|\n  |? |{|}|[|]|,|"|\'|>|#|&x |*x|!!str |<<: |---\n|\t|\\|%|1.5|~|\u2028|😀'.split('|'),
      '|\n',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 25 }), (parts) => {
        const text = parts.join('');
        try {
          read(text);
        } catch (error) {
          if (!(error instanceof YamlError)) throw error;
          expect(error.offset).toBeLessThanOrEqual(text.length);
        }
      }),
      { numRuns: 500 },
    );
  });
});
