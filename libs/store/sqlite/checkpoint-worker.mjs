// The thread of `Checkpointer`: copies the log of writes into the file on request, over its own connection.
//
// JavaScript, because a thread of its own would load the TypeScript stripper too: half of the 120 ms that it takes to start.
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

const { file, synchronous } = workerData;
const db = new DatabaseSync(file, { timeout: 0 });
db.exec(`PRAGMA synchronous=${synchronous}; PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-1000`);

parentPort.on('message', () => {
  try {
    // Passive: it waits for no reader and no writer, and none waits for it.
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch {
    // The disk is full, or another process copies. The writer copies by itself when the log becomes long.
  }
  parentPort.postMessage('done', []);
});
