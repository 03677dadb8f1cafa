import { describe, expect, it } from 'vitest';
import { AnnealError, ignoreNotFound } from './errors.ts';

describe('reading an object that may be absent', () => {
  it('gives undefined where it does not exist, and fails as before for every other reason', async () => {
    await expect(Promise.reject(new AnnealError('NotFound', 'no host')).catch(ignoreNotFound)).resolves.toBeUndefined();
    const away = new AnnealError('Unavailable', 'no service');
    await expect(Promise.reject(away).catch(ignoreNotFound)).rejects.toBe(away);
    await expect(Promise.reject(new Error('NotFound')).catch(ignoreNotFound)).rejects.toThrow('NotFound');
  });
});
