/** The log and the addresses of a process, as its settings say. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { expect, it, onTestFinished } from 'vitest';
import { freeLocalPort } from '../backends/free-port.ts';
import { ownEnvironment, repository } from '../e2e/server.ts';

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/health/ready`).then(
    ({ ok }) => ok,
    () => false,
  );

/** Starts a service until it is ready. Returns its log so far. */
async function started(env: Record<string, string>, host = '127.0.0.1'): Promise<{ log: string; port: number }> {
  const data = await mkdtemp(join(tmpdir(), 'anneal-process-settings-'));
  const port = await freeLocalPort();
  const child = spawn(process.execPath, ['services/templating/main.ts'], {
    cwd: repository,
    env: { ...ownEnvironment(), ANNEAL_DATA: data, ANNEAL_HEALTH_PORT: String(port), ...env },
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (log += chunk.toString()));
  onTestFinished(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    await rm(data, { recursive: true, force: true });
  });
  await eventually(() => isReady(`http://${host}:${port}`), { what: 'the service', last: () => log });
  return { log, port };
}

it('serves health at its address and port, and logs at its level and in its format', async () => {
  const [json, pretty, warnings] = await Promise.all([
    started({ ANNEAL_LOG_FORMAT: 'json', ANNEAL_HEALTH_HOST: '127.0.0.2' }, '127.0.0.2'),
    started({ ANNEAL_LOG_FORMAT: 'pretty' }),
    started({ ANNEAL_LOG_LEVEL: 'warn' }),
  ]);
  const lines = json.log.trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toContain('started');
  expect(await isReady(`http://127.0.0.1:${json.port}`)).toBe(false);
  expect(pretty.log).toMatch(/INFO.*started/);
  expect(pretty.log).not.toContain('{"level"');
  expect(warnings.log).not.toContain('started');
});
