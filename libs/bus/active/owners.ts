/**
 * Decides which process is the single active consumer of a queue, among those that share a broker and a store. One
 * record per queue names the owner. Records change by compare-and-set only and are never removed, so no version occurs
 * twice.
 *
 * O1 A process claims a record that names no owner, or an owner whose document no longer exists (read after the
 *    record).
 * O2 An owner with more than its share yields a queue: it takes no new message, finishes those in progress or gives
 *    them back within a second, and then frees the record. The next owner looks ten times a second until every queue
 *    has its owner.
 * O3 An owner that finds another name in the record stops at once. So does an owner that may not work (`presence.ts` P2),
 *    before others replace it. A slow owner continues. For a moment two processes may take from one queue. That does no
 *    harm, because handlers tolerate duplicates and a fence protects what must not be written twice.
 * O4 A record may name this process without its knowledge, because an answer was lost or the process had stopped. The
 *    process takes the queue up again if it wants it, and frees the record if not.
 *
 * Why not use the broker's own features? RabbitMQ gives all queues to the consumer that came first, and JetStream's
 * pinned clients do not know each other's load. Both would need this protocol to be even, and then nothing of their
 * own.
 */
import { writeOver } from '@anneal/store/change.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { BusMembers } from './members.ts';
import { atMost } from './presence.ts';
import { assignmentOf } from './shares.ts';
import type { BusLog } from '../bus-log.ts';

const restMs = 500;
const unsettledMs = 100;
const patienceMs = 1_000;

interface OwnerDocument {
  readonly id: string;
  readonly version: number;
  /** Empty when the queue has no owner. */
  readonly owner: string;
}

/** The consumer that takes from the queue while this process owns it. */
export interface Contender {
  gain(): void;
  /** Resolves when no message is in progress; at once with `lost`. */
  yield(parameters: { lost: boolean }): Promise<void>;
}

/** The right to take from queues that have one active consumer. Another process may own a queue for a moment too. */
export interface Ownership {
  /** Resolves when the other processes can see that this one wants the queue; `gain` reports that it owns it. */
  campaign(queue: string, contender: Contender): Promise<void>;
  /** To be called when no message is in progress. */
  withdraw(queue: string): Promise<void>;
  close(): Promise<void>;
}

