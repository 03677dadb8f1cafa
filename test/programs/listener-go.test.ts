/**
 * The example listener in Go, which knows only the published API: it verifies each event and misses none, in order per
 * subject, while it and the server are killed and one in three of its answers is an error. The seed is in the name of the
 * test; `CHAOS_SEED` repeats it.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freeLocalPort } from '../backends/free-port.ts';
import { findProgram } from '../backends/program.ts';
import { seedOf } from '../chaos/random.ts';
import { ListenerProcess, quickRetries } from '../e2e/listener-process.ts';
import { bundle, repository, settled, startServer, type TestServer } from '../e2e/server.ts';

const run = promisify(execFile);
const go = await findProgram('go');
if (go === undefined) process.stderr.write('Skipped: the listener in Go. There is no go on the PATH.\n');

const seed = seedOf(Date.now() % 1_000_000);
/** No network, and no other version of the compiler. */
const build = {
  cwd: join(repository, 'examples', 'listener-go'),
  env: { ...process.env, GOTOOLCHAIN: 'local', GOPROXY: 'off', CGO_ENABLED: '0' },
};
let server: TestServer;
let folder: string;
let listener: ListenerProcess | undefined;

beforeAll(async () => {
  if (go === undefined) return;
  folder = await mkdtemp(join(tmpdir(), 'anneal-go-'));
  const program = join(folder, 'listener');
  const [started, port] = await Promise.all([
    startServer({ lab: 0, env: quickRetries }),
    freeLocalPort(),
    run(go, ['build', '-o', program, '.'], build),
  ]);
  server = started;
  const words = ['-data', join(folder, 'data')];
  listener = new ListenerProcess(server, {
    program,
    listen: [...words, '-port', String(port), '-fail', '0.34', '-seed', String(seed)],
    check: [...words, '-check'],
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
  many:
    type: OS::Heat::ResourceGroup
    properties: {count: 3, resource_def: {type: OS::Heat::TestResource, properties: {value: ${word}}}}
`;

it.skipIf(go === undefined)('the tests of the listener itself pass', async () => {
  const { stdout } = await run(go ?? '', ['test', '.'], build);
  expect(stdout).toContain('ok');
});

it.skipIf(go === undefined)(`misses no event and sees each subject in order (seed ${seed})`, async () => {
  await listener?.start();
  const names = ['a', 'b'];
  const harms = [
    () => listener?.kill().then(() => listener?.start()),
    () => server.kill().then(() => server.start()),
    async () => {
      await Promise.all([server.kill(), listener?.kill()]);
      await server.start();
      await listener?.start();
    },
  ];
  for (const name of names) await server.client.stacks.create({ name, bundle: bundle(template('first')) });
  for (const [round, harm] of harms.entries()) {
    for (const name of names) await settled(server, name, 120_000);
    for (const name of names) {
      await server.client.stacks.update({ stack: name, bundle: bundle(template(`w${round}`)) });
    }
    await harm();
  }
  for (const name of names) expect((await settled(server, name, 120_000)).stack_status).toBe('UPDATE_COMPLETE');
  const report = await listener?.finalReport();
  expect(report).toMatchObject({ missing: {}, disorder: {}, unknown: [], accepted: report?.published, subjects: 4 });
  expect(report?.accepted).toBeGreaterThan(50);
});
