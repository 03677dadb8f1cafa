/**
 * The file of the embedded bus. One process at a time: the file is locked from its opening to the end of the process,
 * however the process ends. A second process gets an error that says so.
 *
 * After the death of a process, the file must show which attempts had begun. To write that for every message would cost
 * as much as the message itself. First deliveries go in order of `seq`, so one mark per queue (`offered`) covers all of
 * them. Messages offered out of order (retries, and queues ordered by subject) are marked row by row (`leased`).
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { makeReclaimable, reclaimable, Reclaimer } from '@anneal/store/sqlite/reclaim.ts';
import { AnnealError, type Failure } from '@anneal/contracts/errors.ts';
import { makePrivate } from '@anneal/store/sqlite/private-file.ts';

/** A stored message without its bytes. Times are milliseconds since the epoch. */
export interface MessageRow {
  readonly seq: number;
  readonly subject: string | null;
  readonly sent_at: number;
  readonly attempts: number;
  readonly due: number;
  readonly bytes: string | Uint8Array;
}

/** A queue, or a group (`grouped` is 1) with its patterns as JSON. */
export interface StoredQueue {
  readonly id: number;
  readonly name: string;
  readonly grouped: number;
  readonly patterns: string | null;
}

/** One failed attempt of a message. */
export interface StoredAttempt {
  readonly at: string;
  readonly error: string;
}

const schema = `
  CREATE TABLE IF NOT EXISTS queues (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    grouped INTEGER NOT NULL DEFAULT 0,
    patterns TEXT,
    offered INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS messages (
    seq INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    subject TEXT,
    sent_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL DEFAULT 0,
    leased INTEGER NOT NULL DEFAULT 0,
    history TEXT,
    bytes NOT NULL
  );
  CREATE INDEX IF NOT EXISTS messages_queue ON messages (queue);
  CREATE INDEX IF NOT EXISTS messages_again ON messages (queue, seq) WHERE due > 0;
  CREATE TABLE IF NOT EXISTS dead (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    queue TEXT NOT NULL,
    grouped INTEGER NOT NULL,
    subject TEXT,
    died_at TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    failure TEXT NOT NULL,
    history TEXT NOT NULL,
    bytes NOT NULL
  );
  CREATE INDEX IF NOT EXISTS dead_queue ON dead (queue, n);
  CREATE TABLE IF NOT EXISTS checks (id INTEGER PRIMARY KEY, at TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS mark (id INTEGER PRIMARY KEY, count INTEGER NOT NULL);
`;
const layout = 1;
/**
 * In pages of 4 KiB. When the log is this long, a commit copies it into the file and waits for the disk. Most messages
 * are short-lived and use the same pages again, so a longer log is copied much more seldom and copies hardly more.
 */
const pagesInLog = 8000;
/** A predecessor that was just killed may hold the lock for a moment. */
const lockPatienceMs = 1000;

/** The tables of the broker. All writes of a tick share one transaction. */
export class Database {
  readonly #db: DatabaseSync;
  readonly #reclaimer: Reclaimer;
  readonly #statements = new Map<string, StatementSync>();
  /** The messages that the next statement removes. */
  #removed: number[] = [];
  /** The commits since the opening. */
  commits = 0;

  constructor(parameters: { file: string; synchronous: 'normal' | 'full' }) {
    const { file, synchronous } = parameters;
    let db: DatabaseSync | undefined;
    try {
      makePrivate(file);
      db = new DatabaseSync(file, { timeout: lockPatienceMs });
      db.exec('PRAGMA locking_mode=EXCLUSIVE');
      db.exec(
        `${reclaimable}; PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=${pagesInLog}; PRAGMA journal_size_limit=33554432;
         PRAGMA synchronous=${synchronous}; PRAGMA cache_size=-32000;`,
      );
      db.exec('BEGIN EXCLUSIVE');
      const { user_version: found } = db.prepare('PRAGMA user_version').get() as { user_version: number };
      if (found > layout) throw new Error(`its layout is version ${found}, and this build supports up to ${layout}`);
      db.exec(`${schema} PRAGMA user_version=${layout}; COMMIT;`);
    } catch (cause) {
      db?.close();
      const reason = cause instanceof Error ? cause.message : String(cause);
      const why = /locked|busy/.test(reason)
        ? 'another process has it open, and the embedded bus serves only one process'
        : reason;
      throw new AnnealError('Unavailable', `Cannot open the bus ${file}: ${why}.`, { cause });
    }
    makeReclaimable(db);
    this.#db = db;
    this.#reclaimer = new Reclaimer(db, { patienceMs: lockPatienceMs });
  }

