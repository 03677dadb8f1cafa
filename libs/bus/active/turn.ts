/**
 * The consumers in this process of one queue with a single active consumer. The first of them takes messages while the
 * process owns the queue. Changes happen one at a time: the next begins when the one before has no message in progress.
 */
import type { Contender, Ownership } from './owners.ts';
import type { BusLog } from '../bus-log.ts';

/** A consumer that takes messages only while its process owns the queue. */
export interface TurnConsumer {
  begin(): Promise<void>;
  /** Takes no new message; resolves when those in progress are finished, or given back at the deadline. */
  rest(parameters: { deadlineMs?: number }): Promise<void>;
  readonly onActive?: ((active: boolean) => void) | undefined;
}

/** The next owner repeats a handler that takes longer, so that the messages behind it need not wait. */
const yieldMs = 1_000;
const againMs = 250;

/** Runs the consumers of one queue while this process owns it. */
export class Turn implements Contender {
  readonly #queue: string;
  readonly #ownership: Ownership;
  readonly #log: BusLog;
  readonly #candidates: TurnConsumer[] = [];
  #active: TurnConsumer | undefined;
  #owned = false;
  #change: Promise<void> = Promise.resolve();

  constructor(parameters: { queue: string; ownership: Ownership; log: BusLog }) {
    this.#queue = parameters.queue;
    this.#ownership = parameters.ownership;
    this.#log = parameters.log;
  }

  get isEmpty(): boolean {
    return this.#candidates.length === 0;
  }

  async add(candidate: TurnConsumer): Promise<void> {
    this.#candidates.push(candidate);
    if (this.#candidates.length === 1) await this.#ownership.campaign(this.#queue, this);
    // A process that already owns the queue takes from it when this returns.
    if (this.#wanted === candidate) await this.#settle({});
  }

  async remove(candidate: TurnConsumer, options: { deadlineMs?: number }): Promise<void> {
    const place = this.#candidates.indexOf(candidate);
    if (place === -1) return;
    this.#candidates.splice(place, 1);
    await this.#settle(options);
    if (!this.isEmpty) return;
    this.#owned = false;
    await this.#ownership.withdraw(this.#queue);
  }

  gain(): void {
    this.#owned = true;
    void this.#settle({});
  }

  yield({ lost }: { lost: boolean }): Promise<void> {
    this.#owned = false;
    return this.#settle({ deadlineMs: lost ? 0 : yieldMs });
  }

  get #wanted(): TurnConsumer | undefined {
    return this.#owned ? this.#candidates[0] : undefined;
  }

  #settle(options: { deadlineMs?: number }): Promise<void> {
    this.#change = this.#change.then(() => this.#next(options));
    return this.#change;
  }

  async #next(options: { deadlineMs?: number }): Promise<void> {
    const before = this.#active;
    if (before === this.#wanted) return;
    if (before) {
      await before.rest(options);
      this.#active = undefined;
      before.onActive?.(false);
    }
    for (let next = this.#wanted; next; next = this.#wanted) {
      this.#active = next;
      next.onActive?.(true);
      if (await this.#begin(next)) return;
      this.#active = undefined;
      next.onActive?.(false);
    }
  }

  async #begin(candidate: TurnConsumer): Promise<boolean> {
    while (this.#wanted === candidate) {
      try {
        await candidate.begin();
        return true;
      } catch (error) {
        this.#log.warn({ err: error, queue: this.#queue }, 'queue not taken over; retrying');
        await new Promise((resolve) => setTimeout(resolve, againMs));
      }
    }
    return false;
  }
}
