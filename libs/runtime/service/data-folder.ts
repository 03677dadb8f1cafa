/**
 * Checks the data folder before a file in it is opened. A new file beside old ones means lost state. The start is then
 * refused with the name of the file, because a newly created one would hide the loss.
 *
 * F1 `installation.json` lists the files that a start has opened. A listed file that is missing or empty was lost.
 * F2 Keys are created before the store, and the store before the bus. So a bus without its store, or a store without
 *    its keys, shows a loss even in a folder without a list. A kill during the first start cannot leave either.
 */
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';

const listName = 'installation.json';
const keysName = 'keys';
/** Names of Anneal's files. A folder with at least one of them may hold other files too. */
const known =
  /^(?:keys|(?:store|bus)\.db(?:-wal|-shm)?|credentials\.json.*|installation\.json.*|server\.lock.*|images|lab|logs|port|control\.sock|copy-for-backup\..*)$/;
/** Names that belong to file systems, not to programs. */
const neutral: ReadonlySet<string> = new Set(['lost+found']);

/** The data folder of a running server. */
export interface DataFolder {
  /** Called when every file is open: from now on all of them must exist. */
  opened(): Promise<void>;
}

/** The folder, and the files that it must contain. */
export interface DataFolderParameters {
  readonly folder: string;
  /**
   * The files of the store and the bus in this folder, which is the default; undefined where a setting names another
   * place.
   */
  readonly store: string | undefined;
  readonly bus: string | undefined;
  /** Whether the keys come from the folder. */
  readonly keys: boolean;
}

/** @throws AnnealError Conflict that names the lost file, or the foreign files in the folder. */
export async function openDataFolder(parameters: DataFolderParameters): Promise<DataFolder> {
  const { folder, store, bus, keys } = parameters;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = [keys ? keysName : undefined, store, bus].flatMap((file) => (file === undefined ? [] : basename(file)));
  const listed = await readList(folder);
  const there = new Set<string>();
  for (const name of names) {
    const { size } = (await stat(join(folder, name)).catch(() => undefined)) ?? { size: 0 };
    if (size > 0) there.add(name);
  }
  const [storeName, busName] = [store, bus].map((file) => file && basename(file));
  for (const name of names) {
    if (there.has(name)) continue;
    const isImplied =
      (name === keysName && storeName !== undefined && there.has(storeName)) ||
      (name === storeName && busName !== undefined && there.has(busName));
    if (listed.includes(name) || isImplied) throw lost(join(folder, name), [...there]);
  }
  return {
    async opened() {
      const all = [...new Set([...listed, ...names])];
      if (all.length === listed.length) return;
      const file = join(folder, listName);
      const beside = `${file}.${process.pid}`;
      await writeFile(beside, `${JSON.stringify({ files: all })}\n`, { mode: 0o600 });
      await rename(beside, file);
    },
  };
}

function lost(file: string, beside: readonly string[]): AnnealError {
  const name = basename(file);
  const what =
    name === keysName
      ? 'the sealed secrets cannot be opened without it'
      : 'a start without it would silently lose its contents';
  const others = beside.length > 0 ? ` beside ${beside.join(' and ')}` : '';
  return new AnnealError('Conflict', `The file ${file} is missing or empty${others}: ${what}.`, {
    details: {
      remedy:
        name === keysName
          ? 'Restore it from a backup, or set ANNEAL_KEYS to its contents. To start from scratch, use an empty folder.'
          : 'Restore the whole folder from a backup. To start from scratch, use an empty folder.',
    },
  });
}

/** @throws AnnealError Conflict for a folder with files, none of which Anneal made. */
export async function refuseForeign(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.') && !neutral.has(name));
  if (names.length === 0 || names.some((name) => known.test(name))) return;
  const shown = names.slice(0, 3).join(', ');
  throw new AnnealError(
    'Conflict',
    `The folder ${folder} holds files of another program (${shown}${names.length > 3 ? ', …' : ''}) and none of Anneal.`,
    { details: { remedy: 'Set --data or ANNEAL_DATA to an empty folder or to an existing data folder of Anneal.' } },
  );
}

const listSchema = z.object({ files: z.array(z.string()) });

async function readList(folder: string): Promise<readonly string[]> {
  const file = join(folder, listName);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  try {
    return listSchema.parse(JSON.parse(text)).files;
  } catch (error) {
    throw new AnnealError('Conflict', `The file ${file} is damaged.`, {
      cause: error,
      details: { remedy: 'Remove it; the next start creates it again. Then check the other files for damage.' },
    });
  }
}
