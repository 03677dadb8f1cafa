/**
 * Gives the pages of what was deleted back to the file system, in small steps between other work.
 *
 * V1 A step moves at most a few hundred pages, so that nothing else waits for more than some milliseconds.
 * V2 Steps never wait for a lock: while another process writes, the next look comes later.
 * V3 A few free pages stay in the file, because the next writes need them.
 */
import type { DatabaseSync } from 'node:sqlite';

/** Of 4 KiB. Below it nothing is given back. */
const worthwhilePages = 1024;
const keptPages = 256;
const pagesAStep = 128;
/** What a step moves goes into the log of writes; only a checkpoint makes the file shorter. */
const stepsToCheckpoint = 16;
const pauseMs = 10;
const lookMs = 1000;
/** How much of a file from before this existed is copied at its opening, which takes a second or two. */
const mostCopied = 65_536;

export class Reclaimer {
  readonly #db: DatabaseSync;
  readonly #patienceMs: number;
  #timer: NodeJS.Timeout | undefined;
  #steps = 0;

  /** `patienceMs`: how long the connection waits for locks otherwise. */
  constructor(db: DatabaseSync, { patienceMs }: { patienceMs: number }) {
    this.#db = db;
    this.#patienceMs = patienceMs;
  }

  /** Something was written: there may be pages to give back. Costs nothing while a look is planned already. */
  look(): void {
    this.#timer ??= setTimeout(() => this.#begin(), lookMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #begin(): void {
    this.#timer = undefined;
    if (this.#db.isTransaction || freePages(this.#db) < worthwhilePages) return;
    this.#steps = 0;
    this.#step();
  }

  #step(): void {
    this.#timer = undefined;
    if (this.#db.isTransaction) return this.look();
    try {
      this.#db.exec(`PRAGMA busy_timeout=0; PRAGMA incremental_vacuum(${pagesAStep})`);
      this.#steps += 1;
      const left = freePages(this.#db);
      // The last one empties the log, which may be large from the deletion.
      if (left <= keptPages) this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      else if (this.#steps % stepsToCheckpoint === 0) this.#db.exec('PRAGMA wal_checkpoint(PASSIVE)');
      if (left > keptPages) this.#timer = setTimeout(() => this.#step(), pauseMs).unref();
    } catch {
      // Another process writes, or the disk is full: the next write looks again.
    } finally {
      this.#db.exec(`PRAGMA busy_timeout=${this.#patienceMs}`);
    }
  }
}

/** Before anything is in a new file: its pages can be given back later. */
export const reclaimable = 'PRAGMA auto_vacuum=INCREMENTAL';

/**
 * Makes an older file one whose pages can be given back. It is copied once, as far as it is in use; a file with too much in
 * use stays as it is, and uses its free pages again.
 */
export function makeReclaimable(db: DatabaseSync): void {
  if (pragma(db, 'auto_vacuum') !== 0) return;
  if (pragma(db, 'page_count') - freePages(db) > mostCopied) return;
  try {
    db.exec(`${reclaimable}; VACUUM`);
  } catch {
    // Another process has it open, or the disk has no room for the copy: the next start tries again.
  }
}

const freePages = (db: DatabaseSync): number => pragma(db, 'freelist_count');
const pragma = (db: DatabaseSync, name: string): number => Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
