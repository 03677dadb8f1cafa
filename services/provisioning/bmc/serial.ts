/**
 * Runs one task at a time per key, because controllers are slow and crash under load. A dead one delays only itself.
 */
import { Serial } from '@anneal/runtime/work/serial.ts';

/** Time for interrupted work to report its last step. */
const graceMs = 1_000;

export class SerialQueues {
  readonly #serial = new Serial();

  /** An abort removes waiting work from the queue. Running work must handle the signal itself. */
  run<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    let started = false;
    const turn = this.#serial.run(key, async () => {
      signal.throwIfAborted();
      started = true;
      return work();
    });
    return new Promise((resolve, reject) => {
      let grace: NodeJS.Timeout | undefined;
      const abort = (): void => {
        grace = setTimeout(() => reject(signal.reason as Error), started ? graceMs : 0);
      };
      signal.addEventListener('abort', abort, { once: true });
      const end = (): void => {
        signal.removeEventListener('abort', abort);
        clearTimeout(grace);
      };
      turn.finally(end).then(resolve, reject);
    });
  }

  isBusy(key: string): boolean {
    return this.#serial.isBusy(key);
  }
}
