/**
 * `npm run cuts`: cuts one of two replicas of each service off from its database, its broker or both, while clients read and
 * stacks are updated, and prints what the others noticed. Ends with 1 when anything was lost, done twice or out of order.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { serviceNames, type ServiceName } from '@anneal/contracts/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { brokers, findBackends } from '../e2e/soak/distributed.ts';
import { checkEvents, startGatedListener } from '../upgrade/work.ts';
import { parts, startCutFleet, type CutFleet, type Part } from './fleet.ts';
import { startReads, summary } from './reads.ts';
import { beginRounds, doRound, faultsOfScripts } from './work.ts';

const usage = `Usage: npm run cuts -- [--broker nats|rabbitmq] [--service NAME] [--seconds N] [--json]

Cuts one of two replicas of each service off, from its database, its broker and both, by closed connections and by packets
that are swallowed. Prints a row for each cut.

  --broker NAME    nats or rabbitmq (default: both, one after the other)
  --service NAME   only replicas of this service; may be repeated
  --seconds N      length of each cut (default: 15)
  --json           print one array of rows
  --help           show this help
`;

const ways = ['closed', 'swallowed'] as const;
type Way = (typeof ways)[number];
const cutParts: readonly (readonly Part[])[] = [...parts.map((part) => [part]), parts];
/** The time in which the others may notice, and in which all is well again. */
const noticedMs = 5_000;
const wellMs = 10_000;
const backMs = 120_000;
const lab = 2;

interface Cut {
  readonly service: ServiceName;
  readonly off: readonly Part[];
  readonly way: Way;
}

interface Row extends Cut {
  readonly broker: string;
  /** Reads through the other gateway: in the first seconds of the cut, in the rest of it, and after it. */
  readonly reads: Record<'first' | 'later' | 'after', ReturnType<typeof summary>>;
  /** Milliseconds of the updates that began during the cut. */
  readonly updates: readonly number[];
  /** Milliseconds from the end of the cut until the replica is ready. */
  readonly readyMs: number;
  /** Whether the replica said that it was ready while it was cut off. */
  readonly saidReady: boolean;
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

function begin({ service, off, way }: Cut, fleet: CutFleet): () => void {
  const proxies = off.map((part) => fleet.ways.get(service)?.[part]).filter((each) => each !== undefined);
  for (const proxy of proxies) {
    if (way === 'closed') proxy.refuse();
    else proxy.swallow();
  }
  return () => {
    for (const proxy of proxies) proxy.heal();
  };
}

/** One cut, with updates that begin at once and after the others had time to notice. */
async function cutOnce(
  fleet: CutFleet,
  cut: Cut,
  options: { ms: number; nextRound: () => number },
): Promise<Omit<Row, 'broker'>> {
  const { ms, nextRound } = options;
  const reading = startReads(fleet.client);
  const from = performance.now();
  const heal = begin(cut, fleet);
  const updates: number[] = [];
  const update = async (): Promise<void> => void updates.push(Math.round(await doRound(fleet, nextRound())));
  const working = (async () => {
    await update();
    await delay(Math.max(0, from + noticedMs + 1_000 - performance.now()));
    await update();
  })();
  working.catch(() => undefined);
  await delay(ms - 500);
  const { isReady: saidReady } = await fleet.health(cut.service);
  await delay(Math.max(0, from + ms - performance.now()));
  const to = performance.now();
  heal();
  await eventually(async () => ((await fleet.health(cut.service)).isReady ? true : undefined), {
    within: backMs,
    what: `${cut.service}-2 being ready again`,
    last: fleet.output,
  });
  const readyMs = Math.round(performance.now() - to);
  await working;
  await delay(Math.max(0, to + wellMs - performance.now()));
  await reading.stop();
  const reads = (begun: number, ended: number): ReturnType<typeof summary> => summary(reading.reads, begun, ended);
  const all = {
    first: reads(from, from + noticedMs),
    later: reads(from + noticedMs, to),
    after: reads(to, to + wellMs),
  };
  return { ...cut, reads: all, updates, readyMs, saidReady };
}

const shown = ({ count, p50, p99, max, errors }: ReturnType<typeof summary>): string =>
  `${p50}/${p99}/${max}${errors.length > 0 ? ` (${errors.length} of ${count} failed)` : ''}`;

function printRow({ service, off, way, reads, updates, readyMs }: Row): void {
  const words = [service, off.join(' and '), way, shown(reads.first), shown(reads.later), shown(reads.after)];
  print(`| ${[...words, updates.join(', '), String(readyMs)].join(' | ')} |`);
  for (const error of [reads.first, reads.later, reads.after].flatMap(({ errors }) => errors))
    print(`  a read failed: ${error}`);
}

async function cutAll(
  broker: (typeof brokers)[number],
  options: { services: readonly ServiceName[]; ms: number },
): Promise<{ rows: Row[]; faults: string[] }> {
  const backends = await findBackends(broker.find);
  if (!backends) throw new Error(`${broker.name} or a database is missing.`);
  const listener = await startGatedListener();
  listener.isOpen = true;
  const fleet = await startCutFleet(backends, lab);
  const rows: Row[] = [];
  let round = 0;
  try {
    const types = ['stack.#', 'resource.#', 'deployment.#', 'host.#'];
    const { subscription } = await fleet.client.subscriptions.create({ name: 'cuts', url: listener.url, types });
    await beginRounds(fleet);
    print(`\n${broker.name}: reads of the list of stacks in ms, p50/p99/max\n`);
    print(
      '| replica of | cut off from | by connections | first 5 s | until the end | 10 s after it | updates, ms | ready again after, ms |',
    );
    print('| --- | --- | --- | --- | --- | --- | --- | --- |');
    for (const service of options.services) {
      for (const off of cutParts) {
        for (const way of ways) {
          const cut = { service, off, way };
          const row = await cutOnce(fleet, cut, { ms: options.ms, nextRound: () => (round += 1) });
          rows.push({ broker: broker.name, ...row });
          printRow({ broker: broker.name, ...row });
        }
      }
    }
    const faults = await faultsOfScripts(fleet.data, round);
    for (const { service, off, way, saidReady } of rows)
      if (saidReady) faults.push(`${service} said that it was ready, cut off from ${off.join(' and ')} (${way})`);
    print(`\n${round} rounds of updates. ${await checkEvents(fleet.client, listener, subscription.id)}.`);
    const letters = await fleet.client.deadLetters.list();
    return { rows, faults: [...faults, ...letters.map((letter) => `a dead letter: ${JSON.stringify(letter)}`)] };
  } finally {
    await fleet.dispose();
    listener.close();
  }
}

const { values } = parseArgs({
  options: {
    broker: { type: 'string' },
    service: { type: 'string', multiple: true },
    seconds: { type: 'string', default: '15' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(usage);
} else {
  const services = serviceNames.filter((name) => values.service?.includes(name) ?? true);
  const chosen = brokers.filter(({ name }) => values.broker === undefined || name.toLowerCase() === values.broker);
  const seconds = Number(values.seconds);
  if (services.length === 0 || chosen.length === 0 || !(seconds >= 10)) {
    process.stderr.write(`${usage}\nNo such service or broker, or a cut of less than 10 seconds.\n`);
    process.exitCode = 2;
  } else {
    for (const broker of chosen) {
      const { rows, faults } = await cutAll(broker, { services, ms: seconds * 1_000 });
      if (values.json) print(JSON.stringify(rows));
      for (const fault of faults) print(`✘ ${fault}`);
      if (faults.length > 0) process.exitCode = 1;
      else print('✔ nothing was lost, done twice or out of order; no dead letter');
    }
  }
}
