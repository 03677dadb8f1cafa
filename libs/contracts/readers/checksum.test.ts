import { expect, it } from 'vitest';
import { givenSha256Schema, readSha256, sha256Schema } from './checksum.ts';

const digits = 'a1'.repeat(32);
it('a checksum has one form, whether it was written in capitals or with colons', () => {
  const written = [digits, digits.toUpperCase(), Array.from({ length: 32 }, () => 'A1').join(':')];
  expect(written.map(readSha256)).toEqual([digits, digits, digits]);
  expect(givenSha256Schema.parse(digits.toUpperCase())).toBe(digits);
  expect(sha256Schema.safeParse(digits.toUpperCase()).success).toBe(false);
});

it.each(['', digits.slice(1), `${digits}0`, `sha256:${digits}`, `${digits} `, 'g'.repeat(64), `a1:${'a1'.repeat(31)}`])(
  'a checksum is not %j',
  (text) => {
    expect(readSha256(text)).toBeUndefined();
    expect(givenSha256Schema.safeParse(text).success).toBe(false);
  },
);
