import { describe, expect, it } from 'vitest';
import { areSimilarHostNames, hostNameKey, hostNameProblem, serverNameProblem, spellingOf } from './host-name.ts';

const long = 'compute-rack-0-very-long-host-name.production.datacentre-2.example.org';

describe('the name of a host', () => {
  it.each(['web1', 'web1.example.org', 'Web1', 'web_1', '10.0.0.7', 'a'.repeat(63), long])('may be %s', (name) => {
    expect(hostNameProblem(name)).toBeUndefined();
  });

  it.each(['', 'a b', 'web1.', '.web1', 'a..b', '-a', 'a-.b', 'größe', 'a/b', 'web1\n', 'a'.repeat(64)])(
    'may not be %j',
    (name) => {
      expect(hostNameProblem(name)).toContain('1 to 63 letters (a to z), digits, hyphens and underscores');
    },
  );

  it('has at most 253 characters', () => {
    const name = Array.from({ length: 64 }, () => 'abc').join('.');
    expect(hostNameProblem(name.slice(0, 253))).toBeUndefined();
    expect(hostNameProblem(name)).toBe('a host name has at most 253 characters');
  });
});

it('a server of Nova may have any name of 1 to 255 characters without control characters and blanks around it', () => {
  for (const name of ['Front End', '漢字', 'a/b', '\u{1F600}'.repeat(255)])
    expect(serverNameProblem(name)).toBeUndefined();
  for (const name of [' a', 'a\t', 'a\u0000b', '\ud800'])
    expect(serverNameProblem(name)).toContain('no control character');
  expect(serverNameProblem('a'.repeat(256))).toContain('at most 255 characters');
});

describe('the name of a host that exists', () => {
  it('means the only one that differs in the case of letters', () => {
    expect(hostNameKey('Web1.Example.org')).toBe(hostNameKey('web1.example.ORG'));
    expect(hostNameKey('web-1')).not.toBe(hostNameKey('web_1'));
    expect(spellingOf('web1', [])).toBeUndefined();
    expect(spellingOf('web1', ['Web1', 'Web1'])).toBe('Web1');
  });

  it('means none of several, and the error names them', () => {
    const message =
      'There is no host web1, and WEB1 and Web1 differ from it only in the case of letters. Write one of them.';
    expect(() => spellingOf('web1', ['Web1', 'WEB1'])).toThrow(message);
    expect(() => spellingOf('web1', ['wEb1', 'weB1', 'Web1', 'WEB1'])).toThrow('WEB1, Web1, wEb1 and others differ');
  });
});

it.each([
  ['web1-example-org', 'web1.example.org', true],
  ['web_1', 'web-1', true],
  ['web1', 'WEB1.example.org', true],
  ['web_1', 'web-1.example.org', true],
  ['web1', 'web2', false],
  ['web1.example.org', 'web1.example.net', false],
  ['web1', 'web10', false],
])('a person may confuse %s and %s: %s', (one, other, similar) => {
  expect(areSimilarHostNames(one, other)).toBe(similar);
  expect(areSimilarHostNames(other, one)).toBe(similar);
});
