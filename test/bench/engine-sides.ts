/** A scheduling service on each available pair of broker and database, and its driver. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dropNatsPrefix } from '@anneal/bus/nats/drop.ts';
import { openBus } from '@anneal/bus/open.ts';
import { createMint, type Envelope } from '@anneal/contracts/envelope.ts';
import type { CallDefinition } from '@anneal/contracts/define.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext } from '@anneal/runtime/testing.ts';
import { schedulingService } from '@anneal/scheduling/service.ts';
import { dropDatabase } from '@anneal/store/mongodb/drop.ts';
import { openStore } from '@anneal/store/open.ts';
import type { Store } from '@anneal/store/port.ts';
import { v7 } from 'uuid';
import { createLog } from '@anneal/runtime/observe/log.ts';
import { databaseUrl, findMongodb } from '../backends/mongodb.ts';
import { findNats } from '../backends/nats.ts';
import { findRabbitmq } from '../backends/rabbitmq.ts';
import { countedBus, countedStore, noCounts, type Counts } from './counted.ts';

const log = createLog({ level: 'silent', format: 'json' });
export const project = '00000000000000000000000000000001';

export interface Engine {
  readonly counts: Counts;
  readonly store: Store;
  ask<Q, A>(call: CallDefinition<Q, A>, data: Q): Promise<A>;
  /** Resolves when an event of one of these types about this stack is published. */
  nextEvent(stack: string, types: readonly string[]): Promise<Envelope>;
  close(): Promise<void>;
}

export interface EngineSource {
  readonly name: string;
  open(): Promise<Engine | { readonly missing: string }>;
}

interface Urls {
  readonly bus: string;
  readonly store: string;
  readonly directory: string;
  readonly close: () => Promise<void>;
}

async function engineOn(urls: Urls): Promise<Engine> {
  const counts = noCounts();
  const now = (): Date => new Date();
  const newId = (): string => v7();
  const store = await openStore({ url: urls.store });
  const bus = await openBus({ url: urls.bus, source: 'anneal/bench', store, registry, newId, now, log });
  const context = await createTestContext({
    name: 'scheduling',
    bus: countedBus(bus, counts),
    store: countedStore(store, counts),
    directory: urls.directory,
  });
  const settings = readSettings(schedulingService.settings, {});
  const service = await schedulingService.start(context, settings);
  const waiting = new Map<string, { types: readonly string[]; resolve: (event: Envelope) => void }>();
  const listener = await bus.subscribe(['stack.#'], async ({ message }) => {
    const waits = waiting.get(message.subject ?? '');
    if (!waits?.types.includes(message.type)) return;
    waiting.delete(message.subject ?? '');
    waits.resolve(message);
  });
  const mint = createMint({ source: 'anneal/bench', newId, now });
  return {
    counts,
    store,
    ask: (call, data) =>
      bus.request({
        queue: requestsQueue('scheduling'),
        call,
        message: mint(call, { data, project }),
        timeoutMs: 120_000,
      }),
    nextEvent: (stack, types) => new Promise((resolve) => waiting.set(stack, { types, resolve })),
    async close() {
      await listener.stop();
      await service.stop();
      await bus.close();
      await store.close();
      await urls.close();
    },
  };
}

const folder = () => mkdtemp(join(tmpdir(), 'anneal-bench-'));
const unique = (): string => `bench${randomBytes(4).toString('hex')}`;

export const embeddedEngine: EngineSource = {
  name: 'embedded',
  async open() {
    const directory = await folder();
    return engineOn({
      bus: `sqlite:${directory}/bus.db`,
      store: `sqlite:${directory}/store.db`,
      directory,
      close: () => rm(directory, { recursive: true, force: true }),
    });
  },
};

const distributed = (
  name: string,
  broker: () => Promise<{ url: string; drop: () => Promise<void> } | { missing: string }>,
): EngineSource => ({
  name,
  async open() {
    const bus = await broker();
    if ('missing' in bus) return bus;
    const database = await findMongodb();
    if ('missing' in database) {
      await bus.drop();
      return database;
    }
    const directory = await folder();
    const store = databaseUrl(database.url, `anneal_${unique()}`);
    return engineOn({
      bus: bus.url,
      store,
      directory,
      async close() {
        await bus.drop();
        await dropDatabase(store);
        await database.stop();
        await rm(directory, { recursive: true, force: true });
      },
    });
  },
});

export const rabbitmqEngine = distributed('rabbitmq + mongodb', async () => {
  const server = await findRabbitmq();
  if ('missing' in server) return server;
  return { url: `${server.url}${server.url.includes('?') ? '&' : '?'}prefix=${unique()}.`, drop: () => server.stop() };
});

export const natsEngine = distributed('nats + mongodb', async () => {
  const server = await findNats();
  if ('missing' in server) return server;
  const prefix = unique();
  return {
    url: `${server.url}${server.url.includes('?') ? '&' : '?'}prefix=${prefix}`,
    async drop() {
      if (!server.mayBeKilled) await dropNatsPrefix({ url: `${server.url}?prefix=${prefix}`, log });
      await server.stop();
    },
  };
});
