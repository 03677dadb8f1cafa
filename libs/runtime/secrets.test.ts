import { describe, expect, it } from 'vitest';
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
    expect(() => createSecrets([key(2)]).open(sealed)).toThrow(/sealed with key/);
  });

  it('that was tampered with does not open', () => {
    const sealed = secrets.seal('x') as { $sealed: string };
    const text = sealed.$sealed;
    const changed = `${text.slice(0, -2)}${text.endsWith('AA') ? 'BB' : 'AA'}`;
    expect(() => secrets.open({ $sealed: changed })).toThrow(/unable to authenticate/);
  });

  it('is not looked for in what holds none: the same object comes back', () => {
    const plain = { a: [1, { b: 'c' }] };
    expect(secrets.open(plain)).toBe(plain);
  });
});
