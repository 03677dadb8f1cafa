/**
 * The requests of this host and their progress. Written before a script changes the host, so that nothing runs twice.
 *
 * J1 A request is journalled before its script starts, and its result before it is sent.
 * J2 A finished request is answered from the journal, however often the request arrives again.
 * J3 A full disk stops neither of them: the journal has space of its own, and a result that it cannot write stays in
 *    memory until it can. A request that it cannot write is not started.
 *
 * States: `accepted` (known, not begun), `started` (attempt n may be running), `finished` (the result is here),
 * `answered` (the server accepted the result).
 */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { chmodSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { HostRequest, HostResponse } from '@anneal/contracts/calls/host-messages.ts';

export type JournalState = 'accepted' | 'started' | 'finished' | 'answered';

export interface JournalEntry {
  readonly id: string;
  readonly state: JournalState;
  readonly request: HostRequest;
  /** The queue message that carried the request, and the claim that holds it. */
  readonly message_id: string;
  readonly claim_id: string | null;
  /** Starts so far. */
  readonly attempts: number;
  readonly started_at: string | null;
  readonly result: HostResponse | null;
  /** The boot of the host in which the latest attempt began. Absent in entries of an earlier version. */
  readonly boot?: string;
  /** The reboots for this request that are over. */
  readonly reboots?: number;
  /** A reboot that is not over. Without a result, the program runs again after it. `is_own`: the config ordered it. */
  readonly reboot?: { readonly number: number; readonly at: string; readonly is_own?: boolean };
  /** True from the end of a reboot until the program runs again. */
  readonly again?: boolean;
  /** When it began again after a reboot: its limit of time counts from there. */
  readonly again_at?: string;
}

export interface Journal {
  get(id: string): JournalEntry | undefined;
  /** @throws when a request cannot be written before it starts (J3). */
  put(entry: JournalEntry): void;
  /** The unanswered requests, oldest first. */
  open(): JournalEntry[];
  /** All requests, oldest first. */
  all(): JournalEntry[];
  /** Removes all answered requests except the newest `keep`, and returns the removed ids. */
  trim(keep: number): string[];
  close(): void;
}

/** Space for some requests and results, in the database and in its log, reserved while the disk has it. */
const reserveBytes = 4 * 1024 * 1024;

/** Grows the database and its log once, because SQLite reuses free pages and log space before the files grow. */
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
    // The disk is already full. The next start tries again.
    if (database.isTransaction) database.exec('ROLLBACK');
  }
}

export function openJournal(file: string): Journal {
  const database = new DatabaseSync(file);
  // Configs may hold secrets, so only the user of the agent may read the journal.
  chmodSync(file, 0o600);
  // Without a bound, the pages of the reserve stay in memory, and the fork for each program copies their table.
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA cache_size = -256;
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
      // The file does not exist yet. SQLite creates it with the mode of the database.
    }
  }
  const select = database.prepare('SELECT entry FROM requests WHERE id = ?');
  const upsert = database.prepare(`
    INSERT INTO requests (id, ordinal, state, entry)
    VALUES (?, (SELECT coalesce(max(ordinal), 0) + 1 FROM requests), ?, ?)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, entry = excluded.entry`);
  const unanswered = database.prepare(`SELECT id, entry FROM requests WHERE state <> 'answered' ORDER BY ordinal`);
  const every = database.prepare('SELECT id, entry FROM requests ORDER BY ordinal');
  const old = database.prepare(`
    SELECT id FROM requests WHERE state = 'answered' ORDER BY ordinal DESC LIMIT -1 OFFSET ?`);
  const forget = database.prepare('DELETE FROM requests WHERE id = ?');
  const read = (row: Record<string, unknown>): JournalEntry => parseExact(String(row.entry)) as unknown as JournalEntry;
  reserveSpace(database);
  /** J3: entries that could not be written yet. */
  const inMemory = new Map<string, JournalEntry>();
  const write = (entry: JournalEntry): void => {
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
        // The next `put` tries again.
      }
    },
    open: () =>
      unanswered
        .all()
        .map((row) => inMemory.get(String(row.id)) ?? read(row))
        .filter(({ state }) => state !== 'answered'),
    all: () => every.all().map((row) => inMemory.get(String(row.id)) ?? read(row)),
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
