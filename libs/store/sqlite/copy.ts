/** A copy of an SQLite file as it was at one moment, made while other connections write. */
import { backup, DatabaseSync } from 'node:sqlite';

/** Pages per step, so that a copy of many gigabytes leaves the processor to others between its steps. */
const pagesPerStep = 1000;

/** The contents of a file at the moment of its opening. */
export interface FrozenFile {
  /** Writes them to a new file. Its log is not needed to read it. */
  copyTo(file: string): Promise<void>;
  close(): void;
}

/**
 * Keeps the contents that are committed at this moment; later commits do not change them. The log of the file grows until
 * `close`.
 * @throws Error when the file cannot be read
 */
export function freezeFile(file: string): FrozenFile {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 2000 });
  try {
    // Only a read begins the transaction that keeps the contents.
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM sqlite_master').get();
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    async copyTo(target) {
      await backup(db, target, { rate: pagesPerStep });
    },
    close: () => db.close(),
  };
}

/** The first damage that SQLite finds in a file; undefined for a whole one. Reads the whole file. */
export function damageOf(file: string): string | undefined {
  try {
    const db = new DatabaseSync(file);
    try {
      const [found] = Object.values(db.prepare('PRAGMA quick_check(1)').get() ?? {});
      return found === 'ok' ? undefined : String(found);
    } finally {
      db.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
