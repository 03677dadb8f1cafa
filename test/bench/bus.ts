/** The embedded bus against bare SQLite with the same durability, in the same run. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openBus } from '@anneal/bus/open.ts';
import type { Bus } from '@anneal/bus/port.ts';
import { createMint } from '@anneal/contracts/envelope.ts';
import { hostRequestsQueue, hostResponsesQueue } from '@anneal/contracts/queues.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { timerFired } from '@anneal/contracts/scheduling.ts';
import { createLog } from '@anneal/runtime/log.ts';
import { openStore } from '@anneal/store/open.ts';
import { v7 } from 'uuid';
import { percentiles, type Bench, type Row } from './report.ts';

const now = (): Date => new Date();
const mint = createMint({ source: 'anneal/bench', newId: () => v7(), now });
const message = (stamp: string) =>
  mint(timerFired, { data: { stack_id: '00000000-0000-0000-0000-000000000000', timer: stamp, traversal: 'bench' } });

async function withBus<T>(work: (bus: Bus, directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'anneal-bench-'));
  const store = await openStore({ url: `sqlite:${directory}/store.db` });
  const log = createLog({ level: 'silent', format: 'json' });
  const bus = await openBus({
    url: `sqlite:${directory}/bus.db`,
    source: 'bench',
    store,
    registry,
    newId: () => v7(),
    now,
    log,
  });
  try {
    return await work(bus, directory);
  } finally {
    await bus.close();
    await store.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Sends n messages, `batch` at a time, while a consumer takes and acknowledges them; latency from send to handler. */
async function oneWay(bus: Bus, n: number, batch: number): Promise<Row> {
  const latencies: number[] = [];
  const { promise: all, resolve } = Promise.withResolvers<void>();
  const consumer = await bus.consume(
    'bench.one-way',
    async ({ message: { data } }) => {
      latencies.push(performance.now() - Number((data as { timer: string }).timer));
      if (latencies.length === n) resolve();
    },
    { concurrency: 256 },
  );
  const start = performance.now();
  for (let sent = 0; sent < n; sent += batch) {
    await bus.send({
      queue: 'bench.one-way',
      messages: Array.from({ length: Math.min(batch, n - sent) }, () => message(String(performance.now()))),
    });
  }
  await all;
  const seconds = (performance.now() - start) / 1000;
  await consumer.stop();
  return {
    bench: 'bus',
    case: `one-way, ${batch} a send`,
    backend: 'embedded',
    n,
    metric: 'throughput (latency in ms)',
    unit: 'messages/s',
    value: n / seconds,
    ...percentiles(latencies),
  };
}

/** Request and response through two durable queues per host, `outstanding` at a time on each host. */
async function roundTrips(bus: Bus, options: { hosts: number; outstanding: number; n: number }): Promise<Row> {
  const { hosts, outstanding, n } = options;
  const perHost = Math.ceil(n / hosts);
  const latencies: number[] = [];
  const consumers = [];
  const ends: Promise<void>[] = [];
  const prime: (() => Promise<void>)[] = [];
  for (let host = 0; host < hosts; host += 1) {
    const [requests, responses] = [hostRequestsQueue(`bench${host}`), hostResponsesQueue(`bench${host}`)];
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.push(promise);
    let answered = 0;
    let asked = Math.min(outstanding, perHost);
    const ask = (): Promise<void> => bus.send({ queue: requests, messages: [message(String(performance.now()))] });
    consumers.push(
      await bus.consume(
        requests,
        ({ message: request }) => bus.send({ queue: responses, messages: [{ ...request, id: v7() }] }),
        { concurrency: outstanding },
      ),
      await bus.consume(
        responses,
        async ({ message: { data } }) => {
          latencies.push(performance.now() - Number((data as { timer: string }).timer));
          answered += 1;
          if (answered === perHost) resolve();
          else if (asked < perHost) {
            asked += 1;
            await ask();
          }
        },
        { concurrency: outstanding },
      ),
    );
    prime.push(async () => {
      await Promise.all(Array.from({ length: asked }, ask));
    });
  }
  const start = performance.now();
  await Promise.all(prime.map((begin) => begin()));
  await Promise.all(ends);
  const seconds = (performance.now() - start) / 1000;
  await Promise.all(consumers.map((consumer) => consumer.stop()));
  return {
    bench: 'bus',
    case: `round trip, ${hosts} hosts × ${outstanding}`,
    backend: 'embedded',
    n,
    metric: 'throughput (latency in ms)',
    unit: 'round trips/s',
    value: (perHost * hosts) / seconds,
    ...percentiles(latencies),
  };
}

/** What bare SQLite does for the same work: insert, take, delete, in one transaction per batch. */
function rawSqlite(directory: string, n: number, batch: number): Row {
  const database = new DatabaseSync(join(directory, 'raw.db'));
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE IF NOT EXISTS q (id INTEGER PRIMARY KEY, body TEXT)',
  );
  const insert = database.prepare('INSERT INTO q (body) VALUES (?)');
  const take = database.prepare('SELECT id, body FROM q ORDER BY id LIMIT ?');
  const drop = database.prepare('DELETE FROM q WHERE id = ?');
  const body = JSON.stringify(message('0'));
  const start = performance.now();
  for (let done = 0; done < n; done += batch) {
    database.exec('BEGIN IMMEDIATE');
    for (let index = 0; index < batch; index += 1) insert.run(body);
    database.exec('COMMIT; BEGIN IMMEDIATE');
    for (const row of take.all(batch)) {
      JSON.parse(String(row['body']));
      drop.run(row['id'] ?? null);
    }
    database.exec('COMMIT');
  }
  const seconds = (performance.now() - start) / 1000;
  database.close();
  return {
    bench: 'bus',
    case: `insert, take, delete, ${batch} a transaction`,
    backend: 'raw sqlite',
    n,
    metric: 'throughput',
    unit: 'messages/s',
    value: n / seconds,
  };
}

export const busBench: Bench = {
  name: 'bus',
  notes: [
    'Settings: SQLite in WAL mode, synchronous=NORMAL (survives the death of the process), manual acknowledgement, prefetch 256.',
    'Latency is per message, from the call of send to the start of the handler. A warm-up run is not counted.',
    'The load is closed-loop (a fixed number outstanding): read its latencies as those at that concurrency, not at a given rate.',
  ],
  async run({ quick }) {
    const n = quick ? 2000 : 20_000;
    return withBus(async (bus, directory) => {
      await oneWay(bus, 1000, 100);
      const rows = [await oneWay(bus, n, 1), await oneWay(bus, n, 100)];
      for (const hosts of [1, 10, 100]) {
        for (const outstanding of [1, 16]) rows.push(await roundTrips(bus, { hosts, outstanding, n: n / 2 }));
      }
      rows.push(rawSqlite(directory, n, 1), rawSqlite(directory, n, 100));
      return rows;
    });
  },
};
