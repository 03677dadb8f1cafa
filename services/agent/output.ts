/**
 * Reads files that an untrusted program left behind.
 *
 * F1 Only regular files are opened, and none through a symbolic link, so a pipe, device or link cannot block or mislead
 *    the agent.
 * F2 At most one byte over the limit is read, whatever the size of the file.
 */
import { constants } from 'node:fs';
import { lstat, open, type FileHandle } from 'node:fs/promises';

export interface Tail {
  readonly text: string;
  readonly truncated: boolean;
}

/** A file cannot be read: it is not a regular file, or it is larger than the limit. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

const kinds = [
  ['isSymbolicLink', 'a symbolic link'],
  ['isDirectory', 'a directory'],
  ['isFIFO', 'a named pipe'],
  ['isSocket', 'a socket'],
  ['isCharacterDevice', 'a device'],
  ['isBlockDevice', 'a device'],
] as const;

/** @throws UnreadableError when it is not a regular file, or an error of the file system. */
async function openRegular(file: string, flags: number = constants.O_RDONLY): Promise<FileHandle> {
  // Opening a device can already change something, so check the file before and after opening it.
  const seen = await lstat(file);
  const kind = kinds.find(([is]) => seen[is]());
  if (kind) throw new UnreadableError(`it is ${kind[1]}, not a regular file`);
  const handle = await open(file, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new UnreadableError('it is not a regular file');
}

/** @throws UnreadableError */
export async function readWhole(file: string, limit: number): Promise<Buffer> {
  const handle = await openRegular(file);
  try {
    const buffer = Buffer.alloc(Math.min(limit + 1, (await handle.stat()).size + 1));
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    if (length > limit) throw new UnreadableError(`it has more than ${limit} bytes`);
    return buffer.subarray(0, length);
  } finally {
    await handle.close();
  }
}

/** The size of a regular file. @throws UnreadableError when it is not a regular file, or an error of the file system */
export async function sizeOfFile(file: string): Promise<number> {
  const handle = await openRegular(file);
  try {
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}

/** The bytes of a regular file from an offset on. Empty at its end. @throws as {@link sizeOfFile} */
export async function readPiece(file: string, { offset, limit }: { offset: number; limit: number }): Promise<Buffer> {
  const handle = await openRegular(file);
  try {
    const buffer = Buffer.alloc(limit);
    const { bytesRead } = await handle.read(buffer, 0, limit, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** The last `limit` bytes of a file as text, cut at a character. Empty when it is absent or not a regular file. */
export async function readTail(file: string, limit: number): Promise<Tail> {
  let handle;
  try {
    handle = await openRegular(file);
  } catch {
    return { text: '', truncated: false };
  }
  try {
    return await tailOf(handle, limit);
  } finally {
    await handle.close();
  }
}

async function tailOf(handle: FileHandle, limit: number): Promise<Tail> {
  const { size } = await handle.stat();
  const length = Math.min(size, limit);
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, size - length);
  const truncated = size > limit;
  return { text: buffer.subarray(truncated ? characterStart(buffer) : 0, bytesRead).toString('utf8'), truncated };
}

const droppedLine = '[the agent removed this part: the stream exceeds its limit]\n';

/**
 * Keeps a stream that a program appends to from filling the disk: once it is longer than `most`, only its last `keep`
 * bytes stay. The program keeps appending after them.
 */
export async function trimStream(file: string, { most, keep }: { most: number; keep: number }): Promise<void> {
  try {
    if ((await lstat(file)).size <= most) return;
    const handle = await openRegular(file, constants.O_RDWR | constants.O_APPEND);
    try {
      const { text } = await tailOf(handle, keep);
      await handle.truncate(0);
      await handle.appendFile(droppedLine + text);
    } finally {
      await handle.close();
    }
  } catch {
    // The file is absent, or its program replaced it, so there is no stream to trim.
  }
}

/** Skips the rest of a UTF-8 character that was cut. */
function characterStart(buffer: Buffer): number {
  let start = 0;
  while (start < 4 && start < buffer.length && ((buffer[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return start;
}
