/**
 * The limits of every wait for the database.
 *
 * G1 Each operation ends: with its result, or with Unavailable at its deadline or when its store is abandoned. After the
 *    latter two, its outcome is unknown: the command may still reach a server that is slow.
 * G2 A closed store starts no operation.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { asAnneal } from './failure.ts';

/** Deadlines as multiples of the patience: how long the store waits for a writable server, 15 s by default. */
const times = {
  /** For documents, with the wait behind other writes: 60 s. */
  document: 4,
  /** For blobs and large documents, whose pieces are many commands, and for the filling of indexes on opening a collection: 10 min. */
  long: 40,
};

/** The class of an operation, which has a deadline. */
export type Length = keyof typeof times;

/** Runs operations within their deadlines and converts their errors to AnnealError (G1, G2). */
export class Guard {
  readonly #place: string;
  readonly #patienceMs: number;
  readonly #running = new Set<(error: AnnealError) => void>();
  #closed = false;

  constructor(parameters: { place: string; patienceMs: number }) {
    this.#place = parameters.place;
    this.#patienceMs = parameters.patienceMs;
  }

  /** The deadline of an operation after its start, in milliseconds. */
  deadlineMs(length: Length): number {
    return times[length] * this.#patienceMs;
  }

  /**
   * `what` names the operation for the message of a deadline.
   * @throws AnnealError Unavailable, and what `run` throws
   */
  run<R>(run: () => Promise<R>, length: Length = 'document', what = (): string => 'an operation'): Promise<R> {
    const place = this.#place;
    if (this.#closed) return Promise.reject(new AnnealError('Unavailable', `The store at ${place} is closed.`));
    const deadlineMs = this.deadlineMs(length);
    // Not Promise.race with one promise for all operations: it would keep each result until the store closes.
    return new Promise<R>((resolve, reject) => {
      const timer = setTimeout(() => {
        const seconds = deadlineMs / 1000;
        end(unanswered(`The store at ${place} did not complete ${what()} within ${seconds} s.`));
      }, deadlineMs);
      const end = (error: unknown): void => {
        clearTimeout(timer);
        this.#running.delete(end);
        reject(asAnneal(place, error));
      };
      this.#running.add(end);
      const work = async (): Promise<void> => {
        const result = await run();
        clearTimeout(timer);
        this.#running.delete(end);
        resolve(result);
      };
      work().catch(end);
    });
  }

  /** G2. */
  close(): void {
    this.#closed = true;
  }

  /** Ends every operation in progress with Unavailable (G1). */
  abandon(): void {
    const error = unanswered(`The store at ${this.#place} was closed during an operation.`);
    for (const end of this.#running) end(error);
  }
}

const unanswered = (message: string): AnnealError =>
  new AnnealError('Unavailable', `${message} Whether it was done is not known.`, {
    details: { remedy: 'Check the database and the network to it, then repeat the operation.' },
  });
