/**
 * What this host was asked and how far it got. Written before the world is changed, so that nothing runs twice.
 *
 * J1 A request is journalled before its script starts, its result before it is told to anyone.
 * J2 What the journal holds as finished is answered from it, however often the request comes again.
 * J3 A full disk stops neither of them: the journal has space of its own, and a result that it cannot take stays in memory
 *    until it can. A request that it cannot take is not started.
 *
 * States: `accepted` (known, not begun), `started` (attempt n may be running), `finished` (the result is here),
 * `answered` (the result was taken by the other side).
 */
import { chmodSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { HostRequest, HostResponse } from '@anneal/contracts/configuration.ts';

export type JournalState = 'accepted' | 'started' | 'finished' | 'answered';

export interface Entry {
  readonly id: string;
  readonly state: JournalState;
  readonly request: HostRequest;
  /** The message of the queue that brought it, and the claim under which it is held. */
  readonly message_id: string;
  readonly claim_id: string | null;
  /** Starts so far. */
  readonly attempts: number;
  readonly started_at: string | null;
  readonly result: HostResponse | null;
}

export interface Journal {
  get(id: string): Entry | undefined;
  /** @throws when a request cannot be written before it starts (J3). */
  put(entry: Entry): void;
  /** Those that are not answered, the oldest first. */
  open(): Entry[];
  /** Forgets the answered ones but for the newest, and gives the ids of those forgotten. */
  trim(keep: number): string[];
  close(): void;
}

/** Room for some requests and results, in the database and in its log, taken while the disk has it. */
const reserveBytes = 4 * 1024 * 1024;

/** Free pages of the database, and a log that was this long once, are used again before the files grow. */
function reserveSpace(database: DatabaseSync): void {
  const count = (pragma: string): number => Number(Object.values(database.prepare(pragma).get() ?? {})[0]);
  if (count('PRAGMA freelist_count') * count('PRAGMA page_size') >= reserveBytes / 2) return;
  try {
    database.exec(`
      BEGIN;
      CREATE TABLE reserve (bytes BLOB);
      INSERT INTO reserve VALUES (randomblob(${reserveBytes}));
      DROP TABLE reserve;
      COMMIT;
      PRAGMA wal_checkpoint(PASSIVE);
    `);
  } catch {
    // The disk is full already. It is tried again at the next start.
    if (database.isTransaction) database.exec('ROLLBACK');
  }
}

export function openJournal(file: string): Journal {
  const database = new DatabaseSync(file);
  // Configs may hold secrets: the journal is the host's own business.
  chmodSync(file, 0o600);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS requests (
      id TEXT PRIMARY KEY,
      ordinal INTEGER NOT NULL,
      state TEXT NOT NULL,
      entry TEXT NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS requests_by_state ON requests (state, ordinal);
  `);
  for (const suffix of ['-wal', '-shm']) {
    try {
      chmodSync(file + suffix, 0o600);
    } catch {
      // Not there yet: it takes the mode of the database.
    }
  }
  const select = database.prepare('SELECT entry FROM requests WHERE id = ?');
  const upsert = database.prepare(`
    INSERT INTO requests (id, ordinal, state, entry)
    VALUES (?, (SELECT coalesce(max(ordinal), 0) + 1 FROM requests), ?, ?)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, entry = excluded.entry`);
  const unanswered = database.prepare(`SELECT id, entry FROM requests WHERE state <> 'answered' ORDER BY ordinal`);
  const old = database.prepare(`
    SELECT id FROM requests WHERE state = 'answered' ORDER BY ordinal DESC LIMIT -1 OFFSET ?`);
  const forget = database.prepare('DELETE FROM requests WHERE id = ?');
  const read = (row: Record<string, unknown>): Entry => JSON.parse(String(row.entry)) as Entry;
  reserveSpace(database);
  /** J3: what could not be written yet. */
  const inMemory = new Map<string, Entry>();
  const write = (entry: Entry): void => {
    upsert.run(entry.id, entry.state, JSON.stringify(entry));
    inMemory.delete(entry.id);
  };
  let open = true;
  return {
    get(id) {
      const kept = inMemory.get(id);
      if (kept) return kept;
      const row = select.get(id);
      return row && read(row);
    },
    put(entry) {
      try {
        write(entry);
      } catch (error) {
        if (entry.state === 'accepted' || entry.state === 'started') throw error;
        inMemory.set(entry.id, entry);
        return;
      }
      try {
        for (const kept of inMemory.values()) write(kept);
      } catch {
        // The next one tries again.
      }
    },
    open: () =>
      unanswered
        .all()
        .map((row) => inMemory.get(String(row.id)) ?? read(row))
        .filter(({ state }) => state !== 'answered'),
    trim(keep) {
      const ids = old.all(keep).map((row) => String(row.id));
      for (const id of ids) forget.run(id);
      return ids;
    },
    close() {
      if (open) database.close();
      open = false;
    },
  };
}
