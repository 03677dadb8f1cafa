/**
 * The document that shows the other processes that this one is alive.
 *
 * P1 The process renews the document every second, in one round trip, or as soon as the last renewal is answered. The
 *    next renewal restores a document that the others removed.
 * P2 A slow process keeps its queues: the others wait as long as its own document asks (`waitFor`). It declares itself
 *    `lost` only after twice that time without a renewal, and then owns nothing. An owner that was replaced sooner sees
 *    that in the records of its queues (`owners.ts`).
 * P3 Nothing is written while the broker cannot be reached, because a process that cannot take from a queue must not
 *    keep it from others.
 */
import type { Collection } from '@anneal/store/port.ts';
import { RenewalPace } from './pace.ts';
import type { BusLog } from '../bus-log.ts';

const beatMs = 1_000;
/** A process whose store answers at once is not replaced before this time. */
const deadMs = 6_000;
/** A renewal may miss a few beats of a slow store. */
const missedAnswers = 3;
const slowMs = 1_000;
/** The longest wait of a process that starts or stops for an announcement. A later renewal repeats what failed. */
const patienceMs = 1_000;

/** The sign of life of one process and its wishes, written by that process only. */
export interface MemberDocument {
  readonly id: string;
  readonly version: number;
  /** The consumers that take now, by queue. */
  readonly consumers: readonly { readonly queue: string; readonly count: number }[];
  /** Queues of which this process wants to be the single active consumer. */
  readonly wants: readonly string[];
  /** How long the store takes to answer a renewal. Absent in documents of older releases. */
  readonly latencyMs?: number;
}

/** How long the others wait for a renewal before they replace a process whose store takes `latencyMs` to answer. */
export const waitFor = (latencyMs: number): number => deadMs + missedAnswers * latencyMs;

/** Renews the document of this process (P1 to P3). */
export class Presence {
  readonly consumers = new Map<string, number>();
  readonly wants = new Set<string>();
  readonly #id: string;
  readonly #documents: Collection<MemberDocument>;
  readonly #isConnected: () => boolean;
  readonly #log: BusLog;
  readonly #pace = new RenewalPace();
  #onLost: () => void = () => undefined;
  #onFound: () => void = () => undefined;
  /** When the last renewal that succeeded began. */
  #writtenAt = -Infinity;
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #lost = true;
  #slow = false;
  #closed = false;

  constructor(parameters: {
    id: string;
    documents: Collection<MemberDocument>;
    isConnected: () => boolean;
    log: BusLog;
  }) {
    this.#id = parameters.id;
    this.#documents = parameters.documents;
    this.#isConnected = parameters.isConnected;
    this.#log = parameters.log;
  }

  listen(listeners: { onLost: () => void; onFound: () => void }): void {
    this.#onLost = listeners.onLost;
    this.#onFound = listeners.onFound;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** To be called about every half second. */
  tick(): void {
    const silentMs = performance.now() - this.#writtenAt;
    if (!this.#lost && silentMs > 2 * waitFor(this.#pace.ms)) this.#lose(silentMs);
    if (silentMs >= beatMs) void this.#renew();
  }

  /** Announces what changed. Never rejects: a later tick repeats what failed. */
  announced(): Promise<void> {
    return atMost(patienceMs, this.#renew());
  }

  /** Removes the document, so that the others know at once. Without that, they notice the silence. */
  async close(): Promise<void> {
    this.#closed = true;
    const gone = async (): Promise<void> => {
      await this.#writing;
      await this.#documents.remove(this.#id);
    };
    await atMost(patienceMs, gone());
  }

  /** One write for all changes that happen meanwhile. */
  #renew(): Promise<void> {
    if (this.#closed || !this.#isConnected()) return Promise.resolve();
    if (!this.#writing) {
      this.#writing = this.#write()
        .catch((error: unknown) => {
          this.#log.debug({ err: error }, 'membership not renewed; retrying');
        })
        .finally(() => {
          this.#writing = undefined;
        });
      return this.#writing;
    }
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined;
      return this.#renew();
    });
    return this.#next;
  }

  async #write(): Promise<void> {
    await new Promise((resolve) => void setImmediate(resolve));
    const from = performance.now();
    const document = {
      id: this.#id,
      consumers: [...this.consumers].map(([queue, count]) => ({ queue, count })),
      wants: [...this.wants],
      latencyMs: Math.round(this.#pace.ms),
    };
    await this.#documents.bulk([{ kind: 'put', document }]);
    this.#pace.took(performance.now() - from);
    this.#reportPace();
    this.#writtenAt = from;
    if (!this.#lost) return;
    this.#lost = false;
    this.#onFound();
  }

  #reportPace(): void {
    const slow = this.#pace.ms > slowMs;
    if (slow === this.#slow) return;
    this.#slow = slow;
    const facts = { latencyMs: Math.round(this.#pace.ms) };
    if (slow) this.#log.warn(facts, 'store is slow; processes on the bus wait longer before they replace each other');
    else this.#log.info(facts, 'store is fast again; processes on the bus wait the normal time');
  }

  #lose(silentMs: number): void {
    this.#lost = true;
    this.#log.warn(
      { silentMs: Math.round(silentMs) },
      'membership expired; releasing all queues, because other processes may have replaced this one',
    );
    this.#onLost();
  }
}

/** Waits for background work, at most `ms` milliseconds. */
export async function atMost(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => undefined), enough]);
  clearTimeout(timer);
}
