/** A server with its broker and database, and a fleet of emulated hosts: each in processes of its own. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Client } from '@anneal/client/connect.ts';
import { createLog } from '@anneal/runtime/observe/log.ts';
import { dropNatsPrefix } from '@anneal/bus/nats/drop.ts';
import { dropDatabase } from '@anneal/store/mongodb/drop.ts';
import { freeLocalPort } from '../../backends/free-port.ts';
import { databaseUrl, findMongodb } from '../../backends/mongodb.ts';
import { findNats } from '../../backends/nats.ts';
import { findRabbitmq } from '../../backends/rabbitmq.ts';
import { BenchChild } from './child.ts';
import type { FleetAnswer, FleetQuestion, FleetSeen } from './fleet-process.ts';
import type { BenchHost, ServerAnswer, ServerQuestion, ServerUse } from './server-process.ts';

export interface HostBackend {
  readonly name: string;
  open(): Promise<Opened | { readonly missing: string }>;
}

interface Opened {
  /** New queues and a new database for one server. */
  fresh(): { readonly bus?: string; readonly store?: string; readonly drop: () => Promise<void> };
  close(): Promise<void>;
}

export const embeddedHosts: HostBackend = {
  name: 'embedded',
  open: () => Promise.resolve({ fresh: () => ({ drop: () => Promise.resolve() }), close: () => Promise.resolve() }),
};

const log = createLog({ level: 'silent', format: 'json' });
const joined = (url: string, more: string): string => `${url}${url.includes('?') ? '&' : '?'}${more}`;

const onBroker = (name: 'rabbitmq' | 'nats'): HostBackend => ({
  name: `${name} + mongodb`,
  async open() {
    const broker = await (name === 'nats' ? findNats() : findRabbitmq());
    if ('missing' in broker) return broker;
    const database = await findMongodb();
    if ('missing' in database) {
      await broker.stop();
      return database;
    }
    return {
      fresh() {
        const id = `bench${randomBytes(4).toString('hex')}`;
        const store = databaseUrl(database.url, `anneal_${id}`);
        return {
          bus: joined(broker.url, name === 'nats' ? `prefix=${id}` : `prefix=${id}.`),
          store,
          async drop() {
            await dropDatabase(store);
            if (name === 'nats') await dropNatsPrefix({ url: joined(broker.url, `prefix=${id}`), log });
          },
        };
      },
      async close() {
        await broker.stop();
        await database.stop();
      },
    };
  },
});
export const brokerHosts: readonly HostBackend[] = [onBroker('rabbitmq'), onBroker('nats')];

export interface HostSite {
  readonly client: Client;
  readonly hosts: readonly BenchHost[];
  /** The environment with which the command line finds the server. */
  readonly environment: NodeJS.ProcessEnv;
  /** The id of the server's process. */
  readonly pid: number;
  use(): Promise<ServerUse>;
  /** Live memory of the server in bytes. */
  memory(): Promise<number>;
  /** Connects all hosts at once, which then wait so long for each request. Resolves when the server has accepted their first messages. */
  connectHosts(options?: { waitSeconds?: number }): Promise<void>;
  /** Resolves when so many deployments have completed since the last `use`. */
  completed(count: number, withinMs: number): Promise<void>;
  /** The observations of the hosts since the last call. */
  seen(): Promise<FleetSeen>;
  close(): Promise<void>;
}

const password = 'bench of hosts';

/** `more` are further settings of the server. */
export async function openSite(backend: Opened, count: number, more: NodeJS.ProcessEnv = {}): Promise<HostSite> {
  const fresh = backend.fresh();
  const data = await mkdtemp(join(tmpdir(), 'anneal-bench-hosts-'));
  const port = await freeLocalPort();
  const url = `http://127.0.0.1:${port}`;
  const server = new BenchChild<ServerQuestion, ServerAnswer>('./server-process.ts', {
    environment: {
      ANNEAL_DATA: data,
      ANNEAL_LOG_LEVEL: 'warn',
      ANNEAL_GATEWAY_URL: url,
      ANNEAL_GATEWAY_PORT: String(port),
      ANNEAL_GATEWAY_ADMIN_PASSWORD: password,
      ANNEAL_CONFIGURATION_PROJECT_HOSTS: '100000',
      ...more,
      ...(fresh.bus !== undefined && { ANNEAL_BUS_URL: fresh.bus }),
      ...(fresh.store !== undefined && { ANNEAL_STORE_URL: fresh.store }),
    },
  });
  const fleet = new BenchChild<FleetQuestion, FleetAnswer>('./fleet-process.ts', {});
  const close = async (): Promise<void> => {
    await fleet.stop();
    await server.stop();
    await fresh.drop();
    await rm(data, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await Promise.all([server.answer('ready'), fleet.answer('ready')]);
    const client = await connect({ authUrl: `${url}/identity/v3`, username: 'admin', password, project: 'admin' });
    const project = (await client.hosts.join({ host: 'first' })).host.project;
    await client.hosts.delete({ host: 'first' });
    const { hosts } = await server.ask({ kind: 'hosts', project, from: 0, count }, 'hosts', 300_000);
    return {
      client,
      hosts,
      environment: {
        OS_AUTH_URL: `${url}/identity/v3`,
        OS_USERNAME: 'admin',
        OS_PASSWORD: password,
        OS_PROJECT_NAME: 'admin',
      },
      pid: server.pid,
      use: () => server.ask({ kind: 'use' }, 'use'),
      memory: async () => (await server.ask({ kind: 'memory' }, 'memory')).bytes,
      async connectHosts({ waitSeconds } = {}) {
        fleet.tell({ kind: 'start', url, project, hosts, ...(waitSeconds !== undefined && { waitSeconds }) });
        await fleet.ask({ kind: 'await', hellos: count }, 'reached', 300_000);
      },
      async completed(deployments, withinMs) {
        await server.ask({ kind: 'await', completed: deployments }, 'reached', withinMs);
      },
      seen: () => fleet.ask({ kind: 'take' }, 'seen'),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
