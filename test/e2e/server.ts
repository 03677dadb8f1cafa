/** A real server for tests: `anneal serve` with its lab in a separate process, with its own folder and ports. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, type Client } from '@anneal/client/connect.ts';
import type { Resource, Stack } from '@anneal/client/representation.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { freeLocalPort } from '../backends/free-port.ts';
import { findMongodb } from '../backends/mongodb.ts';
import { findNats } from '../backends/nats.ts';
import { findRabbitmq } from '../backends/rabbitmq.ts';
import { isRunningChild } from '../processes.ts';

/** Enough for ten processes that start at once on two busy processors. */
const startMs = 180_000;

export const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

export interface TestServer {
  readonly data: string;
  /** Data folders of the broker and the database that the test started. */
  readonly backends: readonly string[];
  readonly url: string;
  /** The store of the server, for what only a version before could have written. Open it while the server is down. */
  readonly storeUrl: string;
  readonly client: Client;
  /** Password of the administrator. */
  readonly password: string;
  /** The id of its process. Undefined while it does not run. */
  readonly pid: number | undefined;
  /** Kills the server without notice, like a power cut. The lab continues. */
  kill(): Promise<void>;
  /** Starts again on the same data and port. */
  start(): Promise<void>;
  /** Starts the server and kills it after this many milliseconds, even during its start. */
  startAndKill(afterMs: number): Promise<void>;
  /** Runs the command line with this server. Returns the exit status and the output. */
  anneal(...words: string[]): Promise<{ status: number; stdout: string; stderr: string }>;
  /** Log lines of the configs on a lab machine, oldest first. */
  logOf(machine: string): Promise<string[]>;
  /** Stops server and lab, and removes the folder. */
  dispose(): Promise<void>;
  /** The last log lines of the server, for the report of a failure. */
  output(): string;
  /** The whole log of the server since its first start. */
  log(): string;
}

/** The part of a server that is needed to watch a stack. */
export type Watched = Pick<TestServer, 'client' | 'output'>;

export interface TestServerOptions {
  lab: number;
  env?: Record<string, string>;
  /** The host in the address under which machines reach the server. Default: that of the server. */
  gatewayHost?: string;
  /** More arguments of `anneal serve`, e.g. `--bus`, `--store`, `--separate`. */
  flags?: readonly string[];
  /** The folder with the sources of the server. Default: these ones. */
  sources?: string;
}

/** A real broker and a real database. The project of the test runner names the broker, and whether each service has a process. */
async function chosenBackends(): Promise<
  { flags: string[]; folders: string[]; stop: () => Promise<void> } | undefined
> {
  const chosen = process.env['ANNEAL_TEST_BROKER'];
  if (chosen === undefined) return undefined;
  const [broker, database] = await Promise.all([chosen === 'nats' ? findNats() : findRabbitmq(), findMongodb()]);
  if ('missing' in broker) throw new Error(broker.missing);
  if ('missing' in database) throw new Error(database.missing);
  return {
    flags: [
      ...(process.env['ANNEAL_TEST_SEPARATE'] === 'true' ? ['--separate'] : []),
      '--bus',
      broker.url,
      '--store',
      database.url,
    ],
    folders: [broker, database].flatMap(({ data }) => data ?? []),
    async stop() {
      await Promise.all([broker.stop(), database.stop()]);
    },
  };
}

