/** Anneal on a real broker and a real database: one process per service, two of scheduling and configuration. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { findMongodb } from '../../backends/mongodb.ts';
import { findNats } from '../../backends/nats.ts';
import { findRabbitmq } from '../../backends/rabbitmq.ts';
import type { BackendServer, FindBackend } from '../../backends/backend.ts';
import { startServer, type TestServer, type Watched } from '../server.ts';
import { reportSkipped } from '../../backends/missing.ts';

/** The short form of the soak, which takes minutes. */
export const isShort = process.env['ANNEAL_TEST_SOAK'] === 'short';

export const brokers: readonly { name: string; find: FindBackend }[] = [
  { name: 'RabbitMQ', find: findRabbitmq },
  { name: 'NATS', find: findNats },
];

export interface Backends {
  readonly broker: BackendServer;
  readonly database: BackendServer;
}

export interface ServiceProcess {
  readonly name: string;
  readonly service: string;
  readonly pid: number;
  readonly health_port: number;
}

/** Services in separate processes, with any supervisor. */
export interface Fleet extends Watched, Backends {
  readonly data: string;
  processes(): Promise<ServiceProcess[]>;
  dispose(): Promise<void>;
}

export interface Distributed extends TestServer, Fleet {
  dispose(): Promise<void>;
}

/** Undefined, with the reason on standard error, when a backend is not available. */
export async function findBackends(find: FindBackend): Promise<Backends | undefined> {
  const [broker, database] = await Promise.all([find(), findMongodb()]);
  if (!('missing' in broker) && !('missing' in database)) return { broker, database };
  const missing: string[] = [];
  for (const found of [broker, database]) {
    if ('missing' in found) missing.push(found.missing);
    else await found.stop();
  }
  reportSkipped('the product on real brokers and a database', missing.join(' '));
  return undefined;
}

const startMs = 120_000;

/** Whether a process says that it takes work. */
export const isReady = ({ health_port: port }: ServiceProcess): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(10_000) }).then(
    ({ ok }) => ok,
    () => false,
  );

/** Services that `anneal serve --separate` starts and supervises. */
export async function startDistributed(
  options: Backends & { lab: number; env?: Record<string, string> },
): Promise<Distributed> {
  const { broker, database, env = {}, lab } = options;
  const stopBackends = async (): Promise<void> => {
    await broker.stop();
    await database.stop();
  };
  const server = await startServer({
    lab,
    env,
    flags: [
      '--separate',
      '--bus',
      broker.url,
      '--store',
      database.url,
      '--replicas',
      'scheduling=2',
      '--replicas',
      'configuration=2',
    ],
  }).catch(async (error: unknown) => {
    await stopBackends();
    throw error;
  });
  const dispose = async (): Promise<void> => {
    await server.dispose();
    await stopBackends();
  };
  const processes = async (): Promise<ServiceProcess[]> =>
    JSON.parse(await readFile(join(server.data, 'processes.json'), 'utf8')) as ServiceProcess[];
  // The gateway answers before the others.
  await eventually(
    async () => ((await Promise.all((await processes()).map(isReady))).every(Boolean) ? true : undefined),
    {
      within: startMs,
      what: 'every process being ready',
      last: () => server.output(),
    },
  ).catch(async (error: unknown) => {
    await dispose();
    throw error;
  });
  return {
    ...server,
    get client() {
      return server.client;
    },
    broker,
    database,
    processes,
    dispose,
  };
}
