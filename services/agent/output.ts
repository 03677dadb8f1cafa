/** Streams of a run, bounded: the tail travels, the whole stays on the host. */
import { open } from 'node:fs/promises';

export interface Tail {
  readonly text: string;
  readonly truncated: boolean;
}

/** The last `limit` bytes of a file as text, from the beginning of a character. Absent: empty. */
export async function readTail(file: string, limit: number): Promise<Tail> {
  let handle;
  try {
    handle = await open(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { text: '', truncated: false };
    throw error;
  }
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, limit);
    const buffer = Buffer.alloc(length);
    const { bytesRead } = await handle.read(buffer, 0, length, size - length);
    const truncated = size > limit;
    return { text: buffer.subarray(truncated ? characterStart(buffer) : 0, bytesRead).toString('utf8'), truncated };
  } finally {
    await handle.close();
  }
}

/** Skips the rest of a UTF-8 character that was cut. */
function characterStart(buffer: Buffer): number {
  let start = 0;
  while (start < 4 && start < buffer.length && ((buffer[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return start;
}
