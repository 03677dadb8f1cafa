/**
 * Every service in its own process, supervised like under systemd or Kubernetes: a process that dies is started again
 * a moment later, without notice to the others. The lab runs beside them.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { prepareCredentials } from '@anneal/cli/serve/credentials.ts';
import { enrolMachines } from '@anneal/cli/serve/enrol.ts';
import { startLabProcess } from '@anneal/cli/serve/lab.ts';
import { connect, type Client } from '@anneal/client/connect.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { freeLocalPort } from '../../backends/free-port.ts';
import { ownEnvironment, repository } from '../server.ts';
import type { Backends, Fleet, ServiceProcess } from './distributed.ts';

const usualServices = [
  'identity',
  'templating',
  'scheduling',
  'scheduling',
  'provisioning',
  'configuration',
  'configuration',
  'notification',
  'gateway',
];
const restartMs = 300;
const startMs = 120_000;

export interface SupervisedOptions extends Backends {
  readonly lab: number;
  /** Settings of every process at its start. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Settings of one process, e.g. `scheduling-2`. */
  readonly settingsOf?: (name: string) => Promise<Readonly<Record<string, string>>>;
  /** A process for each; the same service may be there several times. */
  readonly services?: readonly string[];
  /** The address that clients and hosts know. Default: that of the first gateway. */
  readonly url?: string;
  /** The sources of a process, asked at each of its starts. Default: this tree. */
  readonly treeOf?: (name: string) => string;
}

export interface SupervisedFleet extends Fleet {
  /** Starts one more process of a service. */
  add(service: string): void;
}

export async function startSupervised(options: SupervisedOptions): Promise<SupervisedFleet> {
  const { broker, database, services = usualServices } = options;
  const data = await mkdtemp(join(tmpdir(), 'anneal-e2e-'));
  const port = await freeLocalPort();
  const { url = `http://127.0.0.1:${port}`, treeOf = () => repository } = options;
  const login = await prepareCredentials({ dataDirectory: data, url, password: undefined });
  const environment = {
    ...ownEnvironment(),
    ANNEAL_LOG_LEVEL: 'warn',
    ANNEAL_LOG_FORMAT: 'json',
    ANNEAL_DATA: data,
    ANNEAL_BUS_URL: broker.url,
    ANNEAL_STORE_URL: database.url,
    ANNEAL_GATEWAY_URL: url,
    ANNEAL_GATEWAY_PORT: String(port),
    ANNEAL_GATEWAY_ADMIN_PASSWORD: login.password,
  };
  const lines: string[] = [];
  const running = new Map<string, { service: string; healthPort: number; child: ChildProcess }>();
  const stopping = new AbortController();

  const keep = async (name: string, service: string): Promise<void> => {
    const healthPort = await freeLocalPort();
    const own = await options.settingsOf?.(name);
    while (!stopping.signal.aborted) {
      const child = spawn(process.execPath, [join('services', service, 'main.ts')], {
        cwd: treeOf(name),
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...environment, ...options.settings, ...own, ANNEAL_HEALTH_PORT: String(healthPort) },
      });
      running.set(name, { service, healthPort, child });
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk: Buffer) => {
          lines.push(`${name}: ${chunk.toString()}`);
          if (lines.length > 500) lines.splice(0, 250);
        });
      }
      await once(child, 'exit');
      await delay(restartMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const supervised: Promise<void>[] = [];
  const counts = new Map<string, number>();
  const add = (service: string): void => {
    const count = (counts.get(service) ?? 0) + 1;
    counts.set(service, count);
    supervised.push(keep(`${service}-${count}`, service));
  };
  for (const service of services) add(service);

  const output = (): string => lines.join('').slice(-6000);
  let lab: Awaited<ReturnType<typeof startLabProcess>> | undefined;
  const dispose = async (): Promise<void> => {
    stopping.abort();
    for (const { child } of running.values()) child.kill('SIGTERM');
    await Promise.all(supervised);
    await lab?.stop();
    await broker.stop();
    await database.stop();
    await rm(data, { recursive: true, force: true, maxRetries: 5 });
  };
  const answering = async () =>
    connect({
      authUrl: login.auth_url,
      username: login.username,
      password: login.password,
      project: login.project_name,
    }).catch(() => undefined);
  const ready = async (): Promise<Client> => {
    const client = await eventually(answering, { within: startMs, what: 'the gateway answering', last: output });
    if (options.lab === 0) return client;
    lab = await startLabProcess({
      folder: join(data, 'lab'),
      machines: options.lab,
      environment: process.env,
      signal: stopping.signal,
    });
    await enrolMachines({ client, lab });
    await eventually(
      async () =>
        (await client.nodes.list()).filter(({ provision_state }) => provision_state === 'available').length >=
        options.lab
          ? true
          : undefined,
      { within: startMs, what: `${options.lab} nodes being available`, last: output },
    );
    return client;
  };
  const client = await ready().catch(async (error: unknown) => {
    await dispose();
    throw error;
  });
  return {
    data,
    client,
    broker,
    database,
    output,
    processes: async () =>
      [...running].map(([name, { service, healthPort, child }]): ServiceProcess => ({
        name,
        service,
        pid: child.pid ?? 0,
        health_port: healthPort,
      })),
    add,
    dispose,
  };
}
