/**
 * The folder of a run. It holds the agent's records of the run, and `work`, where the program runs and leaves its
 * outputs. The program may delete or replace `work`, because the agent does not depend on it.
 */
import { lstat, opendir, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { trimStream } from './output.ts';

export const runFolder = (directory: string, id: string): string =>
  join(directory, 'runs', id.replaceAll(/[^\w.-]/g, '_'));
export const workFolder = (run: string): string => join(run, 'work');

const mebibyte = 1024 * 1024;
/** Size of a stream on disk. A stream longer than `most` is cut to its last `keep` bytes. */
const streamLimit = { most: 16 * mebibyte, keep: mebibyte };
/** The most bytes that a finished run keeps in `work` for inspection by operators. */
const workLimit = 64 * mebibyte;
/** Less free space than this, or than a twentieth of a small disk, is too little for the next run. */
const lowSpace = 64 * mebibyte;
/** A folder with more files than this counts as large, whatever the size of the files. */
const mostFiles = 10_000;

export async function trimStreams(run: string): Promise<void> {
  for (const stream of ['stdout', 'stderr']) await trimStream(join(run, stream), streamLimit);
}

/** Includes finished runs, because processes that they started may still write. */
export async function trimAllStreams(directory: string): Promise<void> {
  const runs = join(directory, 'runs');
  for (const name of await readdir(runs).catch(() => [])) await trimStreams(join(runs, name));
}

export async function removeRun(directory: string, id: string): Promise<void> {
  await rm(runFolder(directory, id), { recursive: true, force: true });
}

/** Removes `work` of an answered run when it is large or the disk is nearly full. */
export async function tidyRun(directory: string, id: string): Promise<void> {
  const work = workFolder(runFolder(directory, id));
  if ((await isLow(directory)) || (await isLarge(work))) await rm(work, { recursive: true, force: true });
}

/** True when the disk is nearly full. */
async function isLow(directory: string): Promise<boolean> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return bavail * bsize < Math.min(lowSpace, (blocks * bsize) / 20);
}

/** Frees disk space before a start, so that the remains of finished runs do not prevent the journal from opening. */
export async function freeSpace(directory: string): Promise<void> {
  if (!(await isLow(directory))) return;
  const runs = join(directory, 'runs');
  for (const name of await readdir(runs).catch(() => [])) {
    const marks = await readdir(join(runs, name)).catch(() => []);
    if (!marks.some((mark) => mark.startsWith('status.'))) continue;
    await rm(workFolder(join(runs, name)), { recursive: true, force: true });
  }
}

async function isLarge(folder: string): Promise<boolean> {
  let bytes = 0;
  let files = 0;
  const open = [folder];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const listed = await opendir(next).catch(() => undefined);
    if (!listed) continue;
    for await (const entry of listed) {
      files += 1;
      const path = join(next, entry.name);
      if (entry.isDirectory()) open.push(path);
      else
        bytes += await lstat(path).then(
          ({ blocks }) => blocks * 512,
          () => 0,
        );
      if (bytes > workLimit || files > mostFiles) return true;
    }
  }
  return false;
}
