/**
 * What this host was asked and how far it got. Written before the world is changed, so that nothing runs twice.
 *
 * J1 A request is journalled before its script starts, its result before it is told to anyone.
 * J2 What the journal holds as finished is answered from it, however often the request comes again.
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
  put(entry: Entry): void;
  /** Those that are not answered, the oldest first. */
  open(): Entry[];
  /** Forgets the answered ones but for the newest, and gives the ids of those forgotten. */
  trim(keep: number): string[];
  close(): void;
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
  const unanswered = database.prepare(`SELECT entry FROM requests WHERE state <> 'answered' ORDER BY ordinal`);
  const old = database.prepare(`
    SELECT id FROM requests WHERE state = 'answered' ORDER BY ordinal DESC LIMIT -1 OFFSET ?`);
  const forget = database.prepare('DELETE FROM requests WHERE id = ?');
  const read = (row: Record<string, unknown>): Entry => JSON.parse(String(row.entry)) as Entry;
  let open = true;
  return {
    get(id) {
      const row = select.get(id);
      return row && read(row);
    },
    put(entry) {
      upsert.run(entry.id, entry.state, JSON.stringify(entry));
    },
    open: () => unanswered.all().map(read),
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
