/**
 * Durable timers on top of the store: set before a crash, fired after it.
 *
 * T1 A timer fires at least once, at or after its time; the handler's return removes it, its throw fires it again later.
 * T2 Setting a timer with an id that exists moves it. Cancelling one that fires already does not stop the handler.
 * T3 Any replica may fire any timer: it takes a lease in the document, which expires if it dies.
 */
import type { Json } from '@anneal/contracts/json.ts';
import type { Store } from './port.ts';

export interface Timer {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly dueAt: number;
  readonly data: Json;
}

export interface Timers {
  set(timers: readonly Timer[]): Promise<void>;
  cancel(ids: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

export interface TimerOptions {
  store: Store;
  /** The collection that holds them, e.g. `scheduling_timers`. */
  collection: string;
  now: () => number;
  fire: (timer: Timer) => Promise<void>;
  onError: (error: unknown, timer: Timer) => void;
  /** How long one firing may take before another replica fires it too. Default 30 s. */
  leaseMs?: number;
  /** The longest that a timer set by another replica can be overlooked. Default 1 s. */
  pollMs?: number;
}