export async function startServer(options: TestServerOptions): Promise<TestServer> {
  const backends = options.flags ? undefined : await chosenBackends();
  const flags = options.flags ?? backends?.flags ?? [];
  const data = await mkdtemp(join(tmpdir(), 'anneal-e2e-'));
  const port = await freeLocalPort();
  const url = `http://127.0.0.1:${port}`;
  const lines: string[] = [];
  let child: ChildProcess | undefined;
  let client: Client | undefined;

  const spawnServer = () => {
    const started = spawn(
      process.execPath,
      ['services/cli/main.ts', 'serve', '--data', data, '--port', String(port), '--lab', String(options.lab), ...flags],
      {
        cwd: options.sources ?? repository,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...ownEnvironment(),
          ANNEAL_LOG_LEVEL: 'warn',
          ...(options.gatewayHost && { ANNEAL_GATEWAY_URL: `http://${options.gatewayHost}:${port}` }),
          ...options.env,
        },
      },
    );
    child = started;
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        lines.push(chunk.toString());
        if (lines.length > 500) lines.splice(0, 250);
      });
    }
    return started;
  };

  const start = async (): Promise<void> => {
    const started = spawnServer();
    client = await eventually(
      async () => {
        if (started.exitCode !== null) throw new Error(`serve ended with ${started.exitCode}:\n${lines.join('')}`);
        try {
          const login = JSON.parse(await readFile(join(data, 'credentials.json'), 'utf8')) as Record<string, string>;
          return await connect({
            authUrl: String(login['auth_url']),
            username: String(login['username']),
            password: String(login['password']),
            project: String(login['project_name']),
          });
        } catch {
          return undefined;
        }
      },
      { within: startMs, what: 'the server answering', last: () => lines.join('').slice(-2000) },
    );
    const ready = client;
    await eventually(
      async () => {
        const nodes = await ready.nodes.list();
        return nodes.length >= options.lab &&
          nodes.every(
            (node) => !['enroll', 'verifying', 'inspecting', 'manageable'].includes(String(node.provision_state)),
          )
          ? true
          : undefined;
      },
      { what: `${options.lab} nodes being known`, last: () => lines.join('').slice(-2000) },
    );
  };

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child;
    child = undefined;
    if (!isRunningChild(ending)) return;
    const exited = new Promise<void>((resolve) => ending.once('exit', () => resolve()));
    ending.kill(signal);
    await exited;
  };

  await start().catch(async (error: unknown) => {
    await end('SIGTERM');
    await backends?.stop();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The server did not start: ${reason}\n${lines.join('').slice(-4000)}`, { cause: error });
  });
  return {
    data,
    backends: backends?.folders ?? [],
    url,
    storeUrl: flags.includes('--store')
      ? String(flags[flags.indexOf('--store') + 1])
      : `sqlite:${join(data, 'store.db')}`,
    get client() {
      if (!client) throw new Error('the server has not been started');
      return client;
    },
    get password() {
      const text = readFileSync(join(data, 'credentials.json'), 'utf8');
      return String((JSON.parse(text) as Record<string, string>)['password']);
    },
    get pid() {
      return child?.pid;
    },
    kill: () => end('SIGKILL'),
    start,
    async startAndKill(afterMs) {
      spawnServer();
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await end('SIGKILL');
    },
    anneal: (...words) =>
      new Promise((resolve) => {
        const command = spawn(process.execPath, ['services/cli/main.ts', ...words], {
          cwd: repository,
          env: { ...ownEnvironment(), ANNEAL_DATA: data, NO_COLOR: '1' },
        });
        let stdout = '';
        let stderr = '';
        command.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
        command.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
        command.once('close', (status) => resolve({ status: status ?? -1, stdout, stderr }));
      }),
    async logOf(machine) {
      const text = await readFile(join(data, 'lab', 'machines', machine, 'log', 'messages'), 'utf8').catch(() => '');
      return text.split('\n').filter((line) => line !== '');
    },
    async dispose() {
      await end('SIGTERM');
      // After a kill the lab has no server to stop it.
      const lab = await readFile(join(data, 'lab', 'lab.json'), 'utf8').catch(() => undefined);
      if (lab) {
        const { pid } = JSON.parse(lab) as { pid: number };
        try {
          process.kill(pid, 'SIGTERM');
          await eventually(() => (isAlive(pid) ? undefined : true), { what: 'the lab ending' });
        } catch {
          // The process has already ended.
        }
      }
      await backends?.stop();
      await rm(data, { recursive: true, force: true, maxRetries: 5 });
    },
    output: () => lines.join('').slice(-6000),
    log: () => lines.join(''),
  };
}

/** The environment without the settings of the tests and the developer, because the server refuses unknown names. */
export const ownEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(ANNEAL|OS)_/.test(name)));

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Repeats a request that failed because its process died. A repeat that finds the work done (`AlreadyExists`, `NotFound`)
 * succeeds.
 */
export async function withClientRetries(ask: () => Promise<unknown>, within = 60_000): Promise<void> {
  let last: unknown;
  await eventually(
    async () => {
      try {
        await ask();
        return true;
      } catch (error) {
        last = error instanceof Error ? error.message : error;
        const code = error instanceof AnnealError ? error.code : '';
        if (code === 'AlreadyExists' || code === 'NotFound') return true;
        if (code === 'Unavailable' || code === 'TimedOut') return undefined;
        throw error;
      }
    },
    { within, what: 'an answer to the request', last: () => last },
  );
}

/** Waits until a stack is no longer in progress. The server may be down for a while. */
export async function settled(server: Watched, stack: string, within = 60_000): Promise<Stack> {
  let last: unknown;
  return eventually(
    async () => {
      try {
        const found = await server.client.stacks.show({ stack, outputs: true });
        last = { status: found.stack_status, reason: found.stack_status_reason };
        return found.stack_status.endsWith('IN_PROGRESS') ? undefined : found;
      } catch (error) {
        last = error instanceof Error ? error.message : error;
        return undefined;
      }
    },
    { within, what: `stack ${stack} being settled`, last: () => ({ last, server: server.output().slice(-3000) }) },
  );
}

/** Waits until a stack can no longer be found by its name. */
export async function deleted(server: Watched, stack: string, within = 60_000): Promise<void> {
  let last: unknown;
  await eventually(
    async () => {
      try {
        const found = await server.client.stacks.show({ stack });
        last = { status: found.stack_status, reason: found.stack_status_reason };
        return found.stack_status === 'DELETE_COMPLETE' ? true : undefined;
      } catch (error) {
        last = error instanceof Error ? error.message : error;
        return error instanceof Error && 'code' in error && error.code === 'NotFound' ? true : undefined;
      }
    },
    { within, what: `stack ${stack} being deleted`, last: () => ({ last, server: server.output().slice(-3000) }) },
  );
}

export const bundle = (template: string, files: Record<string, string> = {}) => ({
  template,
  environmentFiles: [],
  files,
});

export async function resourcesOfStack(server: TestServer, stack: string): Promise<Map<string, Resource>> {
  const resources = await server.client.stacks.resources({ stack, detail: true });
  return new Map(resources.map((resource) => [resource.resource_name, resource]));
}
