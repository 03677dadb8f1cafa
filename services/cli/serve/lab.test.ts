import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keepLab } from './keep-lab.ts';
import { startLabProcess, type RunningLab } from './lab.ts';

let folder: string;
let lab: RunningLab | undefined;
const stop = new AbortController();
const start = (): Promise<RunningLab> =>
  startLabProcess({ folder, machines: 1, environment: process.env, signal: stop.signal });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-lab-'));
});
afterEach(async () => {
  lab?.kill();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

describe('the lab beside the server', () => {
  it('is not started a second time while its process is suspended', async () => {
    lab = await start();
    process.kill(lab.pid, 'SIGSTOP');
    const again = start();
    // The lab accepts the connection and does not answer. The check must time out before the lab continues.
    const timer = setTimeout(() => lab && process.kill(lab.pid, 'SIGCONT'), 3500);
    expect(await again).toMatchObject({ pid: lab.pid, isNew: false, isOurs: true });
    clearTimeout(timer);
  }, 60_000);

  it('does not end the server when it fails to start, and is started again', async () => {
    const failures: unknown[] = [];
    const started: boolean[] = [];
    const ending = new AbortController();
    let tries = 0;
    const done = keepLab({
      async start() {
        if (++tries < 3) throw new Error(`try ${tries}`);
        return { pid: process.pid, isOurs: true } as RunningLab;
      },
      async onStart(_, isRestart) {
        started.push(isRestart);
      },
      onTrouble: (error) => failures.push(error),
      signal: ending.signal,
    });
    await eventually(() => (started.length > 0 ? true : undefined), { what: 'the lab being started at the third try' });
    ending.abort();
    await done;
    expect(failures.map(String)).toEqual(['Error: try 1', 'Error: try 2']);
    expect(started).toEqual([false]);
  }, 30_000);
});
