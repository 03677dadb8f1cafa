/**
 * The queues that the broker has recorded for good, by their names there. `declare.ts` says how that differs from
 * declared.
 */
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import type { BusLog } from '../bus-log.ts';

/** The marks of queues that the broker has recorded for good. */
export class Written {
  readonly #marks: Collection<Document>;
  readonly #log: BusLog;

  private constructor(marks: Collection<Document>, log: BusLog) {
    this.#marks = marks;
    this.#log = log;
  }

  static async open({ store, log }: { store: Store; log: BusLog }): Promise<Written> {
    return new Written(await store.collection<Document>({ name: 'bus_written', indexes: [] }), log);
  }

  /** While the store is away only time is lost: a queue that is not known to be recorded is recorded again. */
  async has(name: string): Promise<boolean> {
    return (await this.#try(() => this.#marks.get(name))) !== undefined;
  }

  async add(name: string): Promise<void> {
    await this.#try(() => this.#marks.bulk([{ kind: 'insert', document: { id: name } }]));
  }

  async remove(name: string): Promise<void> {
    await this.#try(() => this.#marks.remove(name));
  }

  async #try<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#log.warn(
        { err: error },
        'list of durable queues not read or stored; queues are checked at the broker instead',
      );
      return undefined;
    }
  }
}
