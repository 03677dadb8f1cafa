/**
 * `anneal restore`: unpacks a backup into an empty data folder.
 *
 * T1 The folder is untouched until the whole backup is unpacked and checked.
 * T2 The list of files (`installation.json`) moves first, so the server refuses a folder whose restore was killed.
 */
import { chmod, lstat, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { damageOf } from '@anneal/store/sqlite/copy.ts';
import { namesIn, unpack } from './archive.ts';
import { allowedNames, manifestName, manifestSchema, type Manifest } from './manifest.ts';

const listName = 'installation.json';

/** @throws AnnealError; then the folder is as it was */
export async function restoreBackup(parameters: { file: string; folder: string }): Promise<Manifest> {
  const { file, folder } = parameters;
  await refuseMissing(file);
  const isNew = await refuseUsed(folder);
  await refuseStrange(file);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const partial = join(folder, 'restore.partial');
  try {
    await mkdir(partial, { mode: 0o700 });
    await unpack({ file, folder: partial, names: [] });
    const manifest = await check(partial, file);
    const { files } = manifest;
    for (const name of files.toSorted((a, b) => Number(b === listName) - Number(a === listName)))
      await rename(join(partial, name), join(folder, name));
    await rm(partial, { recursive: true });
    return manifest;
  } catch (error) {
    await rm(isNew ? folder : partial, { recursive: true, force: true });
    throw error;
  }
}

async function refuseMissing(file: string): Promise<void> {
  const found = await lstat(file).catch(() => undefined);
  if (found?.isFile()) return;
  const why = found ? 'it is not a file' : 'there is no such file';
  throw new AnnealError('InvalidRequest', `Cannot restore ${file}: ${why}.`);
}

/** True for a folder that does not exist. */
async function refuseUsed(folder: string): Promise<boolean> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    const reason = error instanceof Error ? error.message : String(error);
    throw new AnnealError('InvalidRequest', `Cannot restore into ${folder}: ${reason}.`, { cause: error });
  }
  const used = names.filter((name) => name !== 'lost+found');
  if (used.length === 0) return false;
  throw new AnnealError('Conflict', `Cannot restore into ${folder}: the folder is not empty (${used[0] ?? ''}, …).`, {
    details: { remedy: 'Stop its server and move the folder away, or restore into another folder with --data.' },
  });
}

/** Refuses names outside the list, so that an archive writes nothing but the files of an installation. */
async function refuseStrange(file: string): Promise<void> {
  const names = await namesIn(file).catch((error: unknown) => {
    throw error instanceof AnnealError ? notABackup(file, error.message) : error;
  });
  const strange = names.find((name) => !allowedNames.has(name));
  if (names.includes(manifestName) && strange === undefined) return;
  const why = strange === undefined ? `it has no ${manifestName}` : `it contains ${strange}`;
  throw notABackup(file, why);
}

const notABackup = (file: string, why: string): AnnealError =>
  new AnnealError('InvalidRequest', `${file} is not a backup that this release can restore: ${why}.`, {
    details: { remedy: 'Give a file that `anneal backup` wrote, in this release or an earlier one.' },
  });

async function check(folder: string, file: string): Promise<Manifest> {
  for (const name of await readdir(folder)) {
    if (!(await lstat(join(folder, name))).isFile()) throw notABackup(file, `${name} is not a file`);
    await chmod(join(folder, name), 0o600);
  }
  let manifest: Manifest;
  try {
    manifest = manifestSchema.parse(JSON.parse(await readFile(join(folder, manifestName), 'utf8')));
  } catch {
    throw notABackup(file, `its ${manifestName} has another format`);
  }
  const present = new Set(await readdir(folder));
  const missing = manifest.files.find((name) => !present.has(name));
  if (missing !== undefined) throw notABackup(file, `${missing} is missing`);
  for (const name of ['store.db', 'bus.db']) checkDatabase(join(folder, name), file);
  return manifest;
}

function checkDatabase(path: string, file: string): void {
  const damage = damageOf(path);
  if (damage !== undefined) throw notABackup(file, `a database in it is damaged (${damage})`);
}
