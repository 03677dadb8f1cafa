/** Events: from the publication of a state change to the webhooks of its subscribers, beside a bare HTTP client. */
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { cpuMicros } from './load.ts';
import { openEventSite, openEventListener, type EventSite } from './events/site.ts';
import { percentiles, type Bench, type Row } from './report.ts';

const limitMs = 300_000;
const subjects = 200;
const tickMs = 10;

interface Case {
  readonly name: string;
  readonly subscribers: number;
  readonly batchSize: number;
  readonly listenerMs: number;
  /** Events per second; undefined publishes all at once. */
  readonly perSecond: number | undefined;
  readonly seconds: number;
  /** Each subscriber wants the events of one host, so each event goes to one of them. */
  readonly own?: boolean;
}

const subjectsOf = ({ own, subscribers }: Case): number => (own === true ? subscribers : subjects);

async function publishAtRate(site: EventSite, given: Case, from: number): Promise<number> {
  const { perSecond, seconds } = given;
  const total = (perSecond ?? 1000) * seconds;
  if (perSecond === undefined) {
    await site.publish(
      Array.from({ length: total }, (_, index) => from + index),
      subjectsOf(given),
    );
    return total;
  }
  const start = performance.now();
  const sent: Promise<void>[] = [];
  for (let next = 0; next < total;) {
    const due = Math.min(total, Math.floor(((performance.now() - start) / 1000) * perSecond));
    if (due > next) {
      const versions = Array.from({ length: due - next }, (_, index) => from + next + index);
      sent.push(site.publish(versions, subjectsOf(given)));
      next = due;
    }
    await delay(tickMs);
  }
  await Promise.all(sent);
  return total;
}

async function measure(site: EventSite, given: Case): Promise<Row[]> {
  const { listener, counts } = site;
  const { subscribers: count, batchSize, own = false } = given;
  const end = await site.subscribe({ count, batchSize, own });
  /** Deliveries of one event. */
  const copies = own ? 1 : count;
  listener.tell({ kind: 'answer after', milliseconds: given.listenerMs });
  try {
    // The first events open the connections.
    const warm = own ? count : Math.min(50, Math.ceil(5_000 / count));
    const warmed = listener.ask({ kind: 'await', events: warm * copies }, 'reached', limitMs);
    await site.publish(
      Array.from({ length: warm }, (_, index) => index + 1),
      subjectsOf(given),
    );
    await warmed;
    await delay(500);
    await listener.ask({ kind: 'take' }, 'taken');
    const before = { ...counts, cpu: cpuMicros(), at: performance.now() };
    const expected = (given.perSecond ?? 1000) * given.seconds * copies;
    const arrived = listener.ask({ kind: 'await', events: expected }, 'reached', limitMs);
    await publishAtRate(site, given, warm + 1);
    await arrived;
    const seconds = (performance.now() - before.at) / 1000;
    // The last cursors are saved within a fraction of a second.
    await delay(500);
    const cpu = cpuMicros() - before.cpu;
    const { events, requests, ages, disordered } = await listener.ask({ kind: 'take' }, 'taken');
    const row = { bench: 'events', case: given.name, backend: 'embedded', n: given.subscribers };
    const age = percentiles(ages);
    return [
      { ...row, metric: 'events', unit: '/s', value: events / copies / seconds },
      { ...row, metric: 'deliveries', unit: '/s', value: events / seconds, cpu: cpu / events },
      { ...row, metric: 'published to arrived', unit: 'ms', value: age.p50, ...age },
      { ...row, metric: 'requests', unit: '/delivery', value: requests / events },
      {
        ...row,
        metric: 'documents written',
        unit: '/delivery',
        value: (counts.documentsWritten - before.documentsWritten) / events,
      },
      { ...row, metric: 'store calls', unit: '/delivery', value: (counts.storeCalls - before.storeCalls) / events },
      ...(disordered > 0 ? [{ ...row, metric: 'out of order', unit: '', value: disordered }] : []),
    ];
  } finally {
    await end();
  }
}

/** A loop of POST requests of the same size, with as many in flight as ten subscriptions have. */
async function bareRows({ requests, inFlight }: { requests: number; inFlight: number }): Promise<Row[]> {
  const { listener, url } = await openEventListener();
  const agent = new Agent({ connections: inFlight, pipelining: 1 });
  const data = { host_id: 'host1', name: 'host1', status: 'up', facts: { kernel: '6.18' }, version: 1 };
  const event = { specversion: '1.0', id: '0'.repeat(36), type: 'host.up', source: 'bench', subject: 'host1', data };
  let left = requests;
  const latencies: number[] = [];
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const start = performance.now();
      const body = JSON.stringify({ ...event, time: new Date().toISOString() });
      const answer = await request(url, {
        dispatcher: agent,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      await answer.body.dump();
      latencies.push(performance.now() - start);
    }
  };
  const before = { cpu: cpuMicros(), at: performance.now() };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const seconds = (performance.now() - before.at) / 1000;
  const cpu = (cpuMicros() - before.cpu) / requests;
  await agent.close();
  await listener.stop();
  const row = { bench: 'events', case: 'bare HTTP POST', backend: 'undici', n: inFlight };
  const age = percentiles(latencies);
  return [
    { ...row, metric: 'requests', unit: '/s', value: requests / seconds, cpu },
    { ...row, metric: 'request', unit: 'ms', value: age.p50, ...age },
  ];
}

