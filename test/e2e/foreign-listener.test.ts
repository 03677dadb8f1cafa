/**
 * A listener in Python, with the standard library only: it verifies each event and misses none, in order per subject,
 * while the server and the listener are killed and one in three of its answers is an error. The seed is in the name of
 * the test; `CHAOS_SEED` repeats it.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freeLocalPort } from '../backends/free-port.ts';
import { randomOf, seedOf } from '../chaos/random.ts';
import { ListenerProcess, quickRetries } from './listener-process.ts';
import { bundle, settled, startServer, withClientRetries, type TestServer } from './server.ts';

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) process.stderr.write('Skipped: the listener in Python. There is no python3 on the PATH.\n');

const seed = seedOf(Date.now() % 1_000_000);
const random = randomOf(seed);
let server: TestServer;
let folder: string;
let listener: ListenerProcess | undefined;

beforeAll(async () => {
  if (!hasPython) return;
  server = await startServer({ lab: 0, env: quickRetries });
  folder = await mkdtemp(join(tmpdir(), 'anneal-listener-'));
  const words = [join('examples', 'listeners', 'listen_webhook.py'), '--data', folder];
  const port = String(await freeLocalPort());
  listener = new ListenerProcess(server, {
    program: 'python3',
    listen: [...words, '--port', port, '--fail', '0.34', '--seed', String(seed)],
    check: [...words, '--check'],
  });
});
afterAll(async () => {
  await listener?.kill();
  await server?.dispose();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const template = (word: string): string => `heat_template_version: 2018-08-31
resources:
  one: {type: OS::Heat::TestResource, properties: {value: ${word}}}
  two: {type: OS::Heat::TestResource, properties: {value: {get_attr: [one, output]}}}
  many:
    type: OS::Heat::ResourceGroup
    properties: {count: 3, resource_def: {type: OS::Heat::TestResource, properties: {value: ${word}}}}
`;

it.skipIf(!hasPython)(
  `a listener that knows only the published API misses no event and sees each subject in order (seed ${seed})`,
  async () => {
    await listener?.start();
    const names = ['a', 'b', 'c'];
    const harms = [
      () => server.kill().then(() => server.start()),
      () => listener?.kill().then(() => listener?.start()),
      async () => {
        await server.kill();
        await listener?.kill();
        await server.start();
        await listener?.start();
      },
    ];
    for (const [round, harm] of [undefined, ...harms].entries()) {
      for (const name of names) {
        const given = bundle(template(`w${round}`));
        await withClientRetries(() =>
          round === 0
            ? server.client.stacks.create({ name, bundle: given })
            : server.client.stacks.update({ stack: name, bundle: given }),
        );
        if (random() < 0.5) await settled(server, name, 120_000);
      }
      await harm?.();
      for (const name of names) {
        expect((await settled(server, name, 120_000)).stack_status).toMatch(/_COMPLETE$/);
      }
    }
    const report = await listener?.finalReport();
    expect(report).toMatchObject({ missing: {}, disorder: {}, unknown: [], accepted: report?.published });
    // Three stacks, each with a group, four times.
    expect(report?.subjects).toBe(6);
    expect(report?.accepted).toBeGreaterThan(100);
  },
);
