import { randomBytes } from 'node:crypto';
import { gcmsiv } from '@noble/ciphers/aes.js';
import { describe, expect, it } from 'vitest';
import { createSealCipher } from './seal-cipher.ts';

const noNonce = new Uint8Array(12);
const other = (key: Uint8Array, content: Uint8Array): string =>
  Buffer.from(gcmsiv(key, noNonce).encrypt(content)).toString('hex');

describe('the cipher of seals', () => {
  it.each([
    [
      '000000000000000000000000000000004db923dc793ee6497c76dcc03a98e108',
      'f3f80f2cf0cb2dd9c5984fcda908456cc537703b5ba70324a6793a7bf218d3eaffffffff000000000000000000000000',
    ],
    [
      'eb3640277c7ffd1303c7a542d02d3e4c0000000000000000',
      '18ce4f0b8cb4d0cac65fea8f79257b20888e53e72299e56dffffffff000000000000000000000000',
    ],
  ])('continues at zero after the highest counter, as appendix C.3 of RFC 8452 has it', (content, sealed) => {
    const cipher = createSealCipher(new Uint8Array(32));
    expect(cipher.encrypt(Buffer.from(content, 'hex')).toString('hex')).toBe(sealed);
    expect(cipher.decrypt(Buffer.from(sealed, 'hex')).toString('hex')).toBe(content);
  });

  it('gives the bytes of another implementation for contents of every length', () => {
    const key = randomBytes(32);
    const cipher = createSealCipher(key);
    for (const length of [...Array(130).keys(), 16_383, 16_384, 16_385, 100_001]) {
      const content = randomBytes(length);
      const sealed = cipher.encrypt(content);
      expect(sealed.toString('hex'), `key ${key.toString('hex')}, ${length} bytes`).toBe(other(key, content));
      expect(cipher.decrypt(sealed).equals(content)).toBe(true);
    }
  });

  it('refuses a changed bit, a cut seal, and the seal of another key', () => {
    const cipher = createSealCipher(randomBytes(32));
    const sealed = cipher.encrypt(Buffer.from('a secret of more than one block'));
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => cipher.decrypt(changed), `bit ${bit}`).toThrow('it was changed');
    }
    expect(() => cipher.decrypt(sealed.subarray(0, -1))).toThrow('it was changed');
    expect(() => cipher.decrypt(sealed.subarray(0, 15))).toThrow('shorter than its tag');
    expect(() => createSealCipher(randomBytes(32)).decrypt(sealed)).toThrow('Another key');
  });
});
