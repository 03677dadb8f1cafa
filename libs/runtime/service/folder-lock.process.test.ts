import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockDataFolder } from './folder-lock.ts';
import { eventually } from '../testing.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-lock-'));
});
afterEach(() => rm(folder, { recursive: true }));

const url = 'http://127.0.0.1:9';

describe('lockDataFolder', () => {
  it('L1: when many processes start at once, one gets the lock and the others name it', async () => {
    const tries = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataFolder({ folder })));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const refusal = tries.find((one) => one.status === 'rejected');
    expect(refusal?.reason).toMatchObject({
      code: 'Conflict',
      message: expect.stringContaining(`process ${process.pid}`),
    });
  });

  it('L2: a lock of a killed process is taken over', async () => {
    const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)']);
    const { pid } = child;
    child.kill('SIGKILL');
    await once(child, 'exit');
    await writeFile(join(folder, 'server.lock'), JSON.stringify({ pid, started: '1', url }));
    await (await lockDataFolder({ folder })).release();
    expect(await readdir(folder)).toEqual([]);
  });

  it.runIf(process.platform === 'linux')('L2: a lock of a zombie process is taken over', async () => {
    // The parent never asks how its child ended, so the child ends but keeps its number.
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    const stat = async () => (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
    const started = (await stat())[19];
    await eventually(async () => (await readFile(`/proc/${parent.pid}/comm`, 'utf8')).startsWith('sleep') || undefined);
    process.kill(pid, 'SIGKILL');
    await eventually(async () => (await stat())[0] === 'Z' || undefined);
    await writeFile(join(folder, 'server.lock'), JSON.stringify({ pid, started, url }));
    await (await lockDataFolder({ folder })).release();
    parent.kill('SIGKILL');
  });

  it.runIf(process.platform === 'linux')(
    'L2: a lock whose process id now belongs to another process is taken over',
    async () => {
      await writeFile(join(folder, 'server.lock'), JSON.stringify({ pid: process.pid, started: 'long ago', url }));
      await (await lockDataFolder({ folder })).release();
    },
  );

  it('a half-written lock is taken over', async () => {
    await writeFile(join(folder, 'server.lock'), '{"pid":');
    await (await lockDataFolder({ folder })).release();
  });
});
