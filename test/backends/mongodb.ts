/**
 * A MongoDB for tests: `ANNEAL_TEST_MONGODB_URL`, else a container, else `mongod` from the PATH, as a single server, else a
 * FerretDB that is built once from `ferretdb/`. A started server has its data in a temporary folder.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@anneal/store/open.ts';
import { atProcessEnd } from './process-end.ts';
import { startContainer } from './containers.ts';
import { freeLocalPort } from './free-port.ts';
import { findProgram } from './program.ts';
import type { BackendServer, FindBackend } from './backend.ts';
import { buildFerretdb } from './ferretdb/build.ts';
import { isRunningChild } from '../processes.ts';

interface Program {
  readonly file: string;
  readonly parameters: (port: number, folder: string) => string[];
  /** Path and parameters of the URL. */
  readonly query: string;
}

const startMs = 30_000;

export const findMongodb: FindBackend = async () => {
  const configured = process.env['ANNEAL_TEST_MONGODB_URL'];
  if (configured !== undefined && configured !== '') {
    const never = (): Promise<void> =>
      Promise.reject(new Error('Tests must not kill this MongoDB: it is from the environment.'));
    return { url: configured, mayBeKilled: false, kill: never, start: never, stop: async () => undefined };
  }
  const urlOf = (address: string): string => `mongodb://${address}/`;
  const container = await startContainer({
    image: 'mongo:8.0',
    port: 27017,
    urlOf,
    isReady: ({ host, port }) => answers(databaseUrl(urlOf(`${host}:${port}`), 'anneal_ready')),
  });
  if (container) return container;
  const mongod = await findProgram('mongod');
  if (mongod !== undefined) return startOwn(singleServer(mongod));
  const go = await findProgram('go');
  if (go === undefined) {
    return {
      missing:
        'MongoDB is not here: set ANNEAL_TEST_MONGODB_URL to the URL of a server, or put mongod, or Go 1.24 to build ' +
        'FerretDB, on the PATH.',
    };
  }
  try {
    return await startOwn(ferretdb(await buildFerretdb(go)));
  } catch (error) {
    return {
      missing: `MongoDB is not installed, and FerretDB cannot be built: ${error instanceof Error ? error.message : ''}`,
    };
  }
};

/** The URL with another database. */
export function databaseUrl(url: string, name: string): string {
  const [, address = '', query = ''] = /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?(\?.*)?$/.exec(url) ?? [];
  return `${address}/${name}${query}`;
}

const singleServer = (file: string): Program => ({
  file,
  parameters: (port, folder) => ['--bind_ip', '127.0.0.1', '--port', String(port), '--dbpath', folder, '--quiet'],
  query: '',
});

const ferretdb = (file: string): Program => ({
  file,
  parameters: (port, folder) => [`127.0.0.1:${port}`, folder],
  query: '',
});

async function startOwn(program: Program): Promise<BackendServer> {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-mongodb-'));
  const port = await freeLocalPort();
  const url = `mongodb://127.0.0.1:${port}/${program.query}`;
  let server: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    if (isRunningChild(server)) return;
    const started = spawn(program.file, program.parameters(port, folder), { stdio: ['ignore', 'ignore', 'pipe'] });
    server = started;
    let output = '';
    started.stderr.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-2000)));
    const deadline = performance.now() + startMs;
    while (!(await answers(databaseUrl(url, 'anneal_ready')))) {
      if (started.exitCode !== null || performance.now() > deadline) {
        throw new Error(`${program.file} did not start: ${output}`);
      }
    }
  };
  const kill = async (): Promise<void> => {
    const killed = server;
    if (!isRunningChild(killed)) return;
    killed.kill('SIGKILL');
    await once(killed, 'exit');
  };
  atProcessEnd(() => server?.kill('SIGKILL'));
  await start();
  return {
    url,
    data: folder,
    mayBeKilled: true,
    kill,
    start,
    async stop() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    // A server that accepts connections and answers none is not ready.
    const patience = 'serverSelectionTimeoutMS=500&connectTimeoutMS=500&socketTimeoutMS=2000';
    await (await openStore({ url: `${url}?${patience}` })).close();
    return true;
  } catch {
    return false;
  }
}
