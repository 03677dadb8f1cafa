/** Ids of new messages and documents: UUIDs of version 7, which sort by their time. */
import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const bytesAnId = 16;
const pool = new Uint8Array(256 * bytesAnId);

/**
 * Creates a source of ids, each greater than the one before. It takes its random bytes in blocks, because a block costs
 * as much as those of one id.
 */
export function createIds(now: () => number): () => string {
  let used = pool.length;
  let msecs = -Infinity;
  let seq = 0;
  return () => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const random = pool.subarray(used, (used += bytesAnId));
    const at = now();
    if (at > msecs) {
      msecs = at;
      // The highest bit is free, so that the ids of one millisecond count up.
      seq = (((random[6] ?? 0) & 0x7f) << 24) | ((random[7] ?? 0) << 16) | ((random[8] ?? 0) << 8) | (random[9] ?? 0);
    } else {
      seq = (seq + 1) | 0;
      if (seq === 0) msecs += 1;
    }
    return v7({ random, msecs, seq });
  };
}
