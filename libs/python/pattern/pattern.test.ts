import { describe, expect, it } from 'vitest';
import { Pattern, PatternTooSlow } from './pattern.ts';

describe('a regular expression of Python', () => {
  it.each([
    ['a|ab', 'ab', false],
    ['(?:a|ab)$', 'ab', true],
    ['[a-z]+', 'abc', true],
    ['^a$', 'a\n', false],
    ['a\\Z', 'a', true],
    ['\\Aab', 'ab', true],
    ['(?P<x>a+)-(?P=x)', 'aa-aa', true],
    ['(?P<x>a+)-(?P=x)', 'aa-a', false],
    ['(?i)abc', 'ABC', true],
    ['a(?i:b)c', 'aBc', true],
    ['a(?i:b)c', 'ABc', false],
    ['(a)?b(?(1)c|d)', 'abc', true],
    ['(a)?b(?(1)c|d)', 'bd', true],
    ['a{2,3}', 'aaa', true],
    ['a{,2}', 'aa', true],
    ['a{x}', 'a{x}', true],
    ['[]a]+', ']a', true],
    ['[^]a]+', 'bc', true],
    ['(?<=a)b', 'b', false],
    ['a(?=b)b', 'ab', true],
    ['\\w+', 'é_1', true],
    ['.', '\n', false],
    ['(?s).', '\n', true],
    ['(?x) a b # c', 'ab', true],
    ['\\x41\\u0042', 'AB', true],
    ['(a*)*', 'aaa', true],
    ['(?:a?){3}', 'aa', true],
    ['.', '😀', true],
  ])('%s matches %j: %s', (pattern, text, expected) => {
    expect(new Pattern(pattern).covers(text)).toBe(expected);
  });

  it.each([
    '(',
    ')',
    'a**',
    'a++',
    '*a',
    '[a',
    '\\',
    '\\q',
    '(?P<1>a)',
    '(?P=x)',
    '(?z)',
    '[b-a]',
    'a{3,2}',
    '(?<=a+)b',
    '\\1',
    'a(?i)',
  ])('refuses %s', (pattern) => {
    expect(() => new Pattern(pattern)).toThrow(SyntaxError);
  });

  it('with backtracking takes linear time or is stopped', () => {
    const text = `${'a'.repeat(5000)}b`;
    expect(new Pattern('(a+)+').covers(text)).toBe(false);
    expect(new Pattern('(a|a)*').covers(text)).toBe(false);
    expect(() => new Pattern('(a|aa)+(?=c)').covers('a'.repeat(200))).toThrow(PatternTooSlow);
  });
});
