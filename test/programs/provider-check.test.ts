/**
 * `anneal provider check` over a real RabbitMQ: the example in Python keeps the guarantees, and the check detects a copy
 * without its fence. Over a real NATS: a provider that is built with the kit keeps all of them. Skipped when the broker,
 * Python or PyPI is not available.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Verdict } from '@anneal/provider/conformance/check.ts';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import type { BackendServer, MissingBackend } from '../backends/backend.ts';
import { findNats } from '../backends/nats.ts';
import { installFromPypi, requirementsOf } from '../backends/pypi.ts';
import { findRabbitmq } from '../backends/rabbitmq.ts';
import { repository } from '../e2e/server.ts';
import { skipWithout } from '../backends/missing.ts';

interface Checked {
  readonly status: number;
  readonly verdicts: Verdict[];
  readonly text: string;
}

const newPrefix = (): string => `check${randomBytes(4).toString('hex')}`;
const withPrefix = (url: string, prefix: string): string => `${url}${url.includes('?') ? '&' : '?'}prefix=${prefix}`;

/** Runs the command, which starts the provider and kills it in the middle of a request. */
function runCheck({
  bus,
  type,
  samples,
  command,
}: {
  bus: string;
  type: string;
  samples: readonly string[];
  command: readonly string[];
}): Promise<Checked> {
  const words = ['provider', 'check', '--bus', bus, '--type', type, '-o', 'json', ...samples, '--', ...command];
  const main = join(repository, 'services', 'cli', 'main.ts');
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...words], (error, stdout, stderr) => {
      const status = error ? Number(error.code) : 0;
      resolve({ status, verdicts: stdout === '' ? [] : (JSON.parse(stdout) as Verdict[]), text: stderr });
    });
  });
}

const brokenIn = (verdicts: readonly Verdict[]): string[] =>
  verdicts.filter(({ verdict }) => verdict === 'broken').map(({ id, reason }) => `${id}: ${reason}`);

const example = join(repository, 'examples', 'python-provider');

describe('anneal provider check', () => {
  let folder: string;
  let python = '';
  let url = '';
  let missing: string | undefined;
  const closers: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-check-'));
    closers.push(() => rm(folder, { recursive: true, force: true }));
    const installed = await installFromPypi(await requirementsOf(example));
    if ('missing' in installed) missing = installed.missing;
    else python = join(installed.bin, 'python');
    const broker = await findRabbitmq();
    if ('missing' in broker) missing = broker.missing;
    else {
      url = broker.url;
      closers.push(() => broker.stop());
    }
  });
  afterAll(async () => {
    for (const close of closers.toReversed()) await close();
  });

  const need = (context: TestContext): void => skipWithout(context, missing);

  /** Checks the example, or a copy of it, with a separate prefix. */
  const check = (program: string): Promise<Checked> => {
    const prefix = `${newPrefix()}.`;
    const samples = ['--properties', '{"name":"{id}","content":"a"}', '--changed', '{"content":"b"}'];
    const command = [python, program, '--bus', url, '--prefix', prefix, '--folder', join(folder, prefix)];
    return runCheck({ bus: withPrefix(url, prefix), type: 'Example::File', samples, command });
  };

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

describe('anneal provider check on NATS', () => {
  let folder: string;
  let server: BackendServer | MissingBackend;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-check-'));
    server = await findNats();
  });
  afterAll(async () => {
    if (!('missing' in server)) await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('confirms that a provider that is built with the kit keeps every guarantee, also when it is killed', async (context) => {
    if ('missing' in server) return skipWithout(context, server.missing);
    const bus = withPrefix(server.url, newPrefix());
    const program = join(import.meta.dirname, 'note-provider.ts');
    const { status, verdicts, text } = await runCheck({
      bus,
      type: 'Example::Note',
      samples: ['--properties', '{"text":"a"}', '--changed', '{"text":"b"}', '--endless', '{"wait":true}'],
      command: [process.execPath, program, bus, `sqlite:${join(folder, 'store.db')}`],
    });
    expect(brokenIn(verdicts), text).toEqual([]);
    expect(status, text).toBe(0);
    const kept = verdicts.filter(({ verdict }) => verdict === 'kept').map(({ id }) => id);
    expect(kept).toEqual(['G0', 'G1', 'G2', 'G3', 'G4', 'G5', 'G6', 'G7', 'G8', 'G9', 'G10', 'G11']);
  });
});
