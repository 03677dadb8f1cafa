import { expect, it } from 'vitest';
import { fitsWildcards, plainParts, type WildPart } from './wildcard.ts';

const star: WildPart<string> = { fits: () => true, repeats: true };
const parts = (pattern: string): WildPart<string>[] =>
  Array.from(pattern).flatMap((character) => (character === '*' ? [star] : plainParts(character)));

it('fits what a regular expression fits', () => {
  const letters = ['', 'a', 'b', 'ab', 'ba', 'aab', 'aba', 'abab', 'bbb'];
  for (const pattern of ['', '*', 'a*', '*a', 'a*b', '*a*b*', '**', 'ab', '*ba*']) {
    const expression = new RegExp(`^${pattern.replaceAll('*', '.*')}$`);
    for (const text of letters)
      expect([pattern, text, fitsWildcards(parts(pattern), text)]).toEqual([pattern, text, expression.test(text)]);
  }
});

it('costs little for a pattern and a text that make a regular expression try again and again', () => {
  const before = process.cpuUsage();
  expect(fitsWildcards(parts(`${'*a'.repeat(100)}*`), `${'a'.repeat(99)}${'b'.repeat(5000)}`)).toBe(false);
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(2_000);
});
