import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { normalTrust, trustProblem } from './trust.ts';

const digest = 'ab'.repeat(32);

describe('the verification of a controller', () => {
  it.each([
    [true, true],
    ['TRUE', true],
    ['false', false],
    [`SHA256:${digest.toUpperCase()}`, `sha256:${digest}`],
    [`sha256:${digest.match(/../g)?.join(':')}`, `sha256:${digest}`],
    ['/etc/CA.pem', '/etc/CA.pem'],
  ])('%s is normalised to %s and can be used, unless its file is missing', (given, normal) => {
    expect(normalTrust(given)).toBe(normal);
    expect(trustProblem(given) === undefined).toBe(normal !== '/etc/CA.pem');
  });

  it.each([
    ['sha256:abcd', '64 hexadecimal digits'],
    [`sha256:${digest}00`, '64 hexadecimal digits'],
    ['yes', 'must be true, false'],
    ['ca.pem', 'the absolute path of a file'],
    ['/no/such/file', 'cannot read the file /no/such/file'],
  ])('%s is refused with the reason', (given, reason) => {
    expect(trustProblem(given)).toContain(reason);
  });

  it('by a file that holds no certificate is refused without its text', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'anneal-trust-'));
    const file = join(folder, 'secret.txt');
    for (const text of ['top secret', '-----BEGIN CERTIFICATE-----\ntop secret\n-----END CERTIFICATE-----\n']) {
      await writeFile(file, text);
      expect(trustProblem(file)).toMatch(/^cannot read the file/);
      expect(trustProblem(file)).not.toContain('top secret');
    }
    await rm(folder, { recursive: true });
  });
});
