/**
 * An upgrade without a pause: two replicas of each service, each replaced alone, while a client reads, groups are updated in
 * batches and hosts run configs. Then every replica of this tree is restarted in the same way, during which no read may fail.
 */
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { serviceNames, type ServiceName } from '@anneal/contracts/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import type { FindBackend } from '../backends/backend.ts';
import { freeLocalPort } from '../backends/free-port.ts';
import { startReads, summary } from '../cuts/reads.ts';
import { beginRounds, doRound, faultsOfScripts } from '../cuts/work.ts';
import { findBackends, isReady, type Backends } from '../e2e/soak/distributed.ts';
import { startSupervised, type SupervisedFleet } from '../e2e/soak/distributed-supervised.ts';
import { repository } from '../e2e/server.ts';
import { finish, print, type Check } from './check.ts';
import { startBalancer, startMachines } from './installation.ts';
import { beginWork, openGate, startGatedListener } from './work.ts';

const readyMs = 180_000;
const replicas = [1, 2];

/** The tree that each process runs at its next start, by its name. */
type Trees = Map<string, string>;

async function startEarlier(
  { earlier, cleanup }: Check,
  { backends, trees, services }: { backends: Backends; trees: Trees; services: string[] },
): Promise<SupervisedFleet> {
  const ports = [await freeLocalPort(), await freeLocalPort()] as const;
  const { url } = cleanup.add(await startBalancer(ports), (each) => each.close());
  return cleanup.add(
    await startSupervised({
      ...backends,
      lab: 0,
      url,
      services: services.flatMap((name) => replicas.map(() => name)),
      settings: {
        ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'true',
        ANNEAL_KEYS: randomBytes(32).toString('base64'),
      },
      settingsOf: (name) =>
        Promise.resolve(
          name.startsWith('gateway-') ? { ANNEAL_GATEWAY_PORT: String(ports[name === 'gateway-1' ? 0 : 1]) } : {},
        ),
      treeOf: (name) => trees.get(name) ?? earlier,
    }),
    (each) => each.dispose(),
  );
}

/** Waits until a process is ready. `notPid`: not the one that is about to end. */
const ready = (fleet: SupervisedFleet, name: string, notPid?: number): Promise<unknown> =>
  eventually(
    async () => {
      const found = (await fleet.processes()).find((each) => each.name === name);
      return found && found.pid !== notPid && (await isReady(found)) ? true : undefined;
    },
    { within: readyMs, what: `${name} being ready`, last: fleet.output },
  );

/** Stops a process; its supervisor starts it again. Resolves when it is ready. */
async function replace(fleet: SupervisedFleet, name: string): Promise<void> {
  const pid = (await fleet.processes()).find((each) => each.name === name)?.pid ?? 0;
  process.kill(pid, 'SIGTERM');
  await ready(fleet, name, pid);
}

/** The reads that failed while one replica was replaced. */
interface Noticed {
  readonly name: string;
  readonly failed: readonly string[];
}

/** Replaces both replicas of a service, one after the other, each during a round of updates. */
async function replaceBoth(fleet: SupervisedFleet, service: ServiceName, nextRound: () => number): Promise<Noticed[]> {
  const noticed: Noticed[] = [];
  for (const replica of replicas) {
    const name = `${service}-${replica}`;
    const reading = startReads(fleet.client);
    const from = performance.now();
    const round = doRound(fleet, nextRound());
    round.catch(() => undefined);
    await replace(fleet, name);
    const replacedMs = Math.round(performance.now() - from);
    const roundMs = Math.round(await round);
    await delay(500);
    await reading.stop();
    const { count, p50, p99, max, errors } = summary(reading.reads, from, performance.now());
    noticed.push({ name, failed: errors });
    print(`  | ${[name, replacedMs, roundMs, `${p50}/${p99}/${max}`, `${errors.length} of ${count}`].join(' | ')} |`);
    for (const error of errors.slice(0, 3)) print(`    a read failed: ${error}`);
  }
  return noticed;
}

/** The rolling upgrade on one broker. @throws naming what was lost, done twice or out of order */
export async function upgradeRolling(find: FindBackend, check: Check): Promise<void> {
  const { earlier, folder, cleanup } = check;
  const backends = await findBackends(find);
  if (!backends) throw new Error('The broker or a database is missing.');
  const listener = cleanup.add(await startGatedListener(), (each) => each.close());
  const trees: Trees = new Map();
  const known = await readdir(join(earlier, 'services'));
  const [old, added] = [true, false].map((is) => serviceNames.filter((name) => known.includes(name) === is)) as [
    ServiceName[],
    ServiceName[],
  ];
  const fleet = await startEarlier(check, { backends, trees, services: old });
  const { client } = fleet;
  cleanup.add(await startMachines(earlier, { folder: join(folder, 'lab'), client, machines: 3 }), (each) =>
    each.stop(),
  );
  const id = await beginWork(client, folder, listener);
  await beginRounds(fleet);
  print('  two replicas of each service run the earlier revision; a stack is being created, events wait');
  print('  | replica | replaced after, ms | round of updates, ms | reads, ms, p50/p99/max | failed reads |');
  print('  | --- | --- | --- | --- | --- |');
  let round = 0;
  const nextRound = (): number => (round += 1);
  for (const service of added) {
    for (const replica of replicas) {
      trees.set(`${service}-${replica}`, repository);
      fleet.add(service);
      await ready(fleet, `${service}-${replica}`);
    }
  }
  // Gateways last: they ask the others questions that older ones may not know.
  for (const service of old.toSorted((a, b) => Number(a === 'gateway') - Number(b === 'gateway'))) {
    for (const replica of replicas) trees.set(`${service}-${replica}`, repository);
    await replaceBoth(fleet, service, nextRound);
    if (service === 'scheduling') await openGate(folder, 3);
  }
  await finish(check, { client, listener, id });
  print('  every replica runs this tree, and is restarted');
  const noticed: Noticed[] = [];
  for (const service of serviceNames) noticed.push(...(await replaceBoth(fleet, service, nextRound)));
  const faults = [
    ...(await faultsOfScripts(fleet.data, round)),
    ...(await client.deadLetters.list()).map((letter) => `a dead letter: ${JSON.stringify(letter)}`),
    ...noticed.flatMap(({ name, failed }) =>
      failed.map((error) => `a read failed at the restart of ${name}: ${error}`),
    ),
  ];
  if (faults.length > 0) throw new Error(faults.join('\n'));
  print(
    `  ✔ ${round} rounds of updates: each script ran once and in order, no dead letter, no failed read at a restart`,
  );
}
