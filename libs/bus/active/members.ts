/**
 * The processes that share a broker and a store: which of them are alive, what each consumes, and of which queues each
 * wants to be the single active consumer. Each keeps one document (`presence.ts`). Clocks of machines are never
 * compared.
 *
 * M1 A process is alive while its document exists.
 * M2 A watching process removes a document that did not change for six seconds by the watcher's own clock, or for two
 *    seconds when no process of that name is connected to the broker. The removal names the version that was seen, so a
 *    process that has written since is not removed. Where the store answers slowly, to the writer or to the watcher,
 *    the six seconds grow (`waitFor`).
 * M3 Silence counts only while the watcher itself works. After a pause of this process, the store or the broker, it
 *    starts to count the silence of all others again. A store that is merely as slow as before is no pause.
 */
import type { WorkPermission } from '@anneal/store/permission.ts';
import type { Collection, Store } from '@anneal/store/port.ts';
import { RenewalPace } from './pace.ts';
import { Presence, waitFor, type MemberDocument } from './presence.ts';
import type { BusLog } from '../bus-log.ts';

const tickMs = 250;
const lookMs = 1_000;
const suspectMs = 2_000;
const pauseMs = 3_000;

interface Other {
  readonly document: MemberDocument;
  /** When this version of it was first seen. */
  readonly since: number;
  readonly wants: ReadonlySet<string>;
}

/** The place of the records, and the identity of this process among the members. */
export interface MembersOptions {
  readonly store: Store;
  /** The name of this process among the others. */
  readonly id: string;
  /** Whether this process has a connection to the broker. */
  readonly isConnected: () => boolean;
  /** Makes a round trip to the broker. Rejects when there is no answer. */
  readonly reachBroker: () => Promise<void>;
  /** True when the broker is certain that no process of this name is connected. */
  readonly isGone: (id: string) => Promise<boolean>;
  readonly log: BusLog;
}

/** The processes on one broker, and this process among them. */
export class BusMembers {
  readonly id: string;
  readonly store: Store;
  /** The permission of this process to take work (`presence.ts` P2). */
  readonly permission: WorkPermission;
  readonly #documents: Collection<MemberDocument>;
  readonly #presence: Presence;
  readonly #isConnected: MembersOptions['isConnected'];
  readonly #isGone: MembersOptions['isGone'];
  readonly #log: BusLog;
  readonly #others = new Map<string, Other>();
  readonly #probing = new Map<string, Promise<void>>();
  readonly #pace = new RenewalPace();
  readonly #timer: NodeJS.Timeout;
  /** Listeners of the ownership of queues, and of other work. */
  readonly #watchers = { change: new Set<() => void>(), permission: new Set<() => void>() };
  #looking: Promise<void> = Promise.resolve();
  #looks = 0;
  #lookedAt = performance.now();
  #closed = false;

