/** Configs that try to stop the agent of their host. After each one the next config must run. */
import { execFileSync } from 'node:child_process';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentOptions, scriptRequest, StandIn, temporaryFolder, until } from './testing/fixture.ts';
import { runFolder } from './run-folder.ts';
import { startAgent, type Agent } from './start.ts';

let server: StandIn;
let directory: string;
let agent: Agent | undefined;

beforeEach(async () => {
  server = await new StandIn().start();
  directory = temporaryFolder();
});
afterEach(async () => {
  agent?.kill();
  agent = undefined;
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

const patienceMs = 40_000;
/** The answers to a hostile script and to a harmless one queued behind it. */
async function applied(script: string, more: Parameters<typeof scriptRequest>[1] = {}) {
  const hostile = scriptRequest(script, more);
  const innocent = scriptRequest('printf fine >$heat_outputs_path.it');
  server.offer(hostile as never);
  server.offer(innocent as never);
  agent ??= await startAgent(agentOptions(server, directory));
  const answerTo = (id: string) =>
    until(() => server.responses.find((each) => each.id === id), `an answer to ${id}`, patienceMs);
  const answer = await answerTo(hostile.id);
  expect(await answerTo(innocent.id)).toMatchObject({ status_code: 0, outputs: { it: 'fine' } });
  await until(() => server.pending === 0, 'the removal of both', patienceMs);
  return { answer, run: runFolder(directory, hostile.id) };
}

const stopped = async (): Promise<void> => {
  await agent?.stop();
  agent = undefined;
};

describe('an output file that is', () => {
  const kinds: [string, string, RegExp][] = [
    ['a directory', 'mkdir $heat_outputs_path.x', /cannot read output x: it is a directory/],
    ['a named pipe', 'mkfifo $heat_outputs_path.x', /cannot read output x: it is a named pipe/],
    ['a link to a secret', 'ln -s /etc/shadow $heat_outputs_path.x', /cannot read output x: it is a symbolic link/],
    ['a link to itself', 'ln -s output.x $heat_outputs_path.x', /cannot read output x: it is a symbolic link/],
    ['of 3 GB', 'truncate -s 3G $heat_outputs_path.x', /output x: .* more than 65536 bytes; the full output is in /],
    [
      'one of three hundred',
      'i=0; while [ $i -lt 300 ]; do : >$heat_outputs_path.$i; i=$((i+1)); done',
      /more than 256 outputs/,
    ],
  ];
  it.each(kinds)('%s fails its run, and the other outputs are still returned', async (_kind, script, why) => {
    const { answer } = await applied(`printf yes >$heat_outputs_path.a; ${script}`);
    expect(answer.error).toMatch(why);
    expect(answer.status_code).toBe(0);
    if (!script.includes('300')) expect(answer.outputs).toEqual({ a: 'yes' });
    await stopped();
  });
});

describe('a script that', () => {
  it('deletes its folder, or replaces it with a link, is answered with its exit status', async () => {
    const gone = await applied('rm -rf "$(dirname "$heat_outputs_path")"; exit 3');
    expect(gone.answer).toMatchObject({ status_code: 3, error: expect.stringContaining('folder for outputs') });
    const linked = await applied('d=$(dirname "$heat_outputs_path"); rm -rf "$d"; ln -s /etc "$d"');
    expect(linked.answer).toMatchObject({ outputs: {}, error: expect.stringContaining('no longer a directory') });
    await stopped();
  });

  it('deletes all files that the agent keeps about it is still answered', async () => {
    const { answer } = await applied('rm -rf "$(dirname "$(dirname "$heat_outputs_path")")"; exit 3', {
      options: { on_interrupt: 'fail' },
    });
    expect(answer.status_code).not.toBe(0);
    await stopped();
  });

  it('writes without end is ended at its time limit, and its streams stay small on disk', async () => {
    agent = await startAgent({ ...agentOptions(server, directory), streamsEveryMs: 100 });
    const { answer, run } = await applied('yes & yes >&2; wait', { timeout: 0.5 });
    expect(answer).toMatchObject({ status_code: 124, truncated: true });
    expect(answer.error).toBe('deadline: it ran longer than 0.5 s and was stopped');
    const size = () => statSync(join(run, 'stdout')).size + statSync(join(run, 'stderr')).size;
    await until(() => size() < 40 * 1024 * 1024, 'small streams', patienceMs);
    await stopped();
  });

  it('counts its limit from its start, whatever the clock of the server', async () => {
    const { answer } = await applied('echo ran', { timeout: 30, deadline: '2001-01-01T00:00:00.000Z' });
    expect(answer).toMatchObject({ status_code: 0, stdout: 'ran\n' });
    await stopped();
  });

  it('prints an endless result as a hook is cut off', async () => {
    execFileSync('mkdir', ['-p', join(directory, 'hooks')]);
    writeFileSync(join(directory, 'hooks', 'loud'), '#!/bin/sh\nhead -c 3000000 /dev/zero\n', { mode: 0o700 });
    const { answer } = await applied('', { group: 'loud' });
    expect(answer.error).toMatch(/cannot read its result: it has more than/);
    await stopped();
  });
});

/** Mounts a disk of a few MiB, where the machine allows a test to do so. */
function smallDisk(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=30m', 'none', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('a disk that a config filled', () => {
  it('has free space again after the run, and the agent continues, also after a restart', async (test) => {
    if (!smallDisk(directory)) test.skip('requires permission to mount a tmpfs');
    try {
      for (const script of ['dd if=/dev/zero of=./fill bs=1M', 'yes', 'dd if=/dev/zero of=./fill bs=1M; exit 0']) {
        const { answer } = await applied(script, { timeout: 5 });
        if (!script.includes('exit 0')) expect(answer.status_code).not.toBe(0);
      }
      await stopped();
      const { answer } = await applied('dd if=/dev/zero of=./fill bs=1M');
      expect(answer.status_code).toBe(1);
    } finally {
      agent?.kill();
      execFileSync('umount', ['-l', directory]);
    }
  });
});
