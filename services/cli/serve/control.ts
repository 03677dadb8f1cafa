/**
 * The socket of a running server for commands of its own user on its own machine: `anneal backup`. Its permissions are
 * those of the data folder; the API does not offer it, because a backup contains every secret.
 */
import { chmod, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { toFailure } from '@anneal/contracts/errors.ts';
import type { CopyData } from '@anneal/runtime/service/copy-data.ts';

export const controlFile = (dataDirectory: string): string => join(dataDirectory, 'control.sock');
/** The folder of a copy, in the data folder, until the command has packed it. */
export const copyPrefix = 'copy-for-backup.';
/** The system limits the path of a socket to 107 bytes. */
const longestPath = 100;

export interface ControlSocket {
  close(): Promise<void>;
}

/** Removes what earlier processes left. Call it with the lock of the folder. */
export async function openControl(parameters: { dataDirectory: string; copyData: CopyData }): Promise<ControlSocket> {
  const { dataDirectory, copyData } = parameters;
  const file = controlFile(dataDirectory);
  await rm(file, { force: true });
  for (const name of await readdir(dataDirectory))
    if (name.startsWith(copyPrefix)) await rm(join(dataDirectory, name), { recursive: true, force: true });
  const isLong = Buffer.byteLength(file) > longestPath;
  const path = isLong ? join(await mkdtemp(join(tmpdir(), 'anneal-')), 'control.sock') : file;
  const server = createServer((request, response) => void answer(request, response, { dataDirectory, copyData }));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
  if (isLong) await symlink(path, file);
  return {
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await rm(file, { force: true });
      if (isLong) await rm(dirname(path), { recursive: true, force: true });
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { dataDirectory, copyData }: { dataDirectory: string; copyData: CopyData },
): Promise<void> {
  const end = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const name = new URL(request.url ?? '/', 'http://control').pathname.slice(1);
  // The name of the folder comes from the command, so that it can remove the folder also after a lost answer.
  if (request.method !== 'POST' || !name.startsWith(copyPrefix) || basename(name) !== name) return end(404, {});
  try {
    end(200, { files: await copyData(join(dataDirectory, name)) });
  } catch (error) {
    end(500, toFailure(error));
  }
}
