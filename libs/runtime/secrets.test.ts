import { describe, expect, it } from 'vitest';
import type { Json } from '@anneal/contracts/json.ts';
import { createSecrets } from './secrets.ts';

const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);

describe('a sealed value', () => {
  const secrets = createSecrets([key(1)]);

  it('opens to what was sealed, wherever it stands', () => {
    const document = { a: [secrets.seal('hunter2'), 1], b: { c: secrets.seal({ d: [true, null] }) } };
    expect(JSON.stringify(document)).not.toContain('hunter2');
    expect(secrets.open(document)).toEqual({ a: ['hunter2', 1], b: { c: { d: [true, null] } } });
    expect(secrets.mask(document)).toEqual({ a: ['******', 1], b: { c: '******' } });
  });

  it('is the same text for the same secret, and another for another', () => {
    expect(secrets.seal('a')).toEqual(secrets.seal('a'));
    expect(secrets.seal('a')).not.toEqual(secrets.seal('b'));
  });

  it('opens after the key was rotated, as long as the old one is kept', () => {
    const sealed = secrets.seal('x');
    expect(createSecrets([key(2), key(1)]).open(sealed)).toBe('x');
    expect(createSecrets([key(2)]).open(sealed)).toBe(sealed);
  });

  it('S1: is one only when a key made it; whatever merely looks like one is an ordinary value', () => {
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
      { $sealed: `1.${id}.` },
      { $sealed: `1.${id}.AAAA` },
      { $sealed: `1.${id}.${'A'.repeat(80)}` },
      { $sealed: `${text}.more` },
      { $sealed: `2${text.slice(1)}` },
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

  it('S2: copied from a database and sent from outside, opens to itself and not to the secret', () => {
    const copied = { a: [secrets.seal('hunter2')] };
    const taken = secrets.fromOutside(copied);
    expect(secrets.open(taken)).toEqual(copied);
    expect(secrets.mask(taken)).toEqual({ a: ['******'] });
  });

  it('S2: stays a secret where its sender was given it', () => {
    const [given, copied] = [secrets.seal('given'), secrets.seal('hunter2')];
    const taken = secrets.fromOutside({ a: [given], b: copied }, { properties: { p: given } });
    expect(secrets.open<Json>(taken)).toEqual({ a: ['given'], b: copied });
  });

  it('is not looked for in what holds none: the same object comes back', () => {
    const plain = { a: [1, { b: 'c' }] };
    expect(secrets.open(plain)).toBe(plain);
  });
});
