import { expect, it } from 'vitest';
import { foreignRedirect, isRedirect, ownAddress } from './given-address.ts';

const own = new URL('https://anneal.example:8690/api');

it.each([
  ['/other?x=1', 'https://anneal.example:8690/other?x=1'],
  ['next', 'https://anneal.example:8690/a/next'],
  ['https://user:secret@anneal.example:8690/x', 'https://anneal.example:8690/x'],
  ['//anneal.example:8690/x', 'https://anneal.example:8690/x'],
  ['http://anneal.example:8690/x', undefined],
  ['https://anneal.example/x', undefined],
  ['//elsewhere.example:8690/x', undefined],
  ['https://anneal.example:8690@elsewhere.example/x', undefined],
  ['\\\\elsewhere.example\\x', undefined],
  ['file:///etc/passwd', undefined],
  ['https://', undefined],
])('%s leads to %s', (given, leads) => {
  expect(ownAddress(own, given, new URL('https://anneal.example:8690/a/b'))?.href).toBe(leads);
});

it('names the origin of a redirect that is not followed', () => {
  expect(isRedirect(307, 'http://elsewhere.example/x')).toBe(true);
  expect(isRedirect(304, '/x')).toBe(false);
  expect(isRedirect(302, null)).toBe(false);
  expect(foreignRedirect(own, 'http://elsewhere.example/x?token=1')).toMatch(
    /^The server at https:\/\/anneal\.example:8690 redirects to http:\/\/elsewhere\.example\. Nothing was sent there/,
  );
});
