/** A folder that is built from sources, such as the web console: built again when a source has changed. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { glob, mkdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { lockDataFolder } from './folder-lock.ts';

/** A folder and the files from which it is built. */
export interface BuiltFolder {
  /** A noun with its article: `the console`. */
  readonly title: string;
  /** The program that builds it. */
  readonly program: string;
  /** The command with which a user runs the program. */
  readonly command: string;
  /** The built folder. */
  readonly target: string;
  /** The folder from which the patterns of sources start. */
  readonly root: string;
  /** Patterns of all files that go into the build. */
  readonly sources: readonly string[];
}

const wanted = new Set<string>();
const waiting = new Map<string, () => void>();

/** A reader asks for a file of the folder. Call it at each request: only the first one has an effect. */
export function wantFolder(target: string): void {
  if (wanted.has(target)) return;
  wanted.add(target);
  waiting.get(target)?.();
}

/** Runs at the first request for the folder in this process, or at once after it. */
export function whenWanted({ target }: BuiltFolder, run: () => void): void {
  if (wanted.has(target)) run();
  else waiting.set(target, run);
}

/** The paths of the files that fit one of the patterns, sorted. */
export async function sourceFiles(root: string, patterns: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  const files = glob([...patterns], { cwd: root, exclude: ['**/node_modules'], withFileTypes: true });
  for await (const file of files) {
    if (file.isFile()) found.add(join(file.parentPath, file.name).slice(root.length + 1));
  }
  return [...found].toSorted();
}

async function hashOfSources({ root, sources }: BuiltFolder): Promise<string> {
  const hash = createHash('sha256');
  for (const path of await sourceFiles(root, sources)) hash.update(path).update(await readFile(join(root, path)));
  return hash.digest('hex');
}

const stamp = 'sources.sha256';
const stampOf = ({ target }: BuiltFolder): Promise<string> => readFile(join(target, stamp), 'utf8').catch(() => '');

/** Records when the sources were those of the build, for a program that only looks for newer files. */
const confirm = ({ target }: BuiltFolder, time: Date): Promise<void> =>
  utimes(join(target, stamp), time, time).catch(() => undefined);

/**
 * Whether the built folder belongs to the present sources. An installation without the program that builds the folder has
 * no sources that could change.
 */
export async function isBuilt(folder: BuiltFolder): Promise<boolean> {
  if (!existsSync(folder.program)) return true;
  const started = new Date();
  if ((await stampOf(folder)) !== (await hashOfSources(folder))) return false;
  await confirm(folder, started);
  return true;
}

/**
 * Builds the folder when a source has changed since the last build.
 *
 * B1 The new folder replaces the old one as a whole, and only when `write` succeeds.
 * B2 One build at a time: a second one leaves the work to the first.
 * B3 A source that changes while it is read is newer than the stamp.
 *
 * @param write fills the empty folder that it gets
 * @param force builds also when nothing has changed
 * @returns what happened, as a sentence
 * @throws what `write` throws; the old folder stays
 */
export async function buildFolder(
  folder: BuiltFolder,
  write: (next: string) => Promise<void>,
  { force = false } = {},
): Promise<string> {
  const { title, target } = folder;
  const started = new Date();
  const hash = await hashOfSources(folder);
  if (!force && (await stampOf(folder)) === hash) {
    await confirm(folder, started);
    return `The build of ${title} in ${target} is current.`;
  }
  const work = join(dirname(target), '.build');
  await mkdir(work, { recursive: true });
  // A folder of its own, because a lock is refused beside the files of a build that failed.
  const lock = await lockDataFolder({ folder: join(work, 'lock') }).catch(() => undefined);
  if (!lock) return `Another process is building ${title}.`;
  try {
    const [next, last] = [join(work, 'next'), join(work, 'last')];
    await rm(next, { recursive: true, force: true });
    await mkdir(next);
    await write(next);
    await writeFile(join(next, stamp), hash);
    await rm(last, { recursive: true, force: true });
    await rename(target, last).catch(() => undefined);
    await rename(next, target);
    await confirm(folder, started);
    await rm(last, { recursive: true, force: true });
  } finally {
    await lock.release();
  }
  return `Built ${title} in ${target}.`;
}
