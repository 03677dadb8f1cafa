/**
 * Copies the log of writes into the file in a thread of its own, because the copy waits for the disk: up to 100 ms for
 * 32 MB.
 *
 * P1 A failed copy loses nothing: the log keeps all writes. SQLite itself copies within a commit when the log reaches
 *    `wal_autocheckpoint` pages.
 * P2 The thread starts with the first long log, so that a small store has none. It keeps no process alive.
 */
import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** The thread copies when the log has this many bytes. Data that is deleted before is never copied. */
export const copiedBytes = 8 * 1024 * 1024;

/** Copies the log of one file when it is long (P1, P2). */
export class Checkpointer {
  readonly #parameters: { file: string; synchronous: string };
  #worker: Worker | undefined;
  #copying = false;
  #stopped = false;

  constructor(parameters: { file: string; synchronous: string }) {
    this.#parameters = parameters;
  }

  /** Called after a commit. Costs some microseconds while the log is short. */
  look(): void {
    if (this.#copying || this.#stopped || this.#logBytes() < copiedBytes) return;
    this.#copying = true;
    this.#worker ??= this.#start();
    this.#worker.postMessage('copy', []);
  }

  /** Resolves when the thread has closed its connection. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #start(): Worker {
    // Without the options of this process: a module that they import would run twice.
    const worker = new Worker(new URL('./checkpoint-worker.mjs', import.meta.url), {
      workerData: this.#parameters,
      execArgv: ['--disable-warning=ExperimentalWarning'],
      env: {},
    });
    worker.on('message', () => {
      this.#copying = false;
    });
    // P1. A thread that died is not started again, because it would probably die again.
    worker.on('error', () => {
      this.#stopped = true;
    });
    worker.unref();
    return worker;
  }

  #logBytes(): number {
    // SQLite shortens the file of the log when it begins again at its start, because of `journal_size_limit`.
    return statSync(`${this.#parameters.file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }
}
