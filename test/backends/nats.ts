/**
 * A NATS server with JetStream for tests: `ANNEAL_TEST_NATS_URL`, else a container, else `nats-server` from the PATH, else
 * one that Go builds once into the cache. A started server has its data in a temporary folder.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atProcessEnd } from './process-end.ts';
import { startContainer } from './containers.ts';
import { freeLocalPort } from './free-port.ts';
import { builtByGo } from './go-install.ts';
import { findProgram } from './program.ts';
import type { BackendServer, MissingBackend } from './backend.ts';
import { isRunningChild } from '../processes.ts';

const module = 'github.com/nats-io/nats-server/v2';
const version = '2.12.15';
const startMs = 20_000;

/**
 * @param config additional configuration besides the port and JetStream's folder. The server is then a program of this
 *    machine.
 */
export const findNats = async ({ config }: { config?: string } = {}): Promise<BackendServer | MissingBackend> => {
  const configured = process.env['ANNEAL_TEST_NATS_URL'];
  if (config === undefined && configured !== undefined && configured !== '') {
    const never = (): Promise<void> =>
      Promise.reject(new Error('Tests must not kill this NATS server: it is from the environment.'));
    return { url: configured, mayBeKilled: false, kill: never, start: never, stop: async () => undefined };
  }
  const container =
    config === undefined
      ? await startContainer({
          image: 'nats:2.12-alpine',
          port: 4222,
          command: ['-js', '-sd', '/data'],
          urlOf: (address) => `nats://${address}`,
          isReady: answers,
        })
      : undefined;
  if (container) return container;
  try {
    const program = (await findProgram('nats-server')) ?? (await builtByGo({ name: 'nats-server', module, version }));
    if (program !== undefined) return await startOwn(program, config);
  } catch (error) {
    return {
      missing: `NATS is not installed and cannot be built: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
  return {
    missing:
      'NATS is not here: set ANNEAL_TEST_NATS_URL to the URL of a server with JetStream, or put nats-server, or Go to ' +
      'build it, on the PATH.',
  };
};

async function startOwn(program: string, config = ''): Promise<BackendServer> {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-nats-'));
  const port = await freeLocalPort();
  const file = join(folder, 'nats.conf');
  await writeFile(file, config);
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    if (isRunningChild(child)) return;
    const started = spawn(program, ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', folder, '-c', file], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child = started;
    let output = '';
    started.stderr.on('data', (data: Buffer) => void (output = (output + data.toString()).slice(-4_000)));
    const end = performance.now() + startMs;
    while (!(await answers({ host: '127.0.0.1', port }))) {
      if (started.exitCode !== null || performance.now() > end) {
        throw new Error(`nats-server did not start: ${output.trim()}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const kill = async (): Promise<void> => {
    if (!isRunningChild(child)) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const stop = async (): Promise<void> => {
    await kill();
    await rm(folder, { recursive: true, force: true });
  };
  // Kill the server with the test run, also when the run dies.
  atProcessEnd(() => child?.kill('SIGKILL'));
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `nats://127.0.0.1:${port}`, data: folder, mayBeKilled: true, kill, start, stop };
}

/** True when the server has sent INFO, which every NATS server sends first. */
function answers({ host, port }: { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    const end = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    socket.once('data', (data) => end(data.toString().startsWith('INFO')));
    socket.once('error', () => end(false));
    socket.setTimeout(1_000, () => end(false));
  });
}
