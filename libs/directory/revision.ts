/**
 * The revision of the directory and of the tokens: a number in the store that grows with every change of them.
 *
 * V1 A writer raises it after its write and before its answer. So a request that begins after the answer reads another
 *    revision than all requests that read the directory before the write, at every gateway.
 * V2 A writer that dies between the two does not raise it, and has not answered either. Readers therefore trust what they
 *    remember for a short time only.
 */
import type { Collection, Document, Store } from '@anneal/store/port.ts';

const id = 'directory';

export class DirectoryRevision {
  readonly #collection: Collection<Document>;

  private constructor(collection: Collection<Document>) {
    this.#collection = collection;
  }

  static async open(store: Store): Promise<DirectoryRevision> {
    return new DirectoryRevision(await store.collection<Document>({ name: 'gateway_directory_revision', indexes: [] }));
  }

  /** The present revision: 0 before the first change. */
  async read(): Promise<number> {
    return (await this.#collection.get(id))?.version ?? 0;
  }

  /** Raises it. Concurrent writers all succeed, because the store counts the versions of the document. */
  async raise(): Promise<void> {
    await this.#collection.bulk([{ kind: 'put', document: { id } }]);
  }

  /** Runs a write, and raises the revision. Also after a failure, because the store may have made the change. */
  async raiseAfter<R>(write: () => Promise<R>): Promise<R> {
    try {
      return await write();
    } finally {
      await this.raise();
    }
  }
}