const awayPort = 9;

/**
 * A subscriber that is away for an hour of 10 events a second: what its backlog costs while a second subscriber is
 * served, and how fast it gets all when it is back.
 */
async function awayRows(site: EventSite, events: number): Promise<Row[]> {
  const { listener } = site;
  const given: Case = {
    name: 'another is away',
    subscribers: 1,
    batchSize: 1,
    listenerMs: 0,
    perSecond: undefined,
    seconds: events / 1000,
  };
  const rows: Row[] = [];
  for (const isAway of [false, true]) {
    const away = isAway
      ? await site.subscribe({ count: 1, batchSize: 1, url: `http://127.0.0.1:${awayPort}` })
      : undefined;
    const measured = await measure(site, { ...given, name: isAway ? given.name : 'alone' });
    rows.push(...measured.map((row) => ({ ...row, n: events })));
    await away?.();
  }
  const end = await site.subscribe({ count: 1, batchSize: 1 });
  try {
    await site.pause(true);
    const versions = Array.from({ length: events }, (_, index) => index + 1);
    await site.publish(versions, subjects);
    await site.stored(events);
    await listener.ask({ kind: 'take' }, 'taken');
    const before = { cpu: cpuMicros(), at: performance.now() };
    const arrived = listener.ask({ kind: 'await', events }, 'reached', limitMs);
    await site.pause(false);
    await arrived;
    const seconds = (performance.now() - before.at) / 1000;
    const cpu = (cpuMicros() - before.cpu) / events;
    const row = { bench: 'events', case: 'back after an hour', backend: 'embedded', n: events };
    rows.push({ ...row, metric: 'deliveries', unit: '/s', value: events / seconds, cpu });
    const { disordered } = await listener.ask({ kind: 'take' }, 'taken');
    if (disordered > 0) rows.push({ ...row, metric: 'out of order', unit: '', value: disordered });
  } finally {
    await end();
  }
  return rows;
}

const casesOf = (quick: boolean): Case[] => {
  const seconds = quick ? 2 : 10;
  const one = { batchSize: 1, listenerMs: 0, seconds };
  return [
    { ...one, name: 'at a rate', subscribers: 1, perSecond: 1000 },
    { ...one, name: 'at a rate', subscribers: 10, perSecond: 100 },
    { ...one, name: 'at a rate', subscribers: 10, perSecond: 300 },
    { ...one, name: 'at a rate', subscribers: 100, perSecond: 20 },
    { ...one, name: 'at a rate', subscribers: 1000, perSecond: 2 },
    { ...one, name: 'each its own host, at a rate', subscribers: 1000, perSecond: 200, own: true },
    { ...one, name: 'all at once', subscribers: 10, perSecond: undefined, seconds: quick ? 1 : 5 },
    { ...one, name: 'batches, at a rate', subscribers: 10, batchSize: 100, perSecond: 1000 },
    {
      ...one,
      name: 'listener takes 50 ms',
      subscribers: 1,
      listenerMs: 50,
      perSecond: undefined,
      seconds: quick ? 1 : 3,
    },
  ];
};

export const eventsBench: Bench = {
  name: 'events',
  measures: 'sources',
  backends: ['embedded'],
  notes: [
    'The notification service with the embedded bus and store in this process; the listener of all webhooks is another process.',
    `Events are of ${subjects} subjects. "published to arrived" is the age of an event when the listener has read it.`,
    '`cpu µs` is the processor time of this process per delivery: bus, event log, signature, request and saved position.',
    'The bare HTTP client posts a body of the same size to the same listener, without signature, order, log or retry.',
  ],
  async run({ quick, say }) {
    const rows = await bareRows({ requests: quick ? 5_000 : 50_000, inFlight: 160 });
    const site = await openEventSite();
    try {
      for (const each of casesOf(quick)) {
        rows.push(...(await measure(site, each)));
        say(`${each.name}, ${each.subscribers} subscribers`);
      }
      rows.push(...(await awayRows(site, quick ? 4_000 : 36_000)));
      say('a subscriber that is away');
    } finally {
      await site.close();
    }
    return rows;
  },
};
