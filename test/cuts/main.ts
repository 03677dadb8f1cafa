/**
 * `npm run cuts`: cuts one of two replicas of each service off from its database, its broker or both, stops its process for a
 * minute, and sets its clock, while clients read and stacks are updated. Prints what the others noticed. Ends with 1 when
 * anything was lost, done twice or out of order.
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

const usage = `Usage: npm run cuts -- [--broker nats|rabbitmq] [--service NAME] [--fault NAME] [--seconds N] [--json]

Cuts one of two replicas of each service off, from its database, its broker and both, by closed connections and by packets
that are swallowed; stops its process for a minute; sets its clock ten minutes ahead and back. Prints a row for each.

  --broker NAME    nats or rabbitmq (default: both, one after the other)
  --service NAME   only replicas of this service; may be repeated
  --fault NAME     closed, swallowed, stopped or clock; may be repeated (default: all)
  --seconds N      length of each cut (default: 15)
  --json           print the rows of each broker as JSON, too
  --help           show this help
`;

const cutParts: readonly (readonly Part[])[] = [...parts.map((part) => [part]), parts];
const stoppedMs = 60_000;
const clockMs = 600_000;

/** A fault of one replica, which lasts for a while. */
interface Fault {
  readonly kind: 'closed' | 'swallowed' | 'stopped' | 'clock';
  /** The part that is cut off or changed, for people. */
  readonly what: string;
  /** Its length, where it is not that of a cut. */
  readonly ms?: number;
  /** Returns how to end it. */
  readonly begin: (fleet: CutFleet, service: ServiceName) => Promise<() => void | Promise<void>>;
}

const cutOff = (kind: 'closed' | 'swallowed', off: readonly Part[]): Fault => ({
  kind,
  what: off.join(' and '),
  async begin(fleet, service) {
    const proxies = off.map((part) => fleet.ways.get(service)?.[part]).filter((each) => each !== undefined);
    for (const proxy of proxies) {
      if (kind === 'closed') proxy.refuse();
      else proxy.swallow();
    }
    return () => {
      for (const proxy of proxies) proxy.heal();
    };
  },
});

const stopped: Fault = {
  kind: 'stopped',
  what: 'the process',
  ms: stoppedMs,
  async begin(fleet, service) {
    await fleet.signal(service, 'SIGSTOP');
    return () => fleet.signal(service, 'SIGCONT');
  },
};

const clockSet = (aheadMs: number): Fault => ({
  kind: 'clock',
  what: aheadMs > 0 ? 'ten minutes ahead' : 'ten minutes back',
  async begin(fleet, service) {
    await fleet.setClock(service, aheadMs);
    return () => fleet.setClock(service, 0);
  },
});

const allFaults: readonly Fault[] = [
  ...cutParts.flatMap((off) => (['closed', 'swallowed'] as const).map((kind) => cutOff(kind, off))),
  stopped,
  clockSet(clockMs),
  clockSet(-clockMs),
];
/** The time in which the others may notice, and in which all is well again. */
const noticedMs = 5_000;
const wellMs = 10_000;
const backMs = 120_000;
const lab = 2;

interface Row extends Pick<Fault, 'kind' | 'what'> {
  readonly service: ServiceName;
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

/** One fault, with updates that begin at once and after the others had time to notice. */
async function hurt(
  fleet: CutFleet,
  { service, fault }: { service: ServiceName; fault: Fault },
  options: { ms: number; nextRound: () => number },
): Promise<Row> {
  const { nextRound } = options;
  const { kind, what, ms = options.ms } = fault;
  const reading = startReads(fleet.client);
  const from = performance.now();
  const heal = await fault.begin(fleet, service);
  const updates: number[] = [];
  const update = async (): Promise<void> => void updates.push(Math.round(await doRound(fleet, nextRound())));
  const working = (async () => {
    await update();
    await delay(Math.max(0, from + noticedMs + 1_000 - performance.now()));
    await update();
  })();
  working.catch(() => undefined);
  await delay(ms - 500);
  const { isReady: saidReady } = await fleet.health(service);
  await delay(Math.max(0, from + ms - performance.now()));
  const to = performance.now();
  await heal();
  await eventually(async () => ((await fleet.health(service)).isReady ? true : undefined), {
    within: backMs,
    what: `${service}-2 being ready again`,
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
  return { service, kind, what, reads: all, updates, readyMs, saidReady };
}

const shown = ({ count, p50, p99, max, errors }: ReturnType<typeof summary>): string =>
  `${p50}/${p99}/${max}${errors.length > 0 ? ` (${errors.length} of ${count} failed)` : ''}`;

function printRow({ service, kind, what, reads, updates, readyMs }: Row): void {
  const words = [service, what, kind, shown(reads.first), shown(reads.later), shown(reads.after)];
  print(`| ${[...words, updates.join(', '), String(readyMs)].join(' | ')} |`);
  for (const error of [reads.first, reads.later, reads.after].flatMap(({ errors }) => errors))
    print(`  a read failed: ${error}`);
}

async function hurtAll(
  broker: (typeof brokers)[number],
  options: { services: readonly ServiceName[]; faults: readonly Fault[]; ms: number },
): Promise<{ rows: Row[]; wrong: string[] }> {
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
      '| replica of | what | fault | first 5 s | until the end | 10 s after it | updates, ms | ready again after, ms |',
    );
    print('| --- | --- | --- | --- | --- | --- | --- | --- |');
    for (const service of options.services) {
      for (const fault of options.faults) {
        const row = await hurt(fleet, { service, fault }, { ms: options.ms, nextRound: () => (round += 1) });
        rows.push(row);
        printRow(row);
      }
    }
    const wrong = await faultsOfScripts(fleet.data, round);
    for (const { service, kind, what, saidReady } of rows)
      if (saidReady && kind !== 'clock') wrong.push(`${service} said that it was ready: ${what}, ${kind}`);
    print(`\n${round} rounds of updates. ${await checkEvents(fleet.client, listener, subscription.id)}.`);
    const letters = await fleet.client.deadLetters.list();
    return { rows, wrong: [...wrong, ...letters.map((letter) => `a dead letter: ${JSON.stringify(letter)}`)] };
  } finally {
    await fleet.dispose();
    listener.close();
  }
}

const { values } = parseArgs({
  options: {
    broker: { type: 'string' },
    service: { type: 'string', multiple: true },
    fault: { type: 'string', multiple: true },
    seconds: { type: 'string', default: '15' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(usage);
} else {
  const services = serviceNames.filter((name) => values.service?.includes(name) ?? true);
  const faults = allFaults.filter(({ kind }) => values.fault?.includes(kind) ?? true);
  const chosen = brokers.filter(({ name }) => values.broker === undefined || name.toLowerCase() === values.broker);
  const seconds = Number(values.seconds);
  if (services.length === 0 || faults.length === 0 || chosen.length === 0 || !(seconds >= 10)) {
    process.stderr.write(`${usage}\nNo such service, fault or broker, or a cut of less than 10 seconds.\n`);
    process.exitCode = 2;
  } else {
    for (const broker of chosen) {
      const { rows, wrong } = await hurtAll(broker, { services, faults, ms: seconds * 1_000 });
      if (values.json) print(JSON.stringify({ broker: broker.name, rows }));
      for (const each of wrong) print(`✘ ${each}`);
      if (wrong.length > 0) process.exitCode = 1;
      else print('✔ nothing was lost, done twice or out of order; no dead letter');
    }
  }
}
