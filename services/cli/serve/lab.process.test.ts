import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRunning } from '@anneal/runtime/service/folder-lock.ts';
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
  });

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
  });

  it('ends with its server when the reader of its output ends first', async () => {
    const command = new URL('../anneal.mjs', import.meta.url).pathname;
    const server = spawn(process.execPath, [command, 'serve', '--port', '0', '--data', folder, '--lab', '1'], {
      env: { PATH: process.env['PATH'], HOME: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(server, 'exit');
    let text = '';
    server.stdout.setEncoding('utf8').on('data', (more: string) => (text += more));
    await eventually(() => text.includes('Ctrl-C'), { what: 'the server', last: () => text });
    const { pid } = JSON.parse(await readFile(join(folder, 'lab', 'lab.json'), 'utf8')) as { pid: number };
    server.stdout.destroy();
    server.stderr.destroy();
    server.kill('SIGINT');
    expect(await ended).toEqual([0, null]);
    try {
      expect(isRunning(pid)).toBe(false);
    } finally {
      if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    }
  });

  it.skipIf(process.platform !== 'linux')(
    'ends with its server when the terminal of the server is closed',
    async () => {
      const command = new URL('../anneal.mjs', import.meta.url).pathname;
      const line = `exec ${process.execPath} ${command} serve --port 0 --data ${folder} --lab 1`;
      // Runs the server on a terminal, which closes with this process.
      const terminal = spawn('script', ['-qfc', line, '/dev/null'], {
        env: { PATH: process.env['PATH'], HOME: folder },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let text = '';
      terminal.stdout.setEncoding('utf8').on('data', (more: string) => (text += more));
      await eventually(() => text.includes('Ctrl-C'), { what: 'the server', last: () => text });
      const { pid } = JSON.parse(await readFile(join(folder, 'lab', 'lab.json'), 'utf8')) as { pid: number };
      expect(isRunning(pid)).toBe(true);
      terminal.kill('SIGKILL');
      await eventually(() => !isRunning(pid), { what: 'the end of the lab' }).finally(() => {
        if (isRunning(pid)) process.kill(pid, 'SIGKILL');
      });
    },
    120_000,
  );
});
