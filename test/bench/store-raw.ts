/** Bare SQLite with the documents of the bench in one table: the speed of the file and the driver alone. */
import { DatabaseSync } from 'node:sqlite';
import type { RawDocument, RawStore } from '@anneal/store/raw/mongodb.ts';

/**
 * One transaction for all writes of a tick, like in any program with many writers. Otherwise each write would pay for its own
 * commit, and the adapter would look better than it is.
 */
export function openRawSqlite(parameters: { file: string; synchronous: 'normal' | 'full' }): RawStore {
  const db = new DatabaseSync(parameters.file);
  db.exec(`PRAGMA journal_mode=WAL; PRAGMA synchronous=${parameters.synchronous}; PRAGMA cache_size=-32000;
    CREATE TABLE d (id TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL, owner TEXT NOT NULL, body TEXT NOT NULL);
    CREATE INDEX d_owner ON d (owner, id);`);
  const insert = db.prepare('INSERT INTO d (id, version, owner, body) VALUES (?, 1, ?, ?)');
  const get = db.prepare('SELECT version, body FROM d WHERE id = ?');
  const find = db.prepare('SELECT version, body FROM d WHERE owner = ? ORDER BY id');
  const replace = db.prepare('UPDATE d SET version = version + 1, body = ? WHERE id = ? AND version = ?');
  let tick: { run: () => void; resolve: () => void }[] = [];

  const flush = (): void => {
    const work = tick;
    tick = [];
    db.exec('BEGIN IMMEDIATE');
    for (const { run } of work) run();
    db.exec('COMMIT');
    for (const { resolve } of work) resolve();
  };
  const write = (run: () => void): Promise<void> =>
    new Promise((resolve) => {
      if (tick.push({ run, resolve }) === 1) setImmediate(flush);
    });
  const read = ({ body }: Record<string, unknown>): unknown => JSON.parse(String(body));
  const insertNow = (document: RawDocument): void =>
    void insert.run(document.id, document.owner, JSON.stringify(document));

  return {
    server: 'SQLite',
    insert: (document) => write(() => insertNow(document)),
    get(id) {
      const row = get.get(id);
      return Promise.resolve(row && read(row));
    },
    findByOwner: (owner) => Promise.resolve(find.all(owner).map(read)),
    async replace(document, version) {
      let changed = false;
      await write(() => (changed = replace.run(JSON.stringify(document), document.id, version).changes > 0));
      return changed;
    },
    insertMany: (documents) => write(() => documents.forEach(insertNow)),
    close: () => Promise.resolve(db.close()),
  };
}
