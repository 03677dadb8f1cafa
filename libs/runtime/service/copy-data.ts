/**
 * Copies the data folder of a running installation on the embedded broker and database.
 *
 * K1 The copies of both files show the same moment, as a kill of the process at that moment would leave them. So a start
 *    on the copies continues like a start after a kill: no message is lost, and work may repeat.
 * K2 The server works on meanwhile. It stops only for the copy of the broker's file, which holds the work in flight.
 */
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bus } from '@anneal/bus/port.ts';
import { freezeFile } from '@anneal/store/sqlite/copy.ts';
import { readSqliteUrl } from '@anneal/store/sqlite/url.ts';

/** The files of a data folder beside its databases that an installation cannot be without. */
const smallFiles = ['keys', 'credentials.json', 'installation.json', 'port'] as const;

/** Copies an installation into a new folder. Resolves with the names of the copied files. */
export type CopyData = (target: string) => Promise<readonly string[]>;

/** Undefined for a broker or a database on a network: their own tools copy them. */
export function createCopyData(parameters: {
  bus: Pick<Bus, 'copyTo'>;
  storeUrl: string;
  dataDirectory: string;
}): CopyData | undefined {
  const { bus, storeUrl, dataDirectory } = parameters;
  const { copyTo } = bus;
  if (!copyTo || !storeUrl.startsWith('sqlite:')) return undefined;
  const { file } = readSqliteUrl(storeUrl);
  if (file === ':memory:') return undefined;
  return (target) =>
    into(target, async () => {
      // K1: nothing else of this process runs between the two, and no transaction is open between two ticks.
      const frozen = freezeFile(file);
      try {
        copyTo(join(target, 'bus.db'));
        await frozen.copyTo(join(target, 'store.db'));
      } finally {
        frozen.close();
      }
      return ['store.db', 'bus.db', ...(await copySmall(dataDirectory, target))];
    });
}

/** Copies a data folder whose server does not run; the caller holds its lock. Resolves with the names of the files. */
export const copyResting = (dataDirectory: string, target: string): Promise<readonly string[]> =>
  into(target, async () => {
    const names = ['store.db', 'bus.db'];
    for (const name of names) {
      const frozen = freezeFile(join(dataDirectory, name));
      try {
        await frozen.copyTo(join(target, name));
      } finally {
        frozen.close();
      }
    }
    return [...names, ...(await copySmall(dataDirectory, target))];
  });

/** Creates the folder, and removes it again when the work fails. */
async function into<T>(target: string, work: () => Promise<T>): Promise<T> {
  await mkdir(target, { mode: 0o700 });
  try {
    return await work();
  } catch (error) {
    await rm(target, { recursive: true, force: true });
    throw error;
  }
}

async function copySmall(from: string, to: string): Promise<string[]> {
  const copied: string[] = [];
  for (const name of smallFiles) {
    try {
      await copyFile(join(from, name), join(to, name));
      copied.push(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return copied;
}
