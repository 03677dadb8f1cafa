/**
 * Worker threads for work on user input, so that none of it blocks the event loop of a service.
 *
 * P1 A worker runs one job at a time, so that ending the worker loses that job and no other.
 * P2 Lanes (one per project) take turns, and each lane has a bounded queue: a flood in one lane delays no other.
 * P3 Every job ends: with its answer, at its time limit, at its memory limit, or when its requester is gone.
 * P4 Workers start with the first job that needs them and stop when they are idle.
 */
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AnnealError, fromFailure, toFailure } from '@anneal/contracts/errors.ts';
import type { FromWorker, ToWorker } from './worker-thread.ts';

/** The size and the limits of a pool. */
export interface PoolOptions {
  /** The file that the workers run; it calls `serveJobs`. */
  readonly entry: URL;
  /** Data that each worker gets at its start. */
  readonly data: unknown;
  readonly workers: number;
  /** The heap of one worker, in MiB. */
  readonly memory: WorkerLimit;
  /** The time of one job. */
  readonly seconds: WorkerLimit;
  /** Jobs that may wait in one lane. */
  readonly waiting: WorkerLimit;
  /** Answers a job's request to this thread, such as reading a blob. */
  readonly serve: (request: unknown) => Promise<unknown>;
}

/** A limit and its setting. */
export interface WorkerLimit {
  readonly most: number;
  /** The name of the setting, for the refusal. */
  readonly setting: string;
}

/** A task for a worker, and its place among the others. */
export interface Job {
  /** Jobs of one lane run in order; lanes take turns. */
  readonly lane: string;
  /** Names the job in a refusal: `compiling the template`. */
  readonly what: string;
  /** Any value that can be cloned. */
  readonly task: unknown;
  /** Aborted when the requester no longer waits for the answer. */
  readonly signal?: AbortSignal;
}

/** A pool that takes jobs until it is stopped. */
export interface WorkerPool {
  /** @throws AnnealError TooLarge over a limit, LimitReached when the lane is full, or the error of the job. */
  run(job: Job): Promise<unknown>;
  close(): Promise<void>;
}

interface Waiting extends Job {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const idleMs = 60_000;

/**
 * The environment of a worker, which has no other. Without the process's cache of compiled code, its start
 * takes three times as long.
 */
export function compiledCode(): NodeJS.ProcessEnv {
  const folder = getCompileCacheDir();
  // Node keeps the code of each of its versions in a folder of its own.
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}

/** A pool of threads. It starts a thread when the first task needs it, and replaces a thread that ended. */
export function createWorkerPool(options: PoolOptions): WorkerPool {
  const lanes = new Map<string, Waiting[]>();
  const idle: Member[] = [];
  const members = new Set<Member>();
  let closed = false;

  const next = (): Waiting | undefined => {
    const [first] = lanes;
    if (!first) return undefined;
    const [lane, queue] = first;
    const job = queue.shift();
    // The lane goes to the end of the round.
    lanes.delete(lane);
    if (queue.length > 0) lanes.set(lane, queue);
    return job;
  };

  const dispatch = (): void => {
    while (lanes.size > 0 && (idle.length > 0 || members.size < options.workers)) {
      const member = idle.pop() ?? add();
      const job = next();
      if (job) member.start(job);
    }
  };

  const add = (): Member => {
    const member = new Member(options, {
      free: () => {
        idle.push(member);
        dispatch();
      },
      gone: () => {
        members.delete(member);
        const index = idle.indexOf(member);
        if (index >= 0) idle.splice(index, 1);
        dispatch();
      },
    });
    members.add(member);
    return member;
  };

  const refuseFull = ({ lane, what }: Job): AnnealError =>
    new AnnealError(
      'LimitReached',
      `Refused ${what}: ${options.waiting.most} requests of "${lane}" already wait for a worker (${options.waiting.setting}).`,
    );

  return {
    async run(job) {
      if (closed) throw new AnnealError('Unavailable', `Refused ${job.what}: the service is stopping.`);
      job.signal?.throwIfAborted();
      const queue = lanes.get(job.lane) ?? [];
      if (queue.length >= options.waiting.most) throw refuseFull(job);
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const waiting: Waiting = { ...job, resolve, reject };
      lanes.set(job.lane, [...queue, waiting]);
      const leave = (): void => {
        const rest = (lanes.get(job.lane) ?? []).filter((other) => other !== waiting);
        if (rest.length > 0) lanes.set(job.lane, rest);
        else lanes.delete(job.lane);
        reject(job.signal?.reason);
      };
      job.signal?.addEventListener('abort', leave, { once: true });
      dispatch();
      return promise.finally(() => job.signal?.removeEventListener('abort', leave));
    },
    async close() {
      closed = true;
      const error = new AnnealError('Unavailable', 'The service is stopping.');
      for (const queue of lanes.values()) for (const { reject } of queue) reject(error);
      lanes.clear();
      await Promise.all([...members].map((member) => member.end(error)));
    },
  };
}

/** One worker thread, and the job that it runs. */
class Member {
  readonly #options: PoolOptions;
  readonly #free: () => void;
  readonly #worker: Worker;
  #settle: ((outcome: { value: unknown } | { error: unknown }) => void) | undefined;
  #rest: NodeJS.Timeout | undefined;
  #what = '';
  #isReady = false;
  #begin: (() => void) | undefined;

