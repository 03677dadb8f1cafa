/** The Python client, installed with pip, against a real server. Skipped when Python or PyPI is not available. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installFromPypi, pip } from '../backends/pypi.ts';
import { ownEnvironment, repository, startServer, type TestServer } from '../e2e/server.ts';

const run = promisify(execFile);
const source = join(repository, 'clients', 'python');
const packages = ['urllib3==2.8.0', 'hatchling==1.33.0', 'mypy==2.4.1', 'pytest==9.2.0', 'typeguard==4.6.0'];
const installed = await installFromPypi(packages);
const missing = 'missing' in installed ? installed.missing : undefined;
if (missing !== undefined) process.stderr.write(`Skipped: the Python client. ${missing}\n`);

describe.skipIf(missing !== undefined)('the Python client', () => {
  const bin = 'missing' in installed ? '' : installed.bin;
  let server: TestServer;
  let folder: string;
  beforeAll(async () => {
    if ('missing' in installed) return;
    await run(process.execPath, ['clients/python/build.ts'], { cwd: repository });
    await pip(installed, ['install', '--no-build-isolation', '--no-deps', '--force-reinstall', source]);
    server = await startServer({ lab: 2 });
    folder = await mkdtemp(join(tmpdir(), 'anneal-python-client-'));
  });
  afterAll(async () => {
    await server?.dispose();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  it('has types that hold, also in the programs that use it', async () => {
    const words = ['--strict', '--cache-dir', join(folder, 'mypy'), 'src/anneal_client', 'tests'];
    const { stdout } = await run(join(bin, 'mypy'), words, { cwd: source }).catch((error: unknown) => error as never);
    expect(stdout).toContain('Success: no issues found');
  });

  it('calls, waits, streams over a killed server, and verifies', async () => {
    const login = JSON.parse(await readFile(join(server.data, 'credentials.json'), 'utf8')) as Record<string, string>;
    const restart = join(folder, 'restart');
    const env = {
      ...ownEnvironment(),
      OS_AUTH_URL: login['auth_url'],
      OS_USERNAME: login['username'],
      OS_PASSWORD: login['password'],
      OS_PROJECT_NAME: login['project_name'],
      ANNEAL_TEST_RESTART: restart,
    };
    const words = ['-q', '-p', 'no:cacheprovider', 'tests'];
    const ending = run(join(bin, 'pytest'), words, { cwd: source, env }).then(
      ({ stdout }) => ({ passed: true, stdout }),
      (error: { stdout?: string }) => ({ passed: false, stdout: error.stdout ?? '' }),
    );
    let ended = false;
    void ending.then(() => (ended = true));
    await eventually(() => ended || existsSync(restart), { within: 120_000, what: 'the sign to kill the server' });
    if (!ended) {
      await server.kill();
      await server.start();
      await rm(restart);
    }
    const { passed, stdout } = await ending;
    expect(stdout).toContain(' passed');
    expect(passed, stdout).toBe(true);
  });
});
