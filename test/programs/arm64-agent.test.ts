/** Runs the full agent for arm64 in QEMU's emulation of that processor, with Debian's libraries for it. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildExecutable } from '@anneal/agent/executable/executable.ts';
import { agentVersion } from '@anneal/agent/facts.ts';
import { scriptRequest, StandIn, until } from '@anneal/agent/testing/fixture.ts';
import { afterAll, beforeAll, expect, it, type TestContext } from 'vitest';

const emulator = 'qemu-aarch64-static';
const libraries = '/usr/aarch64-linux-gnu';
const directory = mkdtempSync(join(tmpdir(), 'anneal-arm64-'));
/** Emulated processors are slow, and this computer may be busy. */
const patienceMs = 240_000;
let file = '';
let missing: string | undefined;

beforeAll(async () => {
  const found = spawnSync(emulator, ['--version']).status === 0;
  const packages = 'qemu-user-static, libc6-arm64-cross and libstdc++6-arm64-cross';
  if (!found || !existsSync(join(libraries, 'lib/libstdc++.so.6'))) missing = `${packages} are not installed`;
  else file = await built();
}, patienceMs);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function built(): Promise<string> {
  try {
    return (await buildExecutable({ machine: 'arm64', folder: directory })).file;
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('Command failed: npm pack')) throw error;
    missing = "the npm registry does not send Node's program for arm64";
    return '';
  }
}

const needed = (test: TestContext): void => {
  if (missing !== undefined) test.skip(missing);
};

it('starts, reports a machine with arm64, and applies a config', async (test) => {
  needed(test);
  const version = spawnSync(emulator, ['-L', libraries, file, '--version'], { encoding: 'utf8' });
  expect([version.stdout, version.status], version.stderr).toEqual([`${agentVersion}\n`, 0]);
  const server = await new StandIn().start();
  server.takesAnswers = true;
  let agent: ChildProcess | undefined;
  try {
    const deadline = new Date(Date.now() + 2 * patienceMs).toISOString();
    const request = scriptRequest(
      '#!/bin/sh\necho "hello $name"; printf %s done >"$heat_outputs_path.state"; exit 3\n',
      {
        deadline,
        inputs: [{ name: 'name', type: 'String', value: 'arm64' }],
        outputs: [{ name: 'state', type: 'String' }],
      },
    );
    server.offer(request as never);
    const seed = join(directory, 'seed.json');
    writeFileSync(seed, JSON.stringify(server.seed));
    const words = ['-L', libraries, file, '--seed', seed, '--directory', join(directory, 'state')];
    agent = spawn(emulator, words, { stdio: 'ignore' });
    const answer = await until(() => server.responses.find(({ id }) => id === request.id), 'the answer', patienceMs);
    expect(answer).toMatchObject({ status_code: 3, stdout: 'hello arm64\n', outputs: { state: 'done' } });
    expect(server.hellos[0]).toMatchObject({ facts: { arch: 'arm64' } });
  } finally {
    if (agent && agent.exitCode === null) {
      agent.kill('SIGKILL');
      await once(agent, 'exit');
    }
    await server.stop();
  }
});
