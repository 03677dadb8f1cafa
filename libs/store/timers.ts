/**
 * Durable timers on top of the store: set before a crash, fired after it.
 *
 * T1 A timer fires at least once, at or after its time. When the handler returns, the timer is removed; when it throws,
 *    the timer fires again later.
 * T2 Setting a timer with an existing id moves it. Cancelling a timer that is firing does not stop its handler.
 * T3 Any replica that has the permission to take work may fire any timer: it takes a lease in the document. The lease ends
 *    when its handler does, when the replica loses the permission or is given up by the others, and after its time.
 * T4 `setAtLatest` writes nothing for a timer that this process has set to an earlier time and that has not fired.
 */
import type { Json } from '@anneal/contracts/json.ts';
import { DueTimes } from './due-times.ts';
import type { WorkPermission } from './permission.ts';
import type { BulkOperation, Collection, Store } from './port.ts';

/** A durable timer. Setting one with the same id replaces it. */
export interface Timer {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly dueAt: number;
  readonly data: Json;
}

/** The timers of one service. Both writes are durable on return, and repeats are harmless. */
export interface Timers {
  set(timers: readonly Timer[]): Promise<void>;
  /**
   * Sets those that this process does not know to fire by their time. Only for timers whose handler looks again: it may
   * run earlier, and then sets the timer to the right time.
   */
  setAtLatest(timers: readonly Timer[]): Promise<void>;
  cancel(ids: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

/** The lease of a firing timer. A handler that takes long renews it, so that no other replica fires the timer too. */
export interface TimerLease {
  /** Begins the time of the lease again. False when the timer was set or cancelled meanwhile, or another replica has it. */
  renew(): Promise<boolean>;
}

/** Where the timers are, and what to do when one is due. */
export interface TimerOptions {
  store: Store;
  /** The collection that holds them, e.g. `scheduling_timers`. */
  collection: string;
  now: () => number;
  permission: WorkPermission;
  fire: (timer: Timer, lease: TimerLease) => Promise<void>;
  onError: (error: unknown, timer: Timer) => void;
  /** How long one firing may take before another replica fires it too. Default 30 s. */
  leaseMs?: number;
  /** How long a timer set by another replica may remain unnoticed. Default 1 s. */
  pollMs?: number;
}

interface TimerDocument {
  readonly id: string;
  readonly version: number;
  readonly dueAt: number;
  /** The earliest time to fire it: its due time, or the end of the lease of the replica that fires it. */
  readonly readyAt: number;
  readonly failures: number;
  /** The replica that fires it, or that was the last to do so. Absent before, and in documents of earlier releases. */
  readonly holder?: string;
  readonly data: Json;
}

const batch = 200;
const slowestRetryMs = 30_000;
/** A forgotten time costs one more write. */
const mostKnown = 50_000;

/** Opens the timers of a collection and begins to fire those that are due (T1 to T3). */
export async function createTimers(options: TimerOptions): Promise<Timers> {
  const collection = await options.store.collection<TimerDocument>({
    name: options.collection,
    indexes: [{ fields: ['readyAt'] }],
  });
  return new StoreTimers(collection, options);
}

/**
 * Only the store decides which timers are due. Memory holds only times at which to look, so a timer that is moved,
 * cancelled or fired elsewhere needs no bookkeeping here.
 */
class StoreTimers implements Timers {
  readonly #collection: Collection<TimerDocument>;
  readonly #options: TimerOptions;
  readonly #leaseMs: number;
  readonly #pollMs: number;
  readonly #near = new DueTimes();
  /** When timers that this process set come due. */
  readonly #known = new Map<string, number>();
  readonly #firing = new Map<string, Promise<void>>();
  /** Timers that became due again while they fire. */
  readonly #skipped = new Set<string>();
  #wake: NodeJS.Timeout | undefined;
  #wakeAt = Infinity;
  #looking: Promise<void> | undefined;
  #freeing: Promise<void> = Promise.resolve();
  readonly #unwatch: () => void;
  #stopped = false;

  constructor(collection: Collection<TimerDocument>, options: TimerOptions) {
    this.#collection = collection;
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? 30_000;
    this.#pollMs = options.pollMs ?? 1000;
    const look = (): void => {
      this.#look();
      this.#freeSoon();
    };
    this.#unwatch = options.permission.watch(look);
    // Timers that came due while no replica ran are fired now, also those that a crash interrupted.
    look();
  }

  async set(timers: readonly Timer[]): Promise<void> {
    await this.#put(timers.map(({ id, dueAt, data }) => ({ id, dueAt, readyAt: dueAt, failures: 0, data })));
    const horizon = this.#options.now() + this.#pollMs;
    for (const { id, dueAt } of timers) {
      if (dueAt <= horizon) this.#near.push(dueAt);
      this.#know(id, dueAt);
    }
    this.#arm();
  }

  async setAtLatest(timers: readonly Timer[]): Promise<void> {
    const now = this.#options.now();
    const later = timers.filter(({ id, dueAt }) => {
      const known = this.#known.get(id);
      return known === undefined || known <= now || known > dueAt;
    });
    if (later.length > 0) await this.set(later);
  }

  #know(id: string, dueAt: number): void {
    this.#known.delete(id);
    this.#known.set(id, dueAt);
    if (this.#known.size <= mostKnown) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  async cancel(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#known.delete(id);
    await this.#collection.bulk(ids.map((id) => ({ kind: 'remove', id })));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unwatch();
    clearTimeout(this.#wake);
    await Promise.all([this.#looking, this.#freeing]);
    await Promise.allSettled(this.#firing.values());
  }

  async #put(documents: readonly Omit<TimerDocument, 'version'>[]): Promise<void> {
    await this.#collection.bulk(documents.map((document): BulkOperation<TimerDocument> => ({ kind: 'put', document })));
  }

  get #isResting(): boolean {
    return this.#stopped || !this.#options.permission.isHeld;
  }

  /** One timeout, for the nearest time known or the next poll, whichever comes first. */
  #arm(): void {
    if (this.#isResting || this.#looking) return;
    const now = this.#options.now();
    const at = Math.min(this.#near.next ?? Infinity, now + this.#pollMs);
    if (this.#wake && at >= this.#wakeAt && this.#wakeAt > now) return;
    clearTimeout(this.#wake);
    this.#wakeAt = at;
    this.#wake = setTimeout(() => this.#look(), Math.max(0, at - now));
    this.#wake.unref();
  }

  #look(): void {
    if (this.#looking || this.#isResting) return;
    clearTimeout(this.#wake);
    this.#wake = undefined;
    // A failed read of the store concerns no single timer; the next look is the retry.
    this.#looking = this.#fireDue()
      .catch((error: unknown) => this.#options.onError(error, { id: '', dueAt: 0, data: null }))
      .finally(() => {
        this.#looking = undefined;
        this.#arm();
      });
  }

  async #fireDue(): Promise<void> {
    while (!this.#isResting) {
      const now = this.#options.now();
      this.#near.dropUpTo(now);
      const found = await this.#collection.find({
        where: { readyAt: { lte: now + this.#pollMs } },
        orderBy: ['readyAt'],
        limit: batch + this.#firing.size,
      });
      // A handler may outlive its lease in this process; a second run beside it would not help.
      const due = found.filter((timer) => timer.readyAt <= now && !this.#firing.has(timer.id));
      for (const { id, readyAt } of found) {
        if (readyAt > now) this.#near.push(readyAt);
        else if (this.#firing.has(id)) this.#skipped.add(id);
      }
      // The read may have taken long, and the permission may be lost since.
      if (due.length === 0 || this.#isResting) return;
      await this.#claim(due, now);
    }
  }

  /** T3: of all replicas that see a due timer, the one that writes its lease fires it. */
  async #claim(due: readonly TimerDocument[], now: number): Promise<void> {
    const { holder } = this.#options.permission;
    const leased = due.map((timer) => ({ ...timer, readyAt: now + this.#leaseMs, holder }));
    const outcomes = await this.#collection.bulk(
      leased.map((document) => ({ kind: 'replace', document, version: document.version })),
    );
    // A stop fires what it has claimed, and waits for it.
    const isOver = !this.#stopped && !this.#options.permission.isHeld;
    leased.forEach((timer, index) => {
      this.#known.delete(timer.id);
      if (outcomes[index] !== 'done' || isOver) return;
      const firing = this.#fire({ ...timer, version: timer.version + 1 }).finally(() => {
        this.#firing.delete(timer.id);
        if (!this.#skipped.delete(timer.id)) return;
        this.#near.push(this.#options.now());
        this.#arm();
      });
      this.#firing.set(timer.id, firing);
    });
    // The leases of a replica that may not work any more end at once.
    if (isOver) this.#freeSoon();
  }

  async #fire(claimed: TimerDocument): Promise<void> {
    let held = claimed;
    const timer: Timer = { id: held.id, dueAt: held.dueAt, data: held.data };
    const renew = async (): Promise<boolean> => {
      const readyAt = this.#options.now() + this.#leaseMs;
      const renewed = await this.#collection.replace({ ...held, readyAt }, held.version);
      held = renewed ?? held;
      return renewed !== undefined;
    };
    try {
      await this.#options.fire(timer, { renew });
      // T2: removes only the version that was fired; a timer that was set again meanwhile stays. The timers of silence
      // are set again by their handlers, once for each host, so this process does not try to remove what it has set.
      if (!this.#known.has(held.id)) await this.#collection.remove(held.id, held.version);
    } catch (error) {
      this.#options.onError(error, timer);
      await this.#again(held, timer);
    }
  }

  #freeSoon(): void {
    this.#freeing = this.#freeing
      .then(() => this.#freeLeases())
      .catch((error: unknown) => this.#options.onError(error, { id: '', dueAt: 0, data: null }));
  }

  /**
   * T3: ends the leases of replicas that do not live, and those of this one while it may not work. The others end
   * those of a replica that is cut off from the store.
   */
  async #freeLeases(): Promise<void> {
    if (this.#stopped) return;
    const { permission, now } = this.#options;
    const isOver = (holder: string): boolean =>
      holder === permission.holder ? !permission.isHeld : !permission.isAlive(holder);
    const readyAt = now();
    const found = await this.#collection.find({
      where: { readyAt: { gt: readyAt, lte: readyAt + this.#leaseMs } },
      orderBy: ['readyAt'],
    });
    const over = found.filter(({ holder }) => holder !== undefined && isOver(holder));
    if (over.length === 0) return;
    await this.#collection.bulk(
      over.map((timer) => ({ kind: 'replace', document: freed(timer, { readyAt }), version: timer.version })),
    );
    this.#near.push(readyAt);
    this.#arm();
  }

  async #again(held: TimerDocument, timer: Timer): Promise<void> {
    const failures = held.failures + 1;
    const readyAt = this.#options.now() + Math.min(slowestRetryMs, 500 * 2 ** Math.min(failures, 10));
    try {
      await this.#collection.replace(freed(held, { failures, readyAt }), held.version);
      this.#near.push(readyAt);
      this.#arm();
    } catch (error) {
      // The lease expires and the timer fires again: only time is lost.
      this.#options.onError(error, timer);
    }
  }
}

/** The timer without its lease. */
function freed(held: TimerDocument, change: Partial<TimerDocument>): TimerDocument {
  const { holder: _, ...timer } = held;
  return { ...timer, ...change };
}
