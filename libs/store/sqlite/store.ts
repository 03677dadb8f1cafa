/**
 * The store on SQLite: one file, any number of processes. A commit survives the death of the process; with
 * `?synchronous=full` it also survives the loss of power, at the price of one disk flush per commit.
 */
import { contentHash } from '../content-hash.ts';
import { checkDefinition } from '../definition.ts';
import type { Blobs, Collection, CollectionDefinition, Document, IndexDefinition, Store } from '../port.ts';
import { SqliteCollection } from './collection.ts';
import { SqliteConnection } from './connection.ts';
import { makeTable } from './table.ts';
import { readSqliteUrl } from './url.ts';

/**
 * Opens or creates the file that the URL names.
 * @throws AnnealError InvalidRequest for a URL with unknown options; the error of SQLite when the file cannot be
 *   opened
 */
export async function openSqliteStore(url: string): Promise<Store> {
  const connection = new SqliteConnection(readSqliteUrl(url));
  await connection.write(() => {
    connection.exec('CREATE TABLE IF NOT EXISTS blobs (hash TEXT PRIMARY KEY NOT NULL, content BLOB NOT NULL)');
    const columns = connection.prepare(`SELECT name FROM pragma_table_info('blobs')`).all();
    if (!columns.some((column) => column['name'] === 'put_at')) {
      connection.exec('ALTER TABLE blobs ADD COLUMN put_at INTEGER NOT NULL DEFAULT 0');
    }
    connection.exec('CREATE TABLE IF NOT EXISTS checks (id INTEGER PRIMARY KEY, at TEXT NOT NULL)');
  });
  /** By collection: a second caller with other indexes must not drop those of the first. */
  const known = new Map<string, Map<string, IndexDefinition>>();

  return {
    async collection<T extends Document>(definition: CollectionDefinition): Promise<Collection<T>> {
      checkDefinition(definition);
      const indexes = new Map(known.get(definition.name));
      for (const index of definition.indexes) indexes.set(JSON.stringify(index), index);
      // Indexes that the documents contradict are not kept, so that the collection can be opened without them.
      await connection.write(() => {
        makeTable(connection, { ...definition, indexes: [...indexes.values()] });
        known.set(definition.name, indexes);
      });
      return new SqliteCollection<T>(connection, definition);
    },
    blobs: blobsOn(connection),
    check: () =>
      connection.write(() => {
        connection
          .prepare(`INSERT INTO checks (id, at) VALUES (1, datetime()) ON CONFLICT (id) DO UPDATE SET at = excluded.at`)
          .run();
      }),
    close: () => connection.close(),
  };
}

/** A repeated put shows that the blob is needed. The time has minute precision, so that it is seldom written. */
const putSql = `INSERT INTO blobs (hash, content, put_at) VALUES (?, ?, ?) ON CONFLICT (hash)
  DO UPDATE SET put_at = excluded.put_at WHERE excluded.put_at > put_at + 60000`;

function blobsOn(connection: SqliteConnection): Blobs {
  const get = (hash: string): Promise<Uint8Array | undefined> =>
    connection.read(() => {
      const row = connection.prepare('SELECT content FROM blobs WHERE hash = ?').get(hash);
      return row?.['content'] as Uint8Array | undefined;
    });
  return {
    async put(content) {
      const bytes = typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content);
      const hash = await contentHash(bytes);
      await connection.write(() => {
        connection.prepare(putSql).run(hash, bytes, Date.now());
      });
      return hash;
    },
    get,
    async getText(hash) {
      const bytes = await get(hash);
      return bytes && new TextDecoder().decode(bytes);
    },
    async remove(hashes, putBefore) {
      let removed = 0;
      // One by one, because freeing many pages at once would delay all other work.
      for (const hash of hashes) {
        const { changes } = await connection.write(() =>
          connection.prepare('DELETE FROM blobs WHERE hash = ? AND put_at < ?').run(hash, putBefore),
        );
        removed += Number(changes);
      }
      return removed;
    },
  };
}
