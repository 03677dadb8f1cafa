/**
 * `anneal provider check` over a real RabbitMQ: the example in Python keeps the guarantees, and the check detects a copy
 * without its fence. Skipped when RabbitMQ, Python or PyPI is not available.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Verdict } from '@anneal/provider/conformance/check.ts';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { findRabbitmq } from '../backends/rabbitmq.ts';
import { repository } from '../e2e/server.ts';
import { example, installPython } from './python.ts';

describe('anneal provider check', () => {
  let folder: string;
  let python = '';
  let url = '';
  let missing: string | undefined;
  const closers: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-check-'));
    closers.push(() => rm(folder, { recursive: true, force: true }));
    const installed = await installPython(join(folder, 'venv'));
    if ('missing' in installed) missing = installed.missing;
    else python = installed.python;
    const broker = await findRabbitmq();
    if ('missing' in broker) missing = broker.missing;
    else {
      url = broker.url;
      closers.push(() => broker.stop());
    }
  }, 240_000);
  afterAll(async () => {
    for (const close of closers.toReversed()) await close();
  });

  const need = (context: TestContext): void => {
    if (missing !== undefined && process.env['CI'] !== 'true') context.skip(missing);
    expect(missing).toBeUndefined();
  };

  /** Runs the command with a separate provider and prefix. */
  const check = async (program: string): Promise<{ status: number; verdicts: Verdict[]; text: string }> => {
    const prefix = `check${randomBytes(4).toString('hex')}.`;
    const bus = `${url}${url.includes('?') ? '&' : '?'}prefix=${prefix}`;
    const words = ['provider', 'check', '--bus', bus, '--type', 'Example::File', '-o', 'json'];
    const samples = ['--properties', '{"name":"{id}","content":"a"}', '--changed', '{"content":"b"}'];
    const files = join(folder, prefix);
    const command = ['--', python, program, '--bus', url, '--prefix', prefix, '--folder', files];
    const main = join(repository, 'services', 'cli', 'main.ts');
    return new Promise((resolve) => {
      execFile(process.execPath, [main, ...words, ...samples, ...command], (error, stdout, stderr) => {
        const status = error ? Number(error.code) : 0;
        resolve({ status, verdicts: stdout === '' ? [] : (JSON.parse(stdout) as Verdict[]), text: stderr });
      });
    });
  };
  const brokenIn = (verdicts: readonly Verdict[]): string[] =>
    verdicts.filter(({ verdict }) => verdict === 'broken').map(({ id, reason }) => `${id}: ${reason}`);

  it('confirms that the example in Python keeps every guarantee, also when it is killed', async (context) => {
    need(context);
    const { status, verdicts, text } = await check(join(example, 'provider.py'));
    expect(brokenIn(verdicts), text).toEqual([]);
    expect(status, text).toBe(0);
    // Files are created at once, so no creation is endless.
    const kept = verdicts.filter(({ verdict }) => verdict === 'kept').map(({ id }) => id);
    expect(kept).toEqual(['G0', 'G1', 'G2', 'G3', 'G4', 'G5', 'G6', 'G9', 'G10']);
  });

  it('names the guarantee that a provider without a fence breaks', async (context) => {
    need(context);
    const source = await readFile(join(example, 'provider.py'), 'utf8');
    const careless = source.replace('if known["fence"] > fence:', 'if False:');
    expect(careless).not.toBe(source);
    const program = join(folder, 'careless.py');
    await writeFile(program, careless);
    const { status, verdicts, text } = await check(program);
    expect(status).toBe(1);
    expect(brokenIn(verdicts)).toEqual([expect.stringMatching(/^G4: .*fence 3/)]);
    expect(text).toContain('G4');
  });
});
