/**
 * The npm package: `npm run build:package` and `npm install anneal-VERSION.tgz` in an empty folder give a working server with
 * its console, its documentation and a lab. Skipped when the npm registry does not answer.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { version } from '@anneal/cli/version.ts';
import { afterAll, beforeAll, expect, it, type TestContext } from 'vitest';
import { freeLocalPort } from '../backends/free-port.ts';
import { repository } from '../e2e/server.ts';

const run = promisify(execFile);
const template = `
heat_template_version: 2016-10-14
resources:
  server:
    type: OS::Nova::Server
    properties: { image: debian-12, flavor: baremetal }
  config:
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: { get_resource: server }
      outputs: [{ name: port }]
      script: |
        #!/bin/sh
        printf 5432 > "$heat_outputs_path.port"
outputs:
  port: { value: { get_attr: [config, port] } }
`;

let folder = '';
let missing: string | undefined;
let server: ChildProcess | undefined;
/** As a user: without the programs and the settings of the repository. */
const environment = Object.fromEntries(
  Object.entries({ ...process.env, PATH: '/usr/local/bin:/usr/bin:/bin', NO_COLOR: '1' }).filter(
    ([name]) => !name.startsWith('npm_') && !name.startsWith('ANNEAL_') && name !== 'NODE_COMPILE_CACHE',
  ),
);
const options = (): { cwd: string; env: typeof environment } => ({ cwd: folder, env: environment });
const anneal = async (...words: string[]): Promise<string> =>
  (await run('npx', ['anneal', ...words], options())).stdout;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-package-'));
  const answers = await fetch('https://registry.npmjs.org/node', { method: 'HEAD' }).catch(() => undefined);
  if (!answers?.ok) {
    missing = 'the npm registry does not answer';
    return;
  }
  await run(process.execPath, ['services/cli/launch.mjs', 'services/cli/package/build.ts', '--output', folder], {
    cwd: repository,
  });
  await writeFile(join(folder, 'package.json'), '{}');
  const file = join(folder, `anneal-${version}.tgz`);
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', file], options());
});
afterAll(async () => {
  if (server?.exitCode === null) {
    const ended = once(server, 'exit');
    // An orderly stop also ends the lab.
    server.kill('SIGTERM');
    await ended;
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});
const needed = (context: TestContext): void => {
  if (missing !== undefined) context.skip(missing);
};

it('installs the anneal command', async (context) => {
  needed(context);
  expect(await anneal('--version')).toBe(`${version}\n`);
  expect((await anneal('template', 'types', '--offline')).split('\n').length).toBeGreaterThan(20);
});

it('serves the console, the documentation and a stack on the lab', async (context) => {
  needed(context);
  const port = await freeLocalPort();
  const command = join(folder, 'node_modules/.bin/anneal');
  server = spawn(command, ['serve', '--lab', '2', '--port', String(port)], options());
  let log = '';
  for (const stream of [server.stdout, server.stderr]) stream?.on('data', (chunk: Buffer) => (log += chunk.toString()));
  await eventually(
    () => {
      if (server?.exitCode !== null) throw new Error(`The server ended: ${log}`);
      return /^ +nodes +2$/m.test(log) || undefined;
    },
    { within: 120_000, what: 'the server with its lab' },
  );
  // As a browser: a program gets JSON at `/`.
  const page = async (path: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { headers: { accept: 'text/html' } })).text();
  expect(await page('/')).toMatch(/<script type="module"[^>]* src="\/assets\//);
  expect(await page('/docs/tasks/run-the-server')).toContain('<h1');

  await writeFile(join(folder, 'web.yaml'), template);
  await anneal('stack', 'create', 'web', '-t', 'web.yaml', '--wait');
  expect(await anneal('output', 'show', 'web', 'port')).toBe('5432\n');
  await anneal('stack', 'delete', 'web', '--yes', '--wait');
  // A failed build of the console or of the documentation would be here.
  expect(log).not.toContain('failed');

  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))).toHaveProperty('dependencies.anneal');
});