  /** B4: a message in progress when the last process died counts an attempt, and is offered again before the rest. */
  recover(at: Date): number {
    const entry = JSON.stringify({ at: at.toISOString(), error: 'The consumer died during this attempt.' });
    return this.write(
      `UPDATE messages SET attempts = attempts + 1, leased = 0, due = 1,
         history = json_insert(coalesce(history, '[]'), '$[#]', json(?))
       WHERE leased = 1 OR (due = 0 AND seq <= (SELECT offered FROM queues WHERE queues.id = messages.queue))`,
      entry,
    );
  }

  lastSeq(): number {
    const sql =
      'SELECT max(ifnull((SELECT max(seq) FROM messages), 0), ifnull((SELECT max(offered) FROM queues), 0)) AS n';
    return Number(this.get(sql)?.['n']);
  }

  insert(row: {
    seq: number;
    queue: number;
    subject: string | undefined;
    sentAt: number;
    bytes: string | Uint8Array;
  }): void {
    this.#run(
      'INSERT INTO messages (seq, queue, subject, sent_at, bytes) VALUES (?, ?, ?, ?, ?)',
      row.seq,
      row.queue,
      row.subject ?? null,
      row.sentAt,
      row.bytes,
    );
  }

  /** Removes it before the next statement that could see it, together with the others of this tick. */
  remove(seq: number): void {
    this.#removed.push(seq);
  }

  again(row: { seq: number; attempts: number; due: number; entry?: StoredAttempt }): void {
    if (!row.entry) {
      this.write('UPDATE messages SET attempts = ?, due = ?, leased = 0 WHERE seq = ?', row.attempts, row.due, row.seq);
      return;
    }
    this.write(
      `UPDATE messages SET attempts = ?, due = ?, leased = 0,
         history = json_insert(coalesce(history, '[]'), '$[#]', json(?)) WHERE seq = ?`,
      row.attempts,
      row.due,
      JSON.stringify(row.entry),
      row.seq,
    );
  }

  historyOf(seq: number): StoredAttempt[] {
    const text = this.get('SELECT history FROM messages WHERE seq = ?', seq)?.['history'];
    return typeof text === 'string' ? (JSON.parse(text) as StoredAttempt[]) : [];
  }

  bytesOf(seq: number): string | Uint8Array | undefined {
    return this.get('SELECT bytes FROM messages WHERE seq = ?', seq)?.['bytes'] as string | Uint8Array | undefined;
  }

  bury(row: {
    id: string;
    queue: string;
    grouped: boolean;
    subject: string | undefined;
    diedAt: string;
    attempts: number;
    failure: Failure;
    history: readonly StoredAttempt[];
    bytes: string | Uint8Array;
  }): void {
    this.write(
      `INSERT INTO dead (id, queue, grouped, subject, died_at, attempts, failure, history, bytes)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      row.id,
      row.queue,
      Number(row.grouped),
      row.subject ?? null,
      row.diedAt,
      row.attempts,
      JSON.stringify(row.failure),
      JSON.stringify(row.history),
      row.bytes,
    );
  }

  /** Runs within the transaction of this tick, and begins it if needed. Returns the number of changed rows. */
  write(sql: string, ...values: (string | number | null | Uint8Array)[]): number {
    this.#removeNow();
    return this.#run(sql, ...values);
  }

  get(sql: string, ...values: (string | number)[]): Record<string, unknown> | undefined {
    this.#removeNow();
    return this.#prepare(sql).get(...values);
  }

  all(sql: string, ...values: (string | number)[]): Record<string, unknown>[] {
    this.#removeNow();
    return this.#prepare(sql).all(...values);
  }

  commit(): void {
    this.#removeNow();
    if (!this.#db.isTransaction) return;
    this.#db.exec('COMMIT');
    this.commits += 1;
    this.#reclaimer.look();
  }

  rollback(): void {
    this.#removed = [];
    if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
  }

  /** Writes all rows to a new file, in this tick. Only between transactions. */
  copyTo(file: string): void {
    this.#db.prepare('VACUUM INTO ?').run(file);
  }

  close(): void {
    this.#reclaimer.stop();
    this.#statements.clear();
    this.#db.close();
  }

  #run(sql: string, ...values: (string | number | null | Uint8Array)[]): number {
    if (!this.#db.isTransaction) this.#db.exec('BEGIN');
    return Number(this.#prepare(sql).run(...values).changes);
  }

  /** One statement for each run of numbers: a consumer settles most messages in the order in which they were sent. */
  #removeNow(): void {
    if (this.#removed.length === 0) return;
    const removed = this.#removed.sort((a, b) => a - b);
    this.#removed = [];
    let [first = 0] = removed;
    for (const [index, seq] of removed.entries()) {
      if (removed[index + 1] === seq + 1) continue;
      this.#run('DELETE FROM messages WHERE seq BETWEEN ? AND ?', first, seq);
      first = removed[index + 1] ?? 0;
    }
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, (statement = this.#db.prepare(sql)));
    return statement;
  }
}
