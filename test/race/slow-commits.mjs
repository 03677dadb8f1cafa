/** Loaded into every process of `npm run test:race`: a commit of SQLite takes longer, as on a busy disk. */
import { DatabaseSync } from 'node:sqlite';
import { threadId } from 'node:worker_threads';

const [slowest, seed] = (process.env.SLOW_COMMITS ?? '0 0').split(' ').map(Number);
const pause = new Int32Array(new SharedArrayBuffer(4));
const { exec } = DatabaseSync.prototype;
let state = (seed + threadId * 7919) >>> 0;
/** A number below 1; the same ones for the same seed and thread. */
const next = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
DatabaseSync.prototype.exec = function execSlowly(sql) {
  if (sql.startsWith('COMMIT')) Atomics.wait(pause, 0, 0, next() * slowest);
  return exec.call(this, sql);
};
