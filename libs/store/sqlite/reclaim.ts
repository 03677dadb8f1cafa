/**
 * Returns the pages of deleted data to the file system, in small steps between other work.
 *
 * V1 A step moves at most 64 pages, and a checkpoint copies about 256, so that other work waits for some milliseconds
 *    at most.
 * V2 Steps never wait for a lock: while another process writes, the next look comes later.
 * V3 A few free pages stay in the file, because the next writes need them. So do those that were not free all the time
 *    for some seconds: a large deletion is often followed by a large creation.
 */
import type { DatabaseSync } from 'node:sqlite';

/** In pages of 4 KiB. With fewer free pages, none is returned. */
const worthwhilePages = 1024;
const keptPages = 256;
const pagesAStep = 64;
/**
 * A step moves pages into the log of writes; only a checkpoint makes the file shorter. It waits for the disk: with 2048
 * pages in the log, it takes 50 to 100 ms.
 */
const stepsToCheckpoint = 4;
const pauseMs = 10;
const lookMs = 1000;
/** Pages that were free at so many looks in a row are returned. */
const spareLooks = 5;
/** How much of an older file is copied when it is opened, in pages. The copy takes a second or two. */
const mostCopied = 65_536;

/** Returns free pages of a file in small steps while the process is idle. Errors end one run, not the program. */
export class Reclaimer {
  readonly #db: DatabaseSync;
  readonly #patienceMs: number;
  #timer: NodeJS.Timeout | undefined;
  #steps = 0;
  #looks = 0;
  /** The fewest free pages of the latest looks: so many are to spare. */
  #spare = Infinity;
  /** The free pages that this run leaves in the file. */
  #left = 0;

  /** `patienceMs`: how long the connection waits for locks otherwise. */
  constructor(db: DatabaseSync, { patienceMs }: { patienceMs: number }) {
    this.#db = db;
    this.#patienceMs = patienceMs;
  }

  /** Called after a write, when there may be pages to return. Costs nothing while a look is already planned. */
  look(): void {
    this.#timer ??= setTimeout(() => this.#begin(), lookMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #begin(): void {
    this.#timer = undefined;
    if (this.#db.isTransaction) return this.look();
    const free = freePages(this.#db);
    this.#spare = Math.min(this.#spare, free);
    this.#looks += 1;
    if (free >= worthwhilePages && this.#looks < spareLooks) return this.look();
    const spare = this.#spare;
    this.#looks = 0;
    this.#spare = Infinity;
    if (spare < worthwhilePages) return free < worthwhilePages ? undefined : this.look();
    this.#steps = 0;
    this.#left = Math.max(keptPages, free - spare);
    this.#step();
  }

  #step(): void {
    this.#timer = undefined;
    if (this.#db.isTransaction) return this.look();
    try {
      this.#db.exec(`PRAGMA busy_timeout=0; PRAGMA incremental_vacuum(${pagesAStep})`);
      this.#steps += 1;
      const left = freePages(this.#db);
      // The last step empties the log, which may be large after the deletion.
      if (left <= this.#left) {
        if (!this.#emptyLog()) this.#again(lookMs); // V2
        return;
      }
      if (this.#steps % stepsToCheckpoint === 0) this.#db.exec('PRAGMA wal_checkpoint(PASSIVE)');
      this.#again(pauseMs);
    } catch {
      // V2: another thread or process writes, or the disk is full. There may be no further write that looks.
      this.look();
    } finally {
      this.#db.exec(`PRAGMA busy_timeout=${this.#patienceMs}`);
    }
  }

  #again(afterMs: number): void {
    this.#timer = setTimeout(() => this.#step(), afterMs).unref();
  }

  /** False while another connection reads or copies the log. SQLite reports that without an error. */
  #emptyLog(): boolean {
    return Number(this.#db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy']) === 0;
  }
}

/** For a new file, before it has content: its pages can be returned later. */
export const reclaimable = 'PRAGMA auto_vacuum=INCREMENTAL';

/**
 * Converts an older file so that its pages can be returned. The used part is copied once. A file with too much data
 * stays as it is, and reuses its free pages.
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