  constructor(options: PoolOptions, { free, gone }: { free: () => void; gone: () => void }) {
    this.#options = options;
    this.#free = free;
    this.#worker = new Worker(options.entry, {
      workerData: options.data,
      resourceLimits: { maxOldGenerationSizeMb: options.memory.most },
      execArgv: [],
      env: compiledCode(),
    });
    this.#worker.on('message', (message: FromWorker) => this.#take(message));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => {
      clearTimeout(this.#rest);
      this.#settle?.({ error: new AnnealError('Defect', `The worker ended while ${this.#what}.`) });
      gone();
    });
    this.#worker.unref();
  }

  start(job: Waiting): void {
    clearTimeout(this.#rest);
    this.#worker.ref();
    this.#what = job.what;
    const { seconds } = this.#options;
    const stop = (): void => void this.end(job.signal?.reason);
    let timer: NodeJS.Timeout | undefined;
    job.signal?.addEventListener('abort', stop, { once: true });
    this.#settle = (outcome) => {
      this.#settle = undefined;
      clearTimeout(timer);
      job.signal?.removeEventListener('abort', stop);
      if ('error' in outcome) job.reject(outcome.error);
      else job.resolve(outcome.value);
    };
    const begin = (): void => {
      timer = setTimeout(
        () => void this.end(tooMuch(job.what, `${seconds.most} s of time`, seconds)),
        seconds.most * 1000,
      );
      this.#send({ kind: 'job', task: job.task });
    };
    // The start of a worker does not count towards the job's time.
    if (this.#isReady) begin();
    else this.#begin = begin;
  }

  /** Ends the worker, and its job with the error. */
  async end(error: unknown): Promise<void> {
    this.#settle?.({ error });
    await this.#worker.terminate();
  }

  #send(message: ToWorker): void {
    try {
      this.#worker.postMessage(message, []);
    } catch (error) {
      this.#settle?.({ error });
      void this.#worker.terminate();
    }
  }

  #take(message: FromWorker): void {
    if (message.kind === 'ready') {
      this.#isReady = true;
      if (this.#settle) this.#begin?.();
      return;
    }
    if (message.kind === 'ask') {
      void this.#answer(message.id, message.request);
      return;
    }
    // A worker whose job was ended may still have sent its answer.
    if (!this.#settle) return;
    this.#settle(message.kind === 'done' ? { value: message.value } : { error: fromFailure(message.failure) });
    this.#worker.unref();
    this.#rest = setTimeout(() => void this.#worker.terminate(), idleMs).unref();
    this.#free();
  }

  async #answer(id: number, request: unknown): Promise<void> {
    try {
      this.#send({ kind: 'answer', id, value: await this.#options.serve(request) });
    } catch (error) {
      this.#send({ kind: 'refusal', id, failure: toFailure(error) });
    }
  }

  #fail(error: unknown): void {
    const { memory } = this.#options;
    const isMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
    this.#settle?.({
      error: isMemory
        ? tooMuch(this.#what, `${memory.most} MiB of memory`, memory)
        : new AnnealError('Defect', `The worker failed while ${this.#what}: ${toFailure(error).message}`, {
            cause: error,
          }),
    });
  }
}

const tooMuch = (what: string, limit: string, { setting }: WorkerLimit): AnnealError =>
  new AnnealError('TooLarge', `Stopped ${what}: it used more than ${limit} (${setting}).`);
