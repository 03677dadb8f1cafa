/** Loaded into every process of `npm run test:race`: a commit of SQLite takes longer, as on a busy disk. */
import { DatabaseSync } from 'node:sqlite';
import { threadId } from 'node:worker_threads';
import { randomOf } from '../chaos/random.ts';

const [slowest = 0, seed = 0] = (process.env['SLOW_COMMITS'] ?? '').split(' ').map(Number);
const random = randomOf(seed + threadId);
const pause = new Int32Array(new SharedArrayBuffer(4));
// oxlint-disable-next-line typescript/unbound-method -- called with the database below
const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function execSlowly(this: DatabaseSync, sql: string): void {
  if (sql.startsWith('COMMIT')) Atomics.wait(pause, 0, 0, random() * slowest);
  exec.call(this, sql);
};
