/** The messages that this process replayed and whose end it awaits. */
import { randomUUID } from 'node:crypto';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { replayEnded } from '@anneal/contracts/resource.ts';
import type { z } from 'zod';
import type { ReplayOutcome } from '../port.ts';

/** The end of a replayed message, as its consumer reports it. */
export type ReplayEnd = z.infer<typeof replayEnded.data>;

/** Holds the waits of this process. A report is not durable: a wait without one ends at its limit. */
export class Replays {
  readonly #waiting = new Map<string, (end: ReplayEnd) => void>();

  /** Begins to await a message that is replayed next. The caller ends the wait. */
  begin(): { id: string; outcome: (waitMs: number) => Promise<ReplayOutcome>; end: () => void } {
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<ReplayEnd>();
    this.#waiting.set(id, resolve);
    let timer: NodeJS.Timeout | undefined;
    const limit = (waitMs: number): Promise<undefined> =>
      new Promise((reached) => {
        timer = setTimeout(() => reached(undefined), waitMs);
      });
    return {
      id,
      outcome: async (waitMs) => {
        const end = await Promise.race([promise, limit(waitMs)]);
        if (!end) return { outcome: 'sent' };
        return end.outcome === 'handled'
          ? { outcome: 'handled' }
          : { outcome: 'died', deadLetter: end.dead_letter, failure: end.failure };
      },
      end: () => {
        clearTimeout(timer);
        this.#waiting.delete(id);
      },
    };
  }

  /** Takes a report. Ignores one for which nothing waits. */
  take({ causationid, data }: Envelope): void {
    this.#waiting.get(causationid ?? '')?.(data as ReplayEnd);
  }
}
