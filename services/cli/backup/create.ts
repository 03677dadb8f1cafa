/** `anneal backup`: asks the running server for a copy of its data folder, and packs it into one file. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { access, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { copyResting } from '@anneal/runtime/service/copy-data.ts';
import { lockDataFolder } from '@anneal/runtime/service/folder-lock.ts';
import { controlFile, copyPrefix } from '../serve/control.ts';
import { version } from '../version.ts';
import { pack } from './archive.ts';
import { manifestName, type Manifest } from './manifest.ts';

/** A written backup. */
export interface Backup {
  readonly manifest: Manifest;
  readonly bytes: number;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/**
 * Writes the backup of a data folder to a new file. The server may run; when it does not, the folder stays locked
 * meanwhile.
 * @throws AnnealError; then there is no file
 */
export async function backUp(parameters: { folder: string; file: string; now: () => number }): Promise<Backup> {
  const { folder, file, now } = parameters;
  if (await exists(file)) {
    throw new AnnealError('Conflict', `Cannot back up to ${file}: the file exists.`, {
      details: { remedy: 'Give the name of a new file.' },
    });
  }
  const copy = join(folder, copyPrefix + randomUUID());
  const partial = `${file}.${process.pid}.partial`;
  try {
    const files = (await askServer(folder, copy)) ?? (await copyLocked(folder, copy));
    const manifest: Manifest = { format: 1, version, created_at: new Date(now()).toISOString(), files };
    await writeFile(join(copy, manifestName), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
    await pack({ folder: copy, names: [manifestName, ...files], file: partial });
    const { size } = await stat(partial);
    await rename(partial, file);
    return { manifest, bytes: size };
  } catch (error) {
    throw asAnneal(error, file);
  } finally {
    await rm(partial, { force: true });
    await rm(copy, { recursive: true, force: true });
  }
}

function asAnneal(error: unknown, file: string): unknown {
  if (error instanceof AnnealError || !(error instanceof Error && 'code' in error)) return error;
  return new AnnealError('InvalidRequest', `Cannot write the backup ${file}: ${error.message}.`, { cause: error });
}

/** The names of the copied files; undefined when no server answers at the socket of the folder. */
async function askServer(folder: string, copy: string): Promise<readonly string[] | undefined> {
  const socketPath = await realpath(controlFile(folder)).catch(() => undefined);
  if (socketPath === undefined) return undefined;
  const asked = request({ socketPath, method: 'POST', path: copy.slice(folder.length) });
  asked.end();
  let status: number | undefined;
  let body: unknown;
  try {
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    status = response.statusCode;
    body = await json(response);
  } catch (error) {
    // The socket of a server that was killed.
    if (['ECONNREFUSED', 'ENOENT'].includes(String((error as NodeJS.ErrnoException).code))) return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    throw new AnnealError('Unavailable', `The server of ${folder} ended the backup: ${reason}.`, { cause: error });
  }
  if (status === 200) return (body as { files: string[] }).files;
  const { message } = body as { message?: string };
  throw new AnnealError('Unavailable', `The server of ${folder} could not copy its data: ${message ?? String(status)}`);
}

async function copyLocked(folder: string, copy: string): Promise<readonly string[]> {
  if (!(await exists(join(folder, 'store.db'))) || !(await exists(join(folder, 'bus.db')))) {
    throw new AnnealError(
      'InvalidRequest',
      `There is nothing to back up in ${folder}: it has no store.db and bus.db.`,
      {
        details: {
          remedy:
            'Name the data folder of the server with --data, on the machine of the server. A database and a broker on a network have their own tools: docs/tasks/back-up-and-upgrade.md.',
        },
      },
    );
  }
  const lock = await lockDataFolder({ folder });
  try {
    return await copyResting(folder, copy);
  } finally {
    await lock.release();
  }
}

/** Whether the keys of the secrets are in a backup. With ANNEAL_KEYS they are not in the data folder. */
export const hasKeys = ({ files }: Manifest): boolean => files.includes('keys');
