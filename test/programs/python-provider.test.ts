/** The example provider in Python, on a real RabbitMQ. Skipped when Python, PyPI or RabbitMQ is not available. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { installFromPypi, requirementsOf } from '../backends/pypi.ts';
import { findRabbitmq } from '../backends/rabbitmq.ts';
import { bundle, deleted, settled, startServer, type TestServer, repository } from '../e2e/server.ts';
import { skipWithout } from '../backends/missing.ts';

const example = join(repository, 'examples', 'python-provider');

describe('the example provider in Python', () => {
  let folder: string;
  let missing: string | undefined;
  let server: TestServer;
  let start: () => Promise<ChildProcess>;
  let provider: ChildProcess | undefined;
  const closers: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-python-'));
    closers.push(() => rm(folder, { recursive: true, force: true }));
    const installed = await installFromPypi(await requirementsOf(example));
    const broker = await findRabbitmq();
    if ('missing' in broker) missing = broker.missing;
    else closers.push(() => broker.stop());
    if ('missing' in installed) missing = installed.missing;
    if ('missing' in broker || 'missing' in installed) return;
    const prefix = `py${randomBytes(4).toString('hex')}.`;
    const url = `${broker.url}${broker.url.includes('?') ? '&' : '?'}prefix=${prefix}`;
    server = await startServer({ lab: 0, flags: ['--bus', url] });
    closers.push(() => server.dispose());
    start = async () => {
      const child = spawn(
        join(installed.bin, 'python'),
        [join(example, 'provider.py'), '--bus', broker.url, '--prefix', prefix, '--folder', join(folder, 'files')],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      await eventually(() => (output.includes('ready') ? true : undefined), { what: 'the provider' });
      return child;
    };
    provider = await start();
  });
  afterAll(async () => {
    provider?.kill('SIGKILL');
    for (const close of closers.toReversed()) await close();
  });

  const check = (context: TestContext): void => skipWithout(context, missing);

  it('serves its type: creates, updates in place, replaces, reports drift, and deletes', async (context) => {
    check(context);
    const template = await readFile(join(example, 'files.yaml'), 'utf8');
    const { client } = server;
    const accepted = await eventually(
      async () => {
        try {
          return await client.stacks.create({ name: 'files', bundle: bundle(template) });
        } catch {
          // The announcement has not arrived yet.
          return undefined;
        }
      },
      { what: 'the type to be announced' },
    );
    expect(accepted.name).toBe('files');
    const created = await settled(server, 'files');
    expect(created.stack_status).toBe('CREATE_COMPLETE');
    const hash = (stack: typeof created) =>
      stack.outputs?.find(({ output_key }) => output_key === 'hash')?.output_value;
    const second = join(folder, 'files', 'second.txt');
    expect(await readFile(second, 'utf8')).toBe(hash(created));

    // Requests wait in the queue while the provider is down.
    provider?.kill('SIGKILL');
    await client.stacks.update({ stack: 'files', bundle: bundle(template), parameters: { text: 'changed' } });
    provider = await start();
    const updated = await settled(server, 'files');
    expect(updated.stack_status).toBe('UPDATE_COMPLETE');
    expect(hash(updated)).not.toBe(hash(created));
    expect(await readFile(second, 'utf8')).toBe(hash(updated));

    await writeFile(second, 'changed by hand');
    await client.actions.act({ stack: 'files', action: { kind: 'check' } });
    await settled(server, 'files');
    expect(await client.stacks.resource({ stack: 'files', resource: 'second' })).toMatchObject({
      drift: [{ property: 'content', expected: hash(updated), actual: 'changed by hand' }],
    });

    await client.stacks.delete({ stack: 'files' });
    await deleted(server, 'files');
    await expect(readFile(second)).rejects.toThrow('ENOENT');
  });
});
