/** The available buses, each with its raw driver. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dropNatsPrefix } from '@anneal/bus/nats/drop.ts';
import { openBus } from '@anneal/bus/open.ts';
import type { Bus } from '@anneal/bus/port.ts';
import { openRawNats } from '@anneal/bus/raw/nats.ts';
import type { RawPipe } from '@anneal/bus/raw/pipe.ts';
import { openRawRabbitmq } from '@anneal/bus/raw/rabbitmq.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { timerFired } from '@anneal/contracts/calls/stacks.ts';
import { createLog } from '@anneal/runtime/observe/log.ts';
import { openStore } from '@anneal/store/open.ts';
import { v7 } from 'uuid';
import { findNats } from '../backends/nats.ts';
import { findRabbitmq } from '../backends/rabbitmq.ts';
import { cheapId } from './id.ts';
import type { Side } from './load.ts';
import { RawSqlite } from './raw-sqlite.ts';

const log = createLog({ level: 'silent', format: 'json' });
const withQuery = (url: string, query: string): string => `${url}${url.includes('?') ? '&' : '?'}${query}`;

/** A small real message, about 400 bytes of JSON. It is cheap to create, so that neither side waits for the load. */
export function mintBenchMessage(key: string): Envelope {
  return {
    specversion: '1.0',
    id: cheapId(),
    type: timerFired.type,
    source: 'anneal/bench',
    subject: '00000000-0000-0000-0000-000000000000',
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    correlationid: '01981d3f-0000-7000-8000-000000000000',
    data: { stack_id: '00000000-0000-0000-0000-000000000000', timer: key, traversal: 'bench' },
  };
}

export interface Backend {
  /** Product and version of the server. */
  readonly server: string;
  readonly adapter: Side;
  readonly raw: Side | RawSqlite;
  close(): Promise<void>;
}

export interface MessageSource {
  readonly name: string;
  /** Opens the backend, or gives the reason why it is not available. */
  open(queues: readonly string[]): Promise<Backend | { readonly missing: string }>;
}

async function folder(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'anneal-bench-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Declares the queues in advance, so that a bench measures only the work on queues. */
async function busSide(options: { name: string; url: string; directory: string; queues: readonly string[] }) {
  const store = await openStore({ url: `sqlite:${options.directory}/store.db` });
  const { url } = options;
  const bus = await openBus({
    url,
    source: 'anneal/bench',
    store,
    registry,
    newId: () => v7(),
    now: () => new Date(),
    log,
  });
  await Promise.all(options.queues.map((queue) => bus.queues.declare(queue)));
  const side: Side = {
    name: options.name,
    send: (queue, messages) => bus.send({ queue, messages }),
    async consume(queue, handle, prefetch) {
      const consumer = await bus.consume(queue, ({ message }) => handle(message), { concurrency: prefetch });
      return () => consumer.stop();
    },
    async close() {
      await bus.close();
      await store.close();
    },
  };
  return { side, bus };
}

async function rawSide(name: string, pipe: RawPipe, queues: readonly string[]): Promise<Side> {
  await Promise.all(queues.map((queue) => pipe.prepare(queue)));
  return {
    name,
    send: (queue, messages) =>
      pipe.send(
        queue,
        messages.map((message) => JSON.stringify(message)),
      ),
    consume: (queue, handle, prefetch) => pipe.consume(queue, (text) => handle(JSON.parse(text) as Envelope), prefetch),
    close: () => pipe.close(),
  };
}

export const embedded = (synchronous: 'normal' | 'full'): MessageSource => ({
  name: `embedded, ${synchronous}`,
  async open(queues) {
    const { path, remove } = await folder();
    const url = `sqlite:${path}/bus.db?synchronous=${synchronous}`;
    const { side } = await busSide({ name: this.name, url, directory: path, queues });
    const raw = new RawSqlite({ file: join(path, 'raw.db'), synchronous, mint: mintBenchMessage });
    return {
      server: `SQLite ${process.versions['sqlite'] ?? ''}`,
      adapter: side,
      raw,
      async close() {
        await side.close();
        raw.close();
        await remove();
      },
    };
  },
});

export const rabbitmq: MessageSource = {
  name: 'rabbitmq',
  async open(queues) {
    const server = await findRabbitmq();
    if ('missing' in server) return server;
    const { path, remove } = await folder();
    const url = withQuery(server.url, `prefix=bench${randomBytes(4).toString('hex')}.`);
    const { side, bus } = await busSide({ name: this.name, url, directory: path, queues });
    const pipe = await openRawRabbitmq({ url });
    const raw = await rawSide('raw amqplib', pipe, queues);
    return {
      server: pipe.server,
      adapter: side,
      raw,
      async close() {
        await raw.close();
        if (!server.mayBeKilled) await removeAll(bus);
        await side.close();
        await server.stop();
        await remove();
      },
    };
  },
};

async function removeAll(bus: Bus): Promise<void> {
  for (const { name } of await bus.queues.list()) await bus.queues.remove(name);
}

export const nats: MessageSource = {
  name: 'nats',
  async open(queues) {
    const server = await findNats();
    if ('missing' in server) return server;
    const { path, remove } = await folder();
    const name = `bench${randomBytes(4).toString('hex')}`;
    const url = withQuery(server.url, `prefix=${name}`);
    const { side } = await busSide({ name: this.name, url, directory: path, queues });
    const pipe = await openRawNats({ url, name: `${name}-raw` });
    const raw = await rawSide('raw jetstream', pipe, queues);
    return {
      server: pipe.server,
      adapter: side,
      raw,
      async close() {
        await raw.close();
        await side.close();
        if (!server.mayBeKilled) await dropNatsPrefix({ url, log });
        await server.stop();
        await remove();
      },
    };
  },
};
