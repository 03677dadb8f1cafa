/**
 * One connection to one file, with group commit.
 *
 * C1 All work of one tick runs in one transaction, in the order of the requests, and resolves after its commit.
 * C2 A refused write (a taken id, a taken unique index) undoes only itself; the others in the transaction stay.
 * C3 A read sees every write issued before it on this connection, and never shows one that is not durable yet.
 * C4 The lock on the file is never held between two ticks: another connection waits for one commit at most.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { Checkpointer, copiedBytes } from './checkpoints.ts';
import { makePrivate } from './private-file.ts';
import { makeReclaimable, reclaimable, Reclaimer } from './reclaim.ts';
import type { SqliteLocation } from './url.ts';

type Outcome = { readonly value: unknown } | { readonly error: unknown };

interface Work {
  readonly writes: boolean;
  readonly run: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The layout mark in each file. A file of a newer layout is refused instead of misread. Each table of an earlier layout is
 * converted when its collection is opened, and programs of the earlier layout refuse the file from then on.
 */
const layout = 3;
const convertedLayouts: readonly number[] = [2];
/**
 * In pages of 4 KiB. When the log is this long, the thread of the {@link Checkpointer} is late, and a commit copies the
 * rest into the file.
 */
const pagesInLog = 8000;
/** How long a commit waits for other processes before its writers get an error. */
const patienceMs = 10_000;
const lockMs = 2000;
const statementsKept = 300;

const codeOf = (error: unknown): number =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : 0;
const isBusy = (error: unknown): boolean => [5, 6].includes(codeOf(error) & 0xff);
/** SQLITE_CONSTRAINT: the statement has undone itself. */
export const isConstraint = (error: unknown): boolean => (codeOf(error) & 0xff) === 19;

/** One file of SQLite. All writes of a turn of the event loop share one transaction. */
export class SqliteConnection {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #reclaimer: Reclaimer;
  readonly #checkpointer: Checkpointer;
  readonly #statements = new Map<string, StatementSync>();
  readonly #schemaVersion: StatementSync;
  #work: Work[] = [];
  #knownSchema: unknown;
  #schema = 0;
  #scheduled = false;
  #busySince = 0;
  #closed = false;

  constructor({ file, synchronous }: SqliteLocation) {
    this.#file = file;
    try {
      makePrivate(file);
      // The wait inside a call stops the whole process, so it is short; `#flush` repeats it.
      this.#db = new DatabaseSync(file, { timeout: lockMs });
      this.#db.exec(
        `${reclaimable}; PRAGMA journal_mode=WAL; PRAGMA synchronous=${synchronous}; PRAGMA cache_size=-32000;
         PRAGMA wal_autocheckpoint=${pagesInLog}; PRAGMA journal_size_limit=${copiedBytes / 2};`,
      );
      const { user_version: found } = this.#db.prepare('PRAGMA user_version').get() as { user_version: number };
      if (![0, layout, ...convertedLayouts].includes(found)) {
        throw new Error(`its layout is version ${found}, and this build supports up to ${layout}`);
      }
      if (found !== layout) this.#db.exec(`PRAGMA user_version=${layout}`);
      makeReclaimable(this.#db);
      this.#schemaVersion = this.#db.prepare('PRAGMA schema_version');
      this.#schemaVersion.setReturnArrays(true);
      this.#reclaimer = new Reclaimer(this.#db, { patienceMs: lockMs });
      this.#checkpointer = new Checkpointer({ file, synchronous });
    } catch (error) {
      throw unavailable(file, 'opened', error);
    }
  }

  /** Runs in the next group commit. An error of `run` is the outcome of this work alone. */
  write<T>(run: () => T): Promise<T> {
    return this.#enqueue(true, run);
  }

  /** Runs at once when no write is waiting, else in its turn. */
  read<T>(run: () => T): Promise<T> {
    if (this.#work.length > 0 || this.#closed) return this.#enqueue(false, run);
    try {
      return Promise.resolve(run());
    } catch (error) {
      return Promise.reject(asAnneal(this.#file, error));
    }
  }

  prepare(sql: string): StatementSync {
    const kept = this.#statements.get(sql);
    if (kept) return kept;
    const oldest = this.#statements.size >= statementsKept ? this.#statements.keys().next().value : undefined;
    if (oldest !== undefined) this.#statements.delete(oldest);
    const statement = this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** A statement whose rows are lists: half the cost of objects, for an answer of many rows. */
  prepareLists(sql: string): StatementSync {
    const statement = this.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  }

  /** A number that differs after a change of the tables by any process. For use within `write`. */
  get schema(): number {
    return this.#schema;
  }

  /** Called within a write that has changed the tables. */
  schemaChanged(): void {
    this.#schema += 1;
  }

  /** For the definition of tables only; runs within `write`. */
  exec(sql: string): void {
    this.#db.exec(sql);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    // Earlier writes are still committed, because the queue keeps its order.
    await this.#enqueue(false, () => undefined);
    this.#closed = true;
    this.#reclaimer.stop();
    await this.#checkpointer.stop();
    this.#statements.clear();
    this.#db.close();
  }

  #enqueue<T>(writes: boolean, run: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(new AnnealError('Unavailable', `The store ${this.#file} is closed.`));
    return new Promise<T>((resolve, reject) => {
      this.#work.push({ writes, run, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(afterMs?: number): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    const flush = (): void => {
      this.#scheduled = false;
      this.#flush();
    };
    if (afterMs === undefined) setImmediate(flush);
    else setTimeout(flush, afterMs);
  }

  #flush(): void {
    const work = this.#work;
    const outcomes: Outcome[] = [];
    const writes = work.some((item) => item.writes);
    try {
      if (writes) this.#begin();
      for (const item of work) outcomes.push(this.#outcome(item));
      if (writes) this.#db.exec('COMMIT');
      if (writes) this.#reclaimer.look();
      if (writes) this.#checkpointer.look();
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      if (isBusy(error) && this.#stillPatient()) return;
      this.#work = [];
      this.#busySince = 0;
      const failure = asAnneal(this.#file, error);
      for (const item of work) item.reject(failure);
      return;
    }
    this.#work = [];
    this.#busySince = 0;
    work.forEach((item, index) => {
      const outcome = outcomes[index];
      if (outcome && 'value' in outcome) item.resolve(outcome.value as never);
      else item.reject(outcome?.error);
    });
  }

  #begin(): void {
    this.#db.exec('BEGIN IMMEDIATE');
    const [version] = this.#schemaVersion.get() as unknown as [number];
    if (version !== this.#knownSchema) this.schemaChanged();
    this.#knownSchema = version;
  }

  #outcome(item: Work): Outcome {
    try {
      return { value: item.run() };
    } catch (error) {
      // A full disk or a broken file ends the transaction for all writers; any other refusal concerns its writer only.
      const fatal = codeOf(error) !== 0 && !isConstraint(error) && (item.writes || isBusy(error));
      if (fatal) throw error;
      return { error: asAnneal(this.#file, error) };
    }
  }

  #stillPatient(): boolean {
    this.#busySince ||= Date.now();
    if (Date.now() - this.#busySince > patienceMs) return false;
    this.#schedule(5 + Math.floor(Math.random() * 20));
    return true;
  }
}

function asAnneal(file: string, error: unknown): unknown {
  return codeOf(error) === 0 ? error : unavailable(file, 'used', error);
}

function unavailable(file: string, what: string, cause: unknown): AnnealError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AnnealError('Unavailable', `The store ${file} cannot be ${what}: ${reason}.`, { cause });
}
