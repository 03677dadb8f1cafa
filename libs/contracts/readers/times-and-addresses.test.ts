import { describe, expect, it } from 'vitest';
import { durationSeconds, timeAfter } from './duration.ts';
import { isoMoment } from './moment.ts';
import { readWebAddress, webAddressSchema } from './web-address.ts';

describe('a time', () => {
  it.each([
    ['2030-01-02T03:04:05Z', '2030-01-02T03:04:05.000Z'],
    ['2030-01-02 03:04', '2030-01-02T03:04:00.000Z'],
    ['20300102T030405Z', '2030-01-02T03:04:05.000Z'],
    ['2030-01-02T03:04:05.25+01:30', '2030-01-02T01:34:05.250Z'],
    ['2030-1-2', '2030-01-02T00:00:00.000Z'],
    ['0050-01-01', '0050-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(new Date(isoMoment(text) ?? NaN).toISOString()).toBe(expected);
  });

  it.each([
    '',
    'tomorrow',
    'Jan 1 2030',
    '2030-02-30',
    '2030-13-01',
    '2030-01-01T24:00:00',
    '2030-01-01T00:60',
    '2030-01-01T00:00:00+99:00',
    '2030-01-01T00:00:00 Z',
    '1900000000',
    `2030-01-01T00:00:00.${'0'.repeat(1_000_000)}`,
  ])('is not %j', (text) => {
    expect(isoMoment(text)).toBeUndefined();
  });
});

describe('a length of time', () => {
  it.each([
    ['90', 90],
    ['90s', 90],
    ['15m', 900],
    ['6h', 21_600],
    ['2d', 172_800],
    ['PT0S', 0],
    ['PT1H1M30S', 3690],
    ['pt90m', 5400],
  ])('%s has %s seconds', (text, expected) => expect(durationSeconds(text)).toBe(expected));

  it.each(['', 'PT', 'P1D', '-5', '1.5h', '5 m', '1e3', '5w', 'PT5', '1h30m', '9'.repeat(400)])('is not %j', (text) => {
    expect(durationSeconds(text)).toBeUndefined();
  });
});

it('a time after any number of seconds has a date', () => {
  expect(timeAfter(0, 90)).toBe('1970-01-01T00:01:30.000Z');
  for (const seconds of [1e13, 1e300, Infinity]) expect(timeAfter(Date.parse('2030-01-01'), seconds)).toMatch(/^2130-/);
});

describe('an address on the web', () => {
  it.each(['http://a', 'https://a.example:8470/x?y=1#z', 'HTTP://[::1]:80/', 'http://user:secret@a/'])(
    'may be %s',
    (text) => {
      expect(readWebAddress(text)).toBeInstanceOf(URL);
      expect(webAddressSchema('no').parse(text)).toBe(text);
    },
  );

  it.each([
    '',
    'a',
    '//a',
    'http:a',
    'http:/a',
    'http:///a',
    'http://',
    ' http://a',
    'http://a b',
    'http:\\\\a',
    'ftp://a',
    'http://a:99999',
    'http://a\n',
  ])('is not %j', (text) => {
    expect(readWebAddress(text)).toBeUndefined();
    // A request may have blanks around an address; they are left out.
    expect(webAddressSchema('no').safeParse(text).success).toBe(text.trim() === 'http://a');
  });
});
