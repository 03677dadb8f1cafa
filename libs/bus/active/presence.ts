/**
 * The document that shows the other processes that this one is alive.
 *
 * P1 The process renews the document every second, in one round trip to the broker and one to the store, or as soon as
 *    the last renewal is answered. The next renewal restores a document that the others removed.
 * P2 A renewal proves that the process reaches both. Without one for `restAfter`, the process may not work: it takes
 *    nothing and gives back what it has, before the others stop waiting for it (`waitFor`). Its next renewal lets it work
 *    again. So one that is cut off from the store does not keep the messages that it still gets from the broker, and one
 *    that is cut off from the broker does not keep what it still finds in the store.
 * P3 Slow is not dead: both times grow with the time that a renewal takes. Of the first, only time in which this process
 *    itself ran counts, because one that the system has stopped for a while has missed no answer. The others do not know
 *    that, so after `waitFor` they may have replaced it.
 */
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { Collection } from '@anneal/store/port.ts';
import { RenewalPace } from './pace.ts';
import type { BusLog } from '../bus-log.ts';

const beatMs = 1_000;
/** Where broker and store answer at once, so that a service lacks the share of a replica for five seconds at most. */
const restMs = 4_500;
/** Between two ticks, the process did not run for longer than this. */
const longestTickMs = 1_000;
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
  /** How long broker and store take to answer a renewal. Absent in documents of older releases. */
  readonly latencyMs?: number;
}

/** How long the others wait for a renewal before they replace a process whose renewals take `latencyMs`. */
export const waitFor = (latencyMs: number): number => deadMs + missedAnswers * latencyMs;

/** How long a process works without a renewal; less than the others wait. */
const restAfter = (latencyMs: number): number => restMs + missedAnswers * latencyMs;

/** Renews the document of this process (P1 to P3). */
export class Presence {
  readonly consumers = new Map<string, number>();
  readonly wants = new Set<string>();
  readonly #id: string;
  readonly #documents: Collection<MemberDocument>;
  readonly #reachBroker: () => Promise<void>;
  readonly #log: BusLog;
  readonly #pace = new RenewalPace();
  readonly #onChange: () => void;
  /** When the last renewal that succeeded began, and how long this process has run since. */
  #provedAt = -Infinity;
  #unprovedMs = 0;
  #tickedAt = performance.now();
  #begunAt = -Infinity;
  /** Why the latest renewal failed. */
  #trouble: unknown;
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #mayWork = false;
  #slow = false;
  #closed = false;

  constructor(parameters: {
    id: string;
    documents: Collection<MemberDocument>;
    /** Makes a round trip to the broker. */
    reachBroker: () => Promise<void>;
    /** Called when `mayWork` changes. */
    onChange: () => void;
    log: BusLog;
  }) {
    this.#id = parameters.id;
    this.#documents = parameters.documents;
    this.#reachBroker = parameters.reachBroker;
    this.#onChange = parameters.onChange;
    this.#log = parameters.log;
  }

  /** P2 */
  get mayWork(): boolean {
    return this.#mayWork;
  }

  /** @throws AnnealError Unavailable with the reason while this process may not work */
  check(): void {
    if (this.#mayWork) return;
    const { message } = toFailure(this.#trouble ?? new Error('no answer yet'));
    throw new AnnealError(
      'Unavailable',
      `This process takes no work, because it could not renew its membership for ${seconds(performance.now() - this.#provedAt)}: ${message}`,
    );
  }

  /** Resolves after the first renewal. @throws what broker or store throw, after which it is repeated */
  begin(): Promise<void> {
    return this.#write();
  }

  /** To be called about every quarter of a second. */
  tick(): void {
    const now = performance.now();
    this.#unprovedMs += Math.min(now - this.#tickedAt, longestTickMs);
    this.#tickedAt = now;
    const isSilent = this.#unprovedMs > restAfter(this.#pace.ms) || now - this.#provedAt > waitFor(this.#pace.ms);
    if (this.#mayWork && isSilent) this.#rest();
    if (now - this.#begunAt >= beatMs) void this.#renew();
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
    if (this.#closed) return Promise.resolve();
    if (!this.#writing) {
      this.#writing = this.#write()
        .catch((error: unknown) => {
          this.#trouble = error;
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
    this.#begunAt = from;
    const unprovedMs = this.#unprovedMs;
    // Nothing is written while the broker is away: a process that takes from no queue must not keep one from others.
    this.#trouble = new Error('the broker does not answer');
    await this.#reachBroker();
    this.#trouble = new Error('the database does not answer');
    const document = {
      id: this.#id,
      consumers: [...this.consumers].map(([queue, count]) => ({ queue, count })),
      wants: [...this.wants],
      latencyMs: Math.round(this.#pace.ms),
    };
    await this.#documents.bulk([{ kind: 'put', document }]);
    this.#pace.took(performance.now() - from);
    this.#reportPace();
    this.#provedAt = from;
    this.#unprovedMs -= unprovedMs;
    if (this.#mayWork || this.#closed) return;
    this.#mayWork = true;
    this.#log.info({}, 'membership renewed; this process takes work');
    this.#onChange();
  }

  #reportPace(): void {
    const slow = this.#pace.ms > slowMs;
    if (slow === this.#slow) return;
    this.#slow = slow;
    const facts = { latencyMs: Math.round(this.#pace.ms) };
    if (slow)
      this.#log.warn(facts, 'broker or store is slow; processes on the bus wait longer before they replace each other');
    else this.#log.info(facts, 'broker and store are fast again; processes on the bus wait the normal time');
  }

  #rest(): void {
    this.#mayWork = false;
    this.#log.warn(
      { silentMs: Math.round(performance.now() - this.#provedAt), reason: toFailure(this.#trouble).message },
      'membership not renewed; giving back the work in progress and taking no more until it is',
    );
    this.#onChange();
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

/** Waits for background work, at most `ms` milliseconds. */
export async function atMost(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => undefined), enough]);
  clearTimeout(timer);
}
