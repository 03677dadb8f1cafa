/**
 * The writes of one collection in this process, with group commit.
 *
 * Q1 The writes of one tick are sent together; the next series is sent when the last one is settled. So a burst of
 *    small writes costs few round trips, and writes are made in the order of the requests.
 * Q2 A read that awaits `settled` sees every write requested before it.
 * Q3 An error goes to the writers that it concerns; the next series starts fresh.
 * Q4 While the server is away, the queue empties: the steps after one that failed for this reason are not sent, nor is a
 *    call whose writer has stopped waiting for it.
 * Q5 A step ends at its limit, also when the driver never answers: the writes behind it are sent.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isLarge } from './bodies.ts';
import { isPassing } from './failure.ts';
import type { Length } from './guard.ts';
import type { Operation, OperationResult } from './operation.ts';
import { familyOf, stepsOf } from './plan.ts';

interface Call {
  readonly operations: readonly Operation[];
  /** When its writer stops waiting; see guard.ts. */
  readonly until: number;
  readonly resolve: (results: OperationResult[]) => void;
}

/** Sends one step and reports each of its operations once. */
export type RunStep = (
  operations: readonly Operation[],
  report: (operation: Operation, result: OperationResult) => void,
) => Promise<void>;

/** The limit of a series, so that a flood is sent in parts and its first writers get their answer soon. */
const mostInSeries = 5000;

/** Combines the writes that wait into steps and runs one step after another. */
export class WriteQueue {
  readonly #runStep: RunStep;
  readonly #tied: () => boolean;
  readonly #deadlineMs: (length: Length) => number;
  /** The step in progress. */
  #step: { readonly what: string; readonly since: number } | undefined;
  #calls: Call[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #unsettled = 0;
  #running = false;

  constructor(options: { runStep: RunStep; tied: () => boolean; deadlineMs: (length: Length) => number }) {
    this.#runStep = options.runStep;
    this.#tied = options.tied;
    this.#deadlineMs = options.deadlineMs;
  }

  /** The results in the order of the operations. Never rejects. */
  write(operations: readonly Operation[]): Promise<OperationResult[]> {
    const { promise, resolve } = Promise.withResolvers<OperationResult[]>();
    this.#calls.push({ operations, until: performance.now() + this.#deadlineMs('document'), resolve });
    this.#unsettled += 1;
    this.#last = promise;
    if (!this.#running) {
      this.#running = true;
      setImmediate(() => void this.#run());
    }
    return promise;
  }

  /** Q2. A series settles as a whole, and series one after the other: the last call is the last to be settled. */
  async settled(): Promise<void> {
    if (this.#unsettled > 0) await this.#last;
  }

  /** The step in progress with its age, for messages: `update of 3 documents, pending for 58 s`. */
  pending(): string | undefined {
    if (!this.#step) return undefined;
    return `${this.#step.what}, pending for ${Math.round((performance.now() - this.#step.since) / 1000)} s`;
  }

  async #run(): Promise<void> {
    while (this.#calls.length > 0) {
      const series = this.#take();
      const results = await this.#send(series);
      for (const { operations, resolve } of series) {
        this.#unsettled -= 1;
        resolve(
          operations.map(
            (each) => results.get(each) ?? { error: new Error('the database did not report the result of a write') },
          ),
        );
      }
    }
    this.#running = false;
  }

  async #send(series: readonly Call[]): Promise<Map<Operation, OperationResult>> {
    const results = new Map<Operation, OperationResult>();
    const now = performance.now();
    const awaited = series.filter(({ until }) => now < until).map(({ operations }) => operations);
    let failure: { error: unknown } = { error: new Error('the write was not sent: its writer has stopped waiting') };
    try {
      for (const step of stepsOf(awaited, { tied: this.#tied() })) {
        let away: { error: unknown } | undefined;
        await this.#limited(step, (operation, result) => {
          results.set(operation, result);
          if ('error' in result && isPassing(result.error)) away = result;
        });
        if (away) throw away.error;
      }
    } catch (error) {
      failure = { error };
    }
    for (const each of series.flatMap(({ operations }) => operations)) {
      if (!results.has(each)) results.set(each, failure);
    }
    return results;
  }

  /** Q5. Twice the deadline of the writers, because the driver's own limits, each of which may apply twice, end before. */
  async #limited(operations: readonly Operation[], report: Parameters<RunStep>[1]): Promise<void> {
    const limitMs = 2 * this.#deadlineMs(operations.some(isLarge) ? 'long' : 'document');
    const kinds = [...new Set(operations.map(familyOf))].join(' and ');
    const documents = operations.length === 1 ? 'a document' : `${operations.length} documents`;
    this.#step = { what: `${kinds} of ${documents}`, since: performance.now() };
    const { promise: late, reject } = Promise.withResolvers<never>();
    const end = (): void =>
      reject(new AnnealError('Unavailable', `The database driver did not end ${this.pending()}.`));
    const timer = setTimeout(end, limitMs);
    try {
      await Promise.race([this.#runStep(operations, report), late]);
    } finally {
      clearTimeout(timer);
      this.#step = undefined;
    }
  }

  #take(): Call[] {
    let operations = 0;
    const over = this.#calls.findIndex((call) => (operations += call.operations.length) > mostInSeries);
    return this.#calls.splice(0, over < 0 ? this.#calls.length : Math.max(1, over));
  }
}
