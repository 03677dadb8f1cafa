/** The older versions of the API of queues, with the last python-zaqarclient that speaks them, unmodified. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { installFromPypi } from '../../backends/pypi.ts';
import { repository, startServer, type TestServer } from '../../e2e/server.ts';

const run = promisify(execFile);
let missing: string | undefined;
let python = '';
let server: TestServer;

beforeAll(async () => {
  const installed = await installFromPypi(['python-zaqarclient==1.13.2']);
  if ('missing' in installed) {
    missing = installed.missing;
    return;
  }
  python = join(installed.bin, 'python');
  server = await startServer({ lab: 1 });
}, 360_000);
beforeEach(({ skip }) => skip(missing !== undefined, missing));
afterAll(() => server?.dispose());

const both = { listed: [0, 1, 2, 3], one: 1, claimed: [0], left: [] };

it.each([
  ['1.0', { ...both, metadata: { team: 'ops' }, counts: [0, 2, 2], queues: ['of-1-0'] }],
  ['1.1', { ...both, popped: [2], counts: [0, 1, 1], queues: ['of-1-1'] }],
])('posts, lists, claims and deletes with version %s', async (version, expected) => {
  const file = join(repository, 'test', 'programs', 'openstack', 'queue-client.py');
  const words = [file, `${server.url}/identity/v3`, server.password, version];
  const { stdout } = await run(python, words, { timeout: 60_000 });
  const seen = JSON.parse(stdout) as { queues: string[]; left: string[] };
  // Both lists also name the queues of hosts.
  const own = (names: string[]): string[] => names.filter((name) => name.startsWith('of-'));
  expect({ ...seen, queues: own(seen.queues), left: own(seen.left) }).toEqual(expected);
});
