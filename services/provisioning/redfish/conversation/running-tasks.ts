/** The tasks of accepted changes that still run, so that a change is not sent again while its task carries it out. */
import type { TaskPlaces } from './task.ts';

interface Running {
  readonly body: string;
  readonly places: TaskPlaces;
  readonly since: number;
}

/** A task that has not ended by then may never end, and its change is sent again. */
const longestMs = 180_000;

/** A change of one resource or by one action. */
export interface SentChange {
  readonly address: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

export class RunningTasks {
  /** By the place that is changed: a later change of it replaces what ran before. */
  readonly #running = new Map<string, Running>();

  note(change: SentChange, places: TaskPlaces, now: number): void {
    for (const [key, { since }] of this.#running) if (now - since > longestMs) this.#running.delete(key);
    this.#running.set(placeOf(change), { body: JSON.stringify(change.body) ?? '', places, since: now });
  }

  /** The task of the same change, if it may still run. */
  find(change: SentChange, now: number): TaskPlaces | undefined {
    const found = this.#running.get(placeOf(change));
    const isSame = found?.body === (JSON.stringify(change.body) ?? '') && now - found.since <= longestMs;
    return isSame ? found.places : undefined;
  }

  forget(change: SentChange): void {
    this.#running.delete(placeOf(change));
  }
}

const placeOf = ({ address, method, path }: SentChange): string => `${address} ${method} ${path}`;
