/**
 * The list of queues. The protocol cannot list queues, and the management plugin may be absent, so every process
 * records the queues that it declares in the shared store.
 */
import { changeOrInsert } from '@anneal/store/change.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import type { QueueKind } from './names.ts';
import type { BusLog } from '../bus-log.ts';

/** A queue that this system has declared, because the broker does not list them over AMQP. */
export interface KnownQueue extends Document {
  readonly kind: QueueKind;
  /** For a group: the patterns that its queue is bound to. */
  readonly patterns: readonly string[];
  /** Lengths of the waits for which it has queues. */
  readonly levels: readonly number[];
}

const page = 1000;

/** The list of queues in the store. Every change is safe beside other processes. */
export class QueueRegistry {
  readonly #queues: Collection<KnownQueue>;
  readonly #log: BusLog;
  readonly #levels = new Map<string, Set<number>>();

  private constructor(queues: Collection<KnownQueue>, log: BusLog) {
    this.#queues = queues;
    this.#log = log;
  }

  static async open({ store, log }: { store: Store; log: BusLog }): Promise<QueueRegistry> {
    return new QueueRegistry(await store.collection<KnownQueue>({ name: 'bus_queues', indexes: [] }), log);
  }

  get(name: string): Promise<KnownQueue | undefined> {
    return this.#queues.get(name);
  }

  /** A store that is away must not delay messages: the next process that uses the queue records it. */
  async add(name: string): Promise<void> {
    try {
      await this.#queues.bulk([{ kind: 'insert', document: { id: name, kind: 'queue', patterns: [], levels: [] } }]);
    } catch (error) {
      this.#log.warn({ err: error, queue: name }, 'queue not registered; it may be missing in lists');
    }
  }

  /** Returns the earlier patterns that the group no longer has. */
  async addGroup(name: string, patterns: readonly string[]): Promise<string[]> {
    let stale: string[] = [];
    await this.#change(name, 'group', (known) => {
      stale = known.patterns.filter((pattern) => !patterns.includes(pattern));
      return stale.length === 0 && known.patterns.length === patterns.length ? known : { ...known, patterns };
    });
    return stale;
  }

  async addLevel(name: string, level: number, kind: QueueKind): Promise<void> {
    const known = this.#levels.get(name) ?? new Set();
    if (known.has(level)) return;
    await this.#change(name, kind, (queue) =>
      queue.levels.includes(level) ? queue : { ...queue, levels: [...queue.levels, level] },
    );
    this.#levels.set(name, known.add(level));
  }

  async remove(name: string): Promise<void> {
    this.#levels.delete(name);
    await this.#queues.remove(name);
  }

  async list(prefix: string): Promise<KnownQueue[]> {
    const all: KnownQueue[] = [];
    for (let last = ''; ;) {
      const some = await this.#queues.find({ where: { id: { gt: last } }, orderBy: ['id'], limit: page });
      all.push(...some);
      if (some.length < page) return all.filter(({ id }) => id.startsWith(prefix));
      last = some.at(-1)?.id ?? '';
    }
  }

  async #change(name: string, kind: QueueKind, change: (known: KnownQueue) => KnownQueue): Promise<void> {
    await changeOrInsert(this.#queues, name, (known) =>
      change(known ?? { id: name, version: 0, kind, patterns: [], levels: [] }),
    );
  }
}
