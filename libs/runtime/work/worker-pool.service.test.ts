import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { createWorkerPool, type PoolOptions, type WorkerPool } from './worker-pool.ts';

let pool: WorkerPool;
afterEach(() => pool.close());

const open = (more: Partial<PoolOptions> = {}): WorkerPool =>
  (pool = createWorkerPool({
    entry: new URL('testing-worker.ts', import.meta.url),
    data: undefined,
    workers: 1,
    memory: { most: 64, setting: 'MEMORY' },
    seconds: { most: 60, setting: 'SECONDS' },
    waiting: { most: 3, setting: 'WAITING' },
    serve: async () => null,
    ...more,
  }));

const run = (task: readonly [string, unknown?], more: { lane?: string; signal?: AbortSignal } = {}): Promise<unknown> =>
  pool.run({ lane: 'a', what: 'trying it', task, ...more });

describe('a pool of workers', () => {
  it('P1: returns the answer or the error of a job, and takes the next one', async () => {
    open();
    await expect(run(['echo', { a: 1 }])).resolves.toEqual({ a: 1 });
    await expect(run(['refuse', 'no'])).rejects.toMatchObject({ code: 'InvalidTemplate', message: 'no' });
    await expect(run(['echo', 2])).resolves.toBe(2);
  });

  it('reads the compiled code that its process keeps, and gets nothing else of the environment', async () => {
    // Node writes into it after the test, and another user of this machine must not own it.
    enableCompileCache(join(import.meta.dirname, '../../../node_modules/.cache/anneal/compiled-test'));
    open();
    expect(await run(['compiledIn'])).toBe(getCompileCacheDir());
    expect(await run(['environment'])).toEqual(['NODE_COMPILE_CACHE']);
  });

  it('answers questions of a job to the thread of the service', async () => {
    open({
      serve: async (request) => {
        if (request === 'bad') throw new AnnealError('NotFound', 'not there');
        return `answer to ${String(request)}`;
      },
    });
    await expect(run(['ask', 'this'])).resolves.toBe('answer to this');
    await expect(run(['ask', 'bad'])).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('P3: ends a job at its time limit and continues with a new worker', async () => {
    open({ seconds: { most: 0.2, setting: 'SECONDS' } });
    await expect(run(['spin'])).rejects.toMatchObject({
      code: 'TooLarge',
      message: 'Stopped trying it: it used more than 0.2 s of time (SECONDS).',
    });
    await expect(run(['echo', 1])).resolves.toBe(1);
  });

  it('P3: ends a job at its memory limit and continues with a new worker', async () => {
    open();
    await expect(run(['fill'])).rejects.toMatchObject({
      code: 'TooLarge',
      message: 'Stopped trying it: it used more than 64 MiB of memory (MEMORY).',
    });
    await expect(run(['echo', 1])).resolves.toBe(1);
  });

  it('P3: ends a running or waiting job when its requester disconnects', async () => {
    open();
    const [running, waiting] = [new AbortController(), new AbortController()];
    const jobs = [
      run(['spin'], { signal: running.signal }),
      run(['echo', 1], { signal: waiting.signal }),
      run(['echo', 2]),
    ].map((job) => job.catch((error: unknown) => error));
    waiting.abort('waiting gone');
    running.abort('running gone');
    await expect(Promise.all(jobs)).resolves.toEqual(['running gone', 'waiting gone', 2]);
  });

  it('P2: lets lanes take turns and refuses only the lane that is full', async () => {
    open();
    const order: unknown[] = [];
    const note = (value: unknown): number => order.push(value);
    const first = run(['echo', 'a0']).then(note);
    const flood = [1, 2, 3].map((index) => run(['echo', `a${index}`]).then(note));
    await expect(run(['echo', 'a4'])).rejects.toMatchObject({
      code: 'LimitReached',
      message: 'Refused trying it: 3 requests of "a" already wait for a worker (WAITING).',
    });
    const other = run(['echo', 'b'], { lane: 'b' }).then(note);
    await Promise.all([first, ...flood, other]);
    expect(order).toEqual(['a0', 'a1', 'b', 'a2', 'a3']);
  });

  it('rejects waiting and running jobs when it is closed', async () => {
    open();
    const jobs = [run(['spin']), run(['echo', 1])];
    const settled = Promise.allSettled(jobs);
    await pool.close();
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(run(['echo', 1])).rejects.toMatchObject({ code: 'Unavailable' });
  });
});
