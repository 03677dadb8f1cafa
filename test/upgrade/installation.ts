/** An installation of which each process may run the sources of another revision. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect as connectTo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { connect, type Client } from '@anneal/client/connect.ts';
import { enrolMachines } from '@anneal/cli/serve/enrol.ts';
import type { RunningLab } from '@anneal/cli/serve/lab.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { freeLocalPort } from '../backends/free-port.ts';
import { ownEnvironment } from '../e2e/server.ts';

const startMs = 180_000;

/** A program of a tree that runs until it is stopped. */
class Program {
  readonly #child: ChildProcess;
  #output = '';

  constructor(tree: string, words: readonly string[], environment: Record<string, string> = {}) {
    this.#child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...words], {
      cwd: tree,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...ownEnvironment(), ...environment },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.#output = (this.#output + chunk.toString()).slice(-20_000)));
    }
  }

  /** The last lines of the output. @throws when the program has ended */
  running(): string {
    if (this.#child.exitCode === null) return this.#output;
    throw new Error(`A program ended with ${this.#child.exitCode}:\n${this.#output.slice(-4000)}`);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }
}

export interface TreeOptions {
  readonly data: string;
  readonly port: number;
  /** The address that clients and machines know. */
  readonly url: string;
  readonly password: string;
  readonly flags?: readonly string[];
  readonly environment?: Record<string, string>;
}

/** Starts all services of a tree in one process. Resolves when they are ready. */
export async function startTree(tree: string, options: TreeOptions): Promise<Program> {
  const { data, port, url, password, flags = [], environment } = options;
  const words = ['services/cli/main.ts', 'serve', '--data', data, '--port', String(port), '--no-lab', ...flags];
  const server = new Program(tree, words, {
    ANNEAL_LOG_LEVEL: 'warn',
    ANNEAL_GATEWAY_URL: url,
    ANNEAL_GATEWAY_ADMIN_PASSWORD: password,
    ...environment,
  });
  try {
    await eventually(() => /^ {2}nodes {2,}\d+$/m.test(server.running()), { within: startMs, what: 'a server' });
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

export const logInAsAdmin = ({ url, password }: Pick<TreeOptions, 'url' | 'password'>): Promise<Client> =>
  connect({ authUrl: `${url}/identity/v3`, username: 'admin', password, project: 'admin' });

/** Starts the machines of a tree, with its agents, and enrols them. They run on while servers stop and start. */
export async function startMachines(
  tree: string,
  options: { folder: string; client: Client; machines: number },
): Promise<Program> {
  const { folder, client, machines } = options;
  const program = new Program(tree, ['deploy/lab/main.ts', '--data', folder, '--machines', String(machines)]);
  const lab = await eventually(
    async () => {
      program.running();
      const text = await readFile(join(folder, 'lab.json'), 'utf8').catch(() => undefined);
      return text === undefined ? undefined : (JSON.parse(text) as RunningLab);
    },
    { within: startMs, what: 'the machines' },
  );
  await enrolMachines({ client, lab });
  return program;
}

/** An address that leads to any server that listens, as a load balancer does. */
export async function startBalancer(ports: readonly number[]): Promise<{ url: string; close: () => void }> {
  let turn = 0;
  const balancer: Server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    turn += 1;
    const tryPort = (attempt: number): void => {
      const to = connectTo(ports[(turn + attempt) % ports.length] ?? 0, '127.0.0.1');
      let isConnected = false;
      to.once('connect', () => {
        isConnected = true;
        socket.pipe(to).pipe(socket);
      });
      socket.once('close', () => to.destroy());
      to.on('error', () => to.destroy());
      to.once('close', () => {
        if (isConnected || attempt + 1 === ports.length) socket.destroy();
        else tryPort(attempt + 1);
      });
    };
    tryPort(0);
  });
  const port = await freeLocalPort();
  balancer.listen(port, '127.0.0.1');
  await once(balancer, 'listening');
  return { url: `http://127.0.0.1:${port}`, close: () => balancer.close() };
}
