import { describe, expect, it } from 'vitest';
import type { Json } from '@anneal/contracts/json.ts';
import { createSecrets } from './secrets.ts';

const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);

describe('a sealed value', () => {
  const secrets = createSecrets([key(1)]);

  it('opens to the original value, at any depth', () => {
    const document = { a: [secrets.seal('hunter2'), 1], b: { c: secrets.seal({ d: [true, null] }) } };
    expect(JSON.stringify(document)).not.toContain('hunter2');
    expect(secrets.open(document)).toEqual({ a: ['hunter2', 1], b: { c: { d: [true, null] } } });
    expect(secrets.mask(document)).toEqual({ a: ['******', 1], b: { c: '******' } });
  });

  it('is equal for equal secrets and different for different ones', () => {
    expect(secrets.seal('a')).toEqual(secrets.seal('a'));
    expect(secrets.seal('a')).not.toEqual(secrets.seal('b'));
  });

  it('opens after a key rotation while the old key is kept', () => {
    const sealed = secrets.seal('x');
    expect(createSecrets([key(2), key(1)]).open(sealed)).toBe('x');
    expect(createSecrets([key(2)]).open(sealed)).toBe(sealed);
  });

  /** Made by the program that knew only format 1, with the key `key(1)`. */
  const ofFormat1: readonly { text: string; content: Json }[] = [
    { text: '1.72cd6e84.VL_rYNZuOcMmAcF5gazCrNLVOMvsGd8rba1wYALUK9VymXjXIQ', content: 'hunter2' },
    {
      text: '1.72cd6e84.4o1Lz68lGwr1csmDE1BsEpQOAUJqiyYNbcUQk8O_ZOkIu0Qz6QfYbPO9zCGFJ1K_PKW_zD7H',
      content: { d: [true, null, 1.5, 'é'] },
    },
    { text: '1.72cd6e84.aC9QsBTFvWQPuJxBkh2qjCjWpHX33U2K0bJhpdkK', content: '' },
  ];

  it('opens in format 1, as long as the key is kept', () => {
    for (const { text, content } of ofFormat1) {
      const sealed = { $sealed: text };
      expect(secrets.isSealed(sealed)).toBe(true);
      expect(secrets.open<Json>([sealed])).toEqual([content]);
      expect(createSecrets([key(2), key(1)]).open<Json>(sealed)).toEqual(content);
      expect(createSecrets([key(2)]).isSealed(sealed)).toBe(false);
      const at = text.length - 8;
      const changed = `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
      expect(secrets.isSealed({ $sealed: changed })).toBe(false);
    }
  });

  it('is renewed from an older format or key to the current seal of the first key', () => {
    for (const { text, content } of ofFormat1) {
      expect(secrets.renew<Json>({ a: [{ $sealed: text }] })).toEqual({ a: [secrets.seal(content)] });
    }
    const rotated = createSecrets([key(2), key(1)]);
    expect(rotated.renew(secrets.seal('x'))).toEqual(rotated.seal('x'));
    const current = { a: [secrets.seal('x'), { $sealed: 'no seal' }] };
    expect(secrets.renew(current)).toBe(current);
  });

  it('S1: is recognised only when a key made it; a value that only looks sealed is ordinary', () => {
    const genuine = secrets.seal('x') as { $sealed: string };
    const text = genuine.$sealed;
    const [, id] = text.split('.');
    const changed = `${text.slice(0, -2)}${text.endsWith('AA') ? 'BB' : 'AA'}`;
    const forged: Json[] = [
      { $sealed: 'x' },
      { $sealed: '' },
      { $sealed: 1 },
      { $sealed: null },
      { $sealed: { $sealed: 'x' } },
      { $sealed: changed },
      ...['1', '2'].flatMap((format) =>
        ['', 'AAAA', 'A'.repeat(80)].map((bytes) => ({ $sealed: `${format}.${id}.${bytes}` })),
      ),
      { $sealed: `${text}.more` },
      { $sealed: `1${text.slice(1)}` },
      { $sealed: `3${text.slice(1)}` },
      { $sealed: `toString${text.slice(1)}` },
      { ...genuine, more: 1 },
    ];
    for (const value of forged) {
      expect(secrets.isSealed(value)).toBe(false);
      expect(secrets.open(value)).toBe(value);
      expect(secrets.mask(value)).toBe(value);
      expect(secrets.fromOutside(value)).toBe(value);
    }
    expect(secrets.isSealed(genuine)).toBe(true);
  });

  it('S2: a seal copied from the database and sent by a client opens to itself, not to the secret', () => {
    const copied = { a: [secrets.seal('hunter2')] };
    const taken = secrets.fromOutside(copied);
    expect(secrets.open(taken)).toEqual(copied);
    expect(secrets.mask(taken)).toEqual({ a: ['******'] });
  });

  it('S2: stays a secret when the sender received it from Anneal', () => {
    const [given, copied] = [secrets.seal('given'), secrets.seal('hunter2')];
    const taken = secrets.fromOutside({ a: [given], b: copied }, { properties: { p: given } });
    expect(secrets.open<Json>(taken)).toEqual({ a: ['given'], b: copied });
  });

  it('returns the same object when it contains no seal', () => {
    const plain = { a: [1, { b: 'c' }] };
    expect(secrets.open(plain)).toBe(plain);
  });
});