/** Ownership for a single process, which owns everything. */
export const soleOwner: Ownership = {
  campaign: (_queue, contender) => {
    contender.gain();
    return Promise.resolve();
  },
  withdraw: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/**
 * The owners of queues with a single active consumer, recorded in the store. A lost race is repeated by the next
 * round.
 */
export class Owners implements Ownership {
  readonly #records: Collection<OwnerDocument>;
  readonly #members: BusMembers;
  readonly #log: BusLog;
  readonly #contenders = new Map<string, Contender>();
  /** The queues that this process owns, each with the version of its record. */
  readonly #held = new Map<string, number>();
  readonly #yielding = new Map<string, Promise<void>>();
  /** Queues whose record could not be freed yet. */
  readonly #pendingReleases = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #again = false;
  #closed = false;

  private constructor(records: Collection<OwnerDocument>, members: BusMembers, log: BusLog) {
    this.#records = records;
    this.#members = members;
    this.#log = log;
    members.listen(() => {
      if (members.permission.isHeld) this.#kick();
      else this.#loseAll();
    });
  }

  static async open({ members, log }: { members: BusMembers; log: BusLog }): Promise<Owners> {
    const records = await members.store.collection<OwnerDocument>({ name: 'bus_owners', indexes: [] });
    return new Owners(records, members, log);
  }

  async campaign(queue: string, contender: Contender): Promise<void> {
    this.#contenders.set(queue, contender);
    await this.#members.want(queue);
    this.#kick();
  }

  async withdraw(queue: string): Promise<void> {
    this.#contenders.delete(queue);
    await Promise.all([this.#members.unwant(queue), this.#yielding.get(queue)]);
    await atMost(patienceMs, this.#free(queue));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await atMost(patienceMs, this.#round ?? Promise.resolve());
  }

  /** Starts a round now; later rounds follow as often as needed. */
  #kick(): void {
    if (this.#closed) return;
    if (this.#round) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#again = false;
    this.#round = this.#lookAndWait();
  }

  async #lookAndWait(): Promise<void> {
    let settled = false;
    try {
      settled = await this.#look();
    } catch (error) {
      this.#log.debug({ err: error }, 'queue owners not read or written; retrying');
    }
    this.#round = undefined;
    if (this.#closed || this.#contenders.size + this.#pendingReleases.size === 0) return;
    const waitMs = this.#again ? 0 : settled && this.#yielding.size === 0 ? restMs : unsettledMs;
    this.#timer = setTimeout(() => this.#kick(), waitMs);
    this.#timer.unref();
  }

  /** True when every process has its share. */
  async #look(): Promise<boolean> {
    if (!this.#members.permission.isHeld) return true;
    const { id } = this.#members;
    const queues = [...new Set([...this.#contenders.keys(), ...this.#pendingReleases])];
    const records = new Map((await this.#records.getMany(queues)).map((record) => [record.id, record]));
    // O1: read after the records, so that a living owner that a record names is seen to be alive.
    await this.#members.look();
    const members = this.#members.wants;
    const owners = new Map<string, string>();
    const changes: Promise<void>[] = [];
    for (const queue of queues) {
      const record = records.get(queue);
      const mine = record?.owner === id;
      if (!mine) this.#lose(queue);
      if (this.#held.has(queue)) owners.set(queue, id);
      else if (mine && !this.#yielding.has(queue)) {
        owners.set(queue, id);
        changes.push(this.#claim(queue, record));
      } else if (record && record.owner !== '' && members.has(record.owner)) owners.set(queue, record.owner);
    }
    const assignment = assignmentOf({ me: id, members, owners });
    // A living owner that no longer wants the queue is about to free it.
    const free = assignment.claim.filter((queue) => !owners.has(queue));
    for (const queue of free) changes.push(this.#claim(queue, records.get(queue)));
    for (const queue of assignment.yield) void this.#give(queue);
    await Promise.all(changes);
    return assignment.settled;
  }

  async #claim(queue: string, record: OwnerDocument | undefined): Promise<void> {
    if (this.#held.has(queue) || this.#yielding.has(queue)) return;
    const owner = this.#contenders.has(queue) ? this.#members.id : '';
    const claimed = await writeOver(this.#records, { id: queue, owner }, record);
    // Another process was first.
    if (!claimed) return;
    this.#pendingReleases.delete(queue);
    if (owner === '') return;
    this.#held.set(queue, claimed.version);
    const contender = this.#contenders.get(queue);
    if (!contender || !this.#members.permission.isHeld || this.#closed) await this.#free(queue);
    else contender.gain();
  }

  #give(queue: string): Promise<void> {
    let giving = this.#yielding.get(queue);
    if (!giving) {
      giving = (async (): Promise<void> => {
        await this.#contenders.get(queue)?.yield({ lost: false });
        await this.#free(queue);
      })().finally(() => {
        this.#yielding.delete(queue);
        this.#kick();
      });
      this.#yielding.set(queue, giving);
    }
    return giving;
  }

  async #free(queue: string): Promise<void> {
    const version = this.#held.get(queue);
    if (version === undefined) return;
    this.#held.delete(queue);
    try {
      await this.#records.replace({ id: queue, owner: '' }, version);
    } catch (error) {
      this.#pendingReleases.add(queue);
      this.#log.debug({ err: error, queue }, 'queue not released; retrying');
      this.#kick();
    }
  }

  #lose(queue: string): void {
    if (!this.#held.delete(queue)) return;
    void this.#contenders.get(queue)?.yield({ lost: true });
  }

  #loseAll(): void {
    for (const queue of this.#held.keys()) this.#lose(queue);
  }
}
