/** A backup of a running server, restored after the server was lost. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundle, ownEnvironment, repository, settled, startServer, type TestServer } from '../e2e/server.ts';

let server: TestServer;
let folder: string;
let restored: ChildProcess | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-backup-'));
  server = await startServer({ lab: 1 });
});
afterAll(async () => {
  if (restored && restored.exitCode === null && restored.kill('SIGTERM')) await once(restored, 'exit');
  await server?.dispose();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** A chain of configs on one host; each waits until the test lets it go on. */
const chain = (trace: string) => `heat_template_version: 2016-10-14
resources:
  host: {type: OS::Nova::Server, properties: {image: any, flavor: any}}
${[1, 2, 3]
  .map(
    (n) => `  c${n}:
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: {get_resource: host}
      script: |
        #!/bin/sh
        echo ${n} >> ${trace}
        while [ ! -e ${trace}.go${n} ]; do sleep 0.1; done
${n > 1 ? `    depends_on: c${n - 1}\n` : ''}`,
  )
  .join('')}`;

it('a stack that was being created at the backup completes on the restored server, with its configs in order', async () => {
  const trace = join(folder, 'trace');
  const runs = async (): Promise<string[]> =>
    (await readFile(trace, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
  const begun = (n: string) =>
    eventually(async () => ((await runs()).includes(n) ? true : undefined), {
      what: `config ${n} having begun`,
      last: () => server.output(),
    });
  await server.client.stacks.create({ name: 'chain', bundle: bundle(chain(trace)) });
  await begun('1');

  const file = join(folder, 'backup.tgz');
  const backup = await server.anneal('backup', file);
  expect(backup, backup.stderr).toMatchObject({ status: 0 });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await server.anneal('backup', file)).toMatchObject({ status: 1 });
  const refused = await server.anneal('restore', file, '--data', server.data);
  expect(refused).toMatchObject({ status: 1 });
  expect(refused.stderr).toContain('is not empty');

  // The work continues after the backup, and the server that knows of it is lost.
  await writeFile(`${trace}.go1`, '');
  await begun('2');
  await server.kill();
  const data = join(folder, 'restored');
  const restore = await server.anneal('restore', file, '--data', data);
  expect(restore, restore.stderr).toMatchObject({ status: 0 });

  restored = spawn(
    process.execPath,
    ['services/cli/main.ts', 'serve', '--data', data, '--port', new URL(server.url).port, '--no-lab'],
    { cwd: repository, stdio: 'ignore', env: { ...ownEnvironment(), ANNEAL_LOG_LEVEL: 'warn' } },
  );
  for (const n of [2, 3]) await writeFile(`${trace}.go${n}`, '');
  const ended = await settled(server, 'chain', 120_000);
  expect(ended.stack_status, ended.stack_status_reason ?? '').toBe('CREATE_COMPLETE');
  expect([...new Set(await runs())], 'the first runs').toEqual(['1', '2', '3']);
  expect([...new Set((await runs()).toReversed())], 'the last runs').toEqual(['3', '2', '1']);
});
