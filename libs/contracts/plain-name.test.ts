import { expect, it } from 'vitest';
import { hostJoin } from './calls/hosts.ts';
import { isPlainName } from './plain-name.ts';

it('refuses names with a control character or half of a character', () => {
  for (const name of ['a\u0000b', 'a\nb', 'a\u001bb', 'a\u0085b', '\ud800']) expect(isPlainName(name)).toBe(false);
  for (const name of ['web-0', 'a b', 'Größe', '\u{1F600}']) expect(isPlainName(name)).toBe(true);
});

it('refuses such names, and names with /, for a host that joins', () => {
  const taken = (host: string): boolean => hostJoin.data.safeParse({ project: 'p', host }).success;
  expect(['web-0', 'a b', 'a/b', 'a\u0000b'].map(taken)).toEqual([true, true, false, false]);
});
