/** Compares each bus with its raw driver, with the same guarantees, in the same run. */
import { hostRequestsQueue, hostResponsesQueue } from '@anneal/contracts/queues.ts';
import { embedded, mintBenchMessage, nats, rabbitmq, type Backend, type MessageSource } from './bus-sides.ts';
import { atRate, oneWay, roundTrips, type LoadSample, type Side, type Window } from './load.ts';
import { pair, type BenchSide } from './pair.ts';
import { RawSqlite } from './raw-sqlite.ts';
import { isChosen, type Bench, type Row } from './report.ts';

const oneWayQueue = 'bench.one-way.requests';
const hosts = Array.from({ length: 100 }, (_, n) => ({
  requests: hostRequestsQueue(`bench${n}`),
  responses: hostResponsesQueue(`bench${n}`),
}));
const oneWayCases = [
  { lanes: 1, batch: 1 },
  { lanes: 256, batch: 1 },
  { lanes: 4, batch: 100 },
];
const hostCases = [1, 10, 100].flatMap((count) => [1, 16].map((outstanding) => ({ count, outstanding })));
const openLoop = { perSecond: 500, count: 10 };

interface Case {
  readonly name: string;
  readonly unit: string;
  readonly withRatio: boolean;
  readonly load: (side: Side, window: Window) => Promise<LoadSample>;
  readonly bare: ((sqlite: RawSqlite, window: Window) => LoadSample) | undefined;
}

const cases: readonly Case[] = [
  ...oneWayCases.map(({ lanes, batch }) => ({
    name: `one-way, ${batch} a send, ${lanes * batch} in flight`,
    unit: 'messages/s',
    withRatio: true,
    load: (side: Side, window: Window) =>
      oneWay(side, { mint: mintBenchMessage, window, lanes, batch, queue: oneWayQueue }),
    bare: (sqlite: RawSqlite, window: Window) => sqlite.oneWay({ batch: lanes * batch, window }),
  })),
  ...hostCases.map(({ count, outstanding }) => ({
    name: `round trip, ${count} hosts × ${outstanding}`,
    unit: 'round trips/s',
    withRatio: true,
    load: (side: Side, window: Window) =>
      roundTrips(side, { mint: mintBenchMessage, window, hosts: hosts.slice(0, count), outstanding }),
    bare: (sqlite: RawSqlite, window: Window) => sqlite.roundTrips({ hosts: count, outstanding, window }),
  })),
  {
    name: `round trip, open loop at ${openLoop.perSecond}/s, ${openLoop.count} hosts`,
    unit: 'round trips/s',
    withRatio: false,
    load: (side, window) =>
      atRate(side, {
        mint: mintBenchMessage,
        window,
        hosts: hosts.slice(0, openLoop.count),
        perSecond: openLoop.perSecond,
      }),
    bare: undefined,
  },
];

function rawOf(raw: Backend['raw'], { load, bare }: Case, window: Window): BenchSide | undefined {
  if (!(raw instanceof RawSqlite)) return { backend: raw.name, run: () => load(raw, window) };
  return bare && { backend: raw.name, run: () => Promise.resolve(bare(raw, window)) };
}

async function measure(backend: Backend, { quick }: { quick: boolean }): Promise<Row[]> {
  const { adapter, raw } = backend;
  const rounds = quick ? 1 : 5;
  const rows: Row[] = [];
  for (const each of cases) {
    const { name, unit, withRatio, load } = each;
    const window = quick ? { warmMs: 150, measureMs: 350 } : { warmMs: 300, measureMs: 1000 };
    const own = { backend: adapter.name, run: () => load(adapter, window) };
    rows.push(
      ...(await pair({
        bench: 'bus',
        case: name,
        metric,
        unit,
        rounds,
        adapter: own,
        raw: rawOf(raw, each, window),
        withRatio,
      })),
    );
  }
  return rows;
}

const metric = 'throughput (latency in ms)';
const sources: readonly MessageSource[] = [embedded('normal'), embedded('full'), rabbitmq, nats];

export const busBench: Bench = {
  name: 'bus',
  measures: 'sources',
  notes: [
    'Same guarantees on both sides: durable queues, a send resolves when the broker has confirmed it, a message is acknowledged',
    '  after its handler (a request after its response is confirmed), prefetch 256 one-way and 16 a host queue. A message is 0.4 kB.',
    'rabbitmq: quorum queues, persistent and mandatory messages, one channel with confirms, a channel per consumer; on both sides',
    '  a send fails when no queue took it.',
    'nats: two work-queue streams on file with the server’s default sync, a durable pull consumer per queue, Nats-Msg-Id on each message.',
    'embedded: SQLite in WAL mode; normal survives the death of the process, full the loss of power. Raw is insert, take, delete',
    '  with one transaction for all that is in flight and nothing in between: the most that the file gives.',
    'The adapter besides validates envelope and data both ways, counts attempts and reconnects: that is what the ratio shows.',
    'A ratio is of two runs right after each other; value is the median of the rounds. The warm-up before each window is not counted.',
    'Load, adapter and handlers share one process, the broker is beside it. Latency is per message, never a total over n.',
    'cpu is the processor time of this process per item, broker not included: it is what other work on the machine changes least.',
    'Closed loops have a fixed number in flight: their latencies are those at that concurrency. The open loop counts from the',
    '  moment a message was due, so waiting to be sent is in it, and so is the timer’s step of 1 ms.',
  ],
  backends: ['embedded', 'rabbitmq', 'nats'],
  async run(options) {
    const { quick, say } = options;
    const rows: Row[] = [];
    for (const source of sources.filter(({ name }) => isChosen(name, options))) {
      const backend = await source.open([
        oneWayQueue,
        ...hosts.flatMap(({ requests, responses }) => [requests, responses]),
      ]);
      if ('missing' in backend) {
        say(`Not measured: ${source.name}. ${backend.missing}`);
        continue;
      }
      say(`Measuring ${source.name}: ${backend.server}`);
      try {
        rows.push(...(await measure(backend, { quick })));
      } finally {
        await backend.close();
      }
    }
    return rows;
  },
};