  private constructor(documents: Collection<MemberDocument>, options: MembersOptions) {
    const { id, store, isConnected, reachBroker, isGone, log } = options;
    this.id = id;
    this.store = store;
    this.#documents = documents;
    const presence = new Presence({
      id,
      documents,
      reachBroker,
      onChange: () => this.#changed({ forWork: true }),
      log,
    });
    this.#presence = presence;
    this.permission = {
      get isHeld() {
        return presence.mayWork;
      },
      holder: id,
      isAlive: (other) => other === id || this.#others.has(other),
      watch: (listener) => watching(this.#watchers.permission, listener),
    };
    this.#isConnected = isConnected;
    this.#isGone = isGone;
    this.#log = log;
    this.#timer = setInterval(() => this.#tick(), tickMs);
    this.#timer.unref();
  }

  static async open(options: MembersOptions): Promise<BusMembers> {
    const documents = await options.store.collection<MemberDocument>({ name: 'bus_members', indexes: [] });
    const members = new BusMembers(documents, options);
    try {
      await members.#presence.begin();
      await members.look();
      // Processes that were killed before this one started again.
      await Promise.all([...members.#others.keys()].map((id) => members.#probe(id)));
    } catch (error) {
      clearInterval(members.#timer);
      throw error;
    }
    return members;
  }

  /** Calls the listener when processes come or go, want other queues, or this one may work or not. */
  listen(listener: () => void): void {
    this.#watchers.change.add(listener);
  }

  /** @throws AnnealError Unavailable with the reason while this process may not work */
  check(): void {
    this.#presence.check();
  }

  /** All processes that are alive, this one included, with the queues that each wants. */
  get wants(): ReadonlyMap<string, ReadonlySet<string>> {
    const wants = new Map<string, ReadonlySet<string>>([[this.id, this.#presence.wants]]);
    for (const [id, other] of this.#others) wants.set(id, other.wants);
    return wants;
  }

  /** The number of consumers that take from a queue now, in all processes. */
  consumersOf(queue: string): number {
    let sum = this.#presence.consumers.get(queue) ?? 0;
    for (const { document } of this.#others.values()) {
      for (const consumer of document.consumers) if (consumer.queue === queue) sum += consumer.count;
    }
    return sum;
  }

  joined(queue: string): Promise<void> {
    const { consumers } = this.#presence;
    consumers.set(queue, (consumers.get(queue) ?? 0) + 1);
    return this.#presence.announced();
  }

  left(queue: string): Promise<void> {
    const { consumers } = this.#presence;
    const count = (consumers.get(queue) ?? 1) - 1;
    if (count > 0) consumers.set(queue, count);
    else consumers.delete(queue);
    return this.#presence.announced();
  }

  want(queue: string): Promise<void> {
    this.#presence.wants.add(queue);
    return this.#presence.announced();
  }

  unwant(queue: string): Promise<void> {
    this.#presence.wants.delete(queue);
    return this.#presence.announced();
  }

  /**
   * True when no other process takes from the queue. Asks the broker whether the processes on record are still alive.
   */
  async isAlone(queue: string): Promise<boolean> {
    if (this.#presence.consumers.get(queue) !== 1) return false;
    const takes = (): string[] =>
      [...this.#others].flatMap(([id, { document }]) =>
        document.consumers.some((consumer) => consumer.queue === queue) ? [id] : [],
      );
    try {
      await this.look();
    } catch {
      return false;
    }
    await Promise.all(takes().map((id) => this.#probe(id)));
    return takes().length === 0;
  }

  /** Reads all documents. @throws what the store throws. */
  look(): Promise<void> {
    this.#looks += 1;
    const turn = this.#looking.then(() => this.#look()).finally(() => (this.#looks -= 1));
    this.#looking = turn.catch(() => undefined);
    return turn;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#presence.close();
  }

  #tick(): void {
    this.#presence.tick();
    if (performance.now() - this.#lookedAt < lookMs || this.#looks > 0) return;
    this.look().catch((error: unknown) => this.#failed(error));
  }

  async #look(): Promise<void> {
    if (this.#closed) return;
    const from = performance.now();
    const documents = await this.#documents.find({ where: { id: { gt: '' } }, orderBy: ['id'] });
    const now = performance.now();
    const paused = now - this.#lookedAt > pauseMs + 3 * this.#pace.ms || !this.#isConnected();
    this.#pace.took(now - from);
    this.#lookedAt = now;
    const gone = new Set(this.#others.keys());
    let changed = false;
    for (const document of documents) {
      const { id, version } = document;
      if (id === this.id) continue;
      gone.delete(id);
      const known = this.#others.get(id);
      if (known?.document.version === version && !paused) {
        // Silent at least until this look began.
        const latencyMs = Math.max(document.latencyMs ?? 0, this.#pace.ms);
        if (from - known.since > waitFor(latencyMs)) void this.#bury(known.document);
        else if (from - known.since > suspectMs) void this.#probe(id);
        continue;
      }
      if (known?.document.wants.join(' ') !== document.wants.join(' ')) changed = true;
      this.#others.set(id, { document, since: now, wants: new Set(document.wants) });
    }
    for (const id of gone) this.#others.delete(id);
    if (changed || gone.size > 0) this.#changed({ forWork: gone.size > 0 });
  }

  #probe(id: string): Promise<void> {
    const under = this.#probing.get(id);
    if (under) return under;
    const probe = (async (): Promise<void> => {
      const { document } = this.#others.get(id) ?? {};
      if (document && (await this.#isGone(id).catch(() => false))) await this.#bury(document);
    })().finally(() => this.#probing.delete(id));
    this.#probing.set(id, probe);
    return probe;
  }

  async #bury({ id, version }: MemberDocument): Promise<void> {
    try {
      if (!(await this.#documents.remove(id, version))) return;
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#log.info({ member: id }, 'process left the bus; other processes take over its queues');
    this.#others.delete(id);
    this.#changed({ forWork: true });
  }

  #changed({ forWork }: { forWork: boolean }): void {
    for (const listener of this.#watchers.change) listener();
    if (forWork) for (const listener of this.#watchers.permission) listener();
  }

  #failed(error: unknown): void {
    this.#log.debug({ err: error }, 'processes on the bus not read; retrying');
  }
}

function watching(listeners: Set<() => void>, listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
