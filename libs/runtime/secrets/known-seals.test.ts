import { expect, it } from 'vitest';
import type { Json } from '@anneal/contracts/json.ts';
import { KnownSeals } from './known-seals.ts';
import { createSecrets } from './secrets.ts';

it('remembers seals and contents up to its limit, and drops those that were used least recently', () => {
  // Each takes twelve characters, so four fit.
  const known = new KnownSeals(50);
  for (const name of ['a', 'b', 'c', 'd']) known.add(`seal of ${name}`, `"${name}"`);
  expect(known.contentOf('seal of a')).toEqual({ value: 'a' });
  known.add('seal of e', '"e"');
  expect([known.contentOf('seal of b'), known.sealOf('"b"')]).toEqual([undefined, undefined]);
  const others = ['a', 'c', 'd', 'e'];
  expect(others.map((name) => known.sealOf(`"${name}"`))).toEqual(others.map((name) => `seal of ${name}`));
  known.add('large', `"${'x'.repeat(20)}"`);
  expect(known.contentOf('large')).toBeUndefined();
});

it('makes the same seals, and opens the same ones, as secrets that remember nothing', () => {
  const keys = [new Uint8Array(32).fill(2), new Uint8Array(32).fill(1)];
  const [warm, older] = [createSecrets(keys), createSecrets(keys.slice(1))];
  const value = { list: ['hunter2', { pin: 1 }], none: null };
  for (let round = 0; round < 2; round += 1) {
    expect(warm.seal(value)).toEqual(createSecrets(keys).seal(value));
    expect(warm.open(warm.seal(value))).toEqual(value);
    expect(warm.open(older.seal(value))).toEqual(value);
    expect(warm.renew(older.seal(value))).toEqual(warm.seal(value));
    expect(warm.isSealed(JSON.parse(JSON.stringify(warm.seal(value)).replace('"}', 'A"}')) as Json)).toBe(false);
  }
});
