/** Tracks the clients that wait for an answer: one signal per question, aborted when its client stops waiting. */
import type { Delivery } from '@anneal/bus/port.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';

export class Askers {
  readonly #waiting = new Map<string, AbortController>();

  /** Runs the work with a signal that aborts when the client has gone, its deadline passes, or the delivery is lost. */
  async whileWaiting<T>({ message, signal }: Delivery, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const asker = new AbortController();
    const lost = (): void => asker.abort(new AnnealError('Unavailable', 'The request was returned to its queue.'));
    this.#waiting.set(message.id, asker);
    signal.addEventListener('abort', lost, { once: true });
    const { answerwithin: patience } = message;
    const late = `The work was dropped, because the requester waits only ${patience} ms for the answer.`;
    const timer =
      patience === undefined
        ? undefined
        : setTimeout(() => asker.abort(new AnnealError('DeadlineExceeded', late)), patience);
    try {
      return await work(asker.signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', lost);
      this.#waiting.delete(message.id);
    }
  }

  gone(question: string): void {
    const error = new AnnealError('DeadlineExceeded', 'The work was dropped, because the requester disconnected.');
    this.#waiting.get(question)?.abort(error);
  }
}
