import { describe, expect, it } from 'vitest';
import { isUnproved } from './certificate.ts';

const withCode = (code: string): Error => Object.assign(new Error('no'), { code });

describe('isUnproved', () => {
  it.each([
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'CERT_HAS_EXPIRED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ])('recognises %s, also as a cause or as one of several errors', (code) => {
    expect(isUnproved(withCode(code))).toBe(true);
    expect(isUnproved(new Error('outer', { cause: withCode(code) }))).toBe(true);
    expect(isUnproved(new AggregateError([new Error('x'), withCode(code)]))).toBe(true);
  });
  it.each(['ECONNREFUSED', 'ETIMEDOUT'])('is false for %s, which a retry may solve', (code) => {
    expect(isUnproved(withCode(code))).toBe(false);
  });
});
