/** Nodes: the lab's machines behind real Redfish, with a tenth of their BMCs hanging, dripping or dark. */
import { setTimeout as delay } from 'node:timers/promises';
import { bundle } from '../e2e/server.ts';
import { openRoom, type MachineRoom } from './nodes/room.ts';
import { percentiles, rowLine, type Bench, type BenchOptions, type Row } from './report.ts';

interface Place {
  readonly room: MachineRoom;
  readonly n: number;
  readonly pollSeconds: number;
  /** Machines with a BMC that works. */
  readonly good: readonly string[];
  /** Machines whose BMC fails in the second half of the bench. */
  readonly bad: readonly string[];
}

const enrolledAtOnce = 64;
const changedMachines = 50;
const servers = 100;
const limitMs = 900_000;
/** Each bad BMC has one of these faults: no answer, an endless answer, or no connection. */
const faults = [{ answer: 'hang' }, { drip: 200 }, { dark: true }] as const;

const rowOf = (place: Pick<Place, 'n'>, name: string) => ({
  bench: 'nodes',
  case: name,
  backend: 'embedded',
  n: place.n,
});

async function until(what: string, done: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + limitMs;
  while (!(await done())) {
    if (Date.now() > end) throw new Error(`The bench of nodes waits in vain for: ${what}`);
    await delay(100);
  }
}

export async function enrolAll(place: Pick<Place, 'room' | 'n'>): Promise<Row[]> {
  const { room, n } = place;
  const before = await room.use();
  const start = performance.now();
  const machines = room.lab.machines.values();
  const worker = async (): Promise<void> => {
    for (const { name, system_id: systemId } of machines) {
      const { url: address, username, password } = room.lab;
      await room.client.nodes.enrol({ name, address, systemId, username, password, provide: true });
    }
  };
  await Promise.all(Array.from({ length: enrolledAtOnce }, worker));
  const accepted = (performance.now() - start) / 1000;
  await until('nodes that are available', async () => {
    await delay(500);
    return ((await room.client.overview()).nodes['available'] ?? 0) >= n;
  });
  const seconds = (performance.now() - start) / 1000;
  const after = await room.use();
  const row = rowOf(place, 'enrol all');
  return [
    { ...row, metric: 'all accepted', unit: 's', value: accepted },
    { ...row, metric: 'all available', unit: 's', value: seconds, cpu: (after.cpuMicros - before.cpuMicros) / n },
    { ...row, metric: 'server memory', unit: 'MiB', value: after.rss / 2 ** 20 },
  ];
}

async function idle(place: Place, name: string): Promise<Row[]> {
  const { room, pollSeconds } = place;
  const before = await room.use();
  const start = performance.now();
  await delay(pollSeconds * 1000);
  const seconds = (performance.now() - start) / 1000;
  const after = await room.use();
  const row = rowOf(place, name);
  return [
    { ...row, metric: 'of one core', unit: '%', value: (after.cpuMicros - before.cpuMicros) / seconds / 10_000 },
    { ...row, metric: 'server memory', unit: 'MiB', value: after.rss / 2 ** 20 },
  ];
}

/** Turns some machines on or off at their BMCs, spread over one poll, and measures until the server publishes it. */
async function notice(place: Place, name: string, type: 'On' | 'ForceOff'): Promise<Row[]> {
  const { room, pollSeconds, good } = place;
  const what = type === 'On' ? 'power on' : 'power off';
  const chosen = good.slice(0, changedMachines);
  const changed = new Map<string, number>();
  room.forget();
  for (const machine of chosen) {
    await room.reset(machine, type);
    changed.set(machine, Date.now());
    await delay((pollSeconds * 1000) / chosen.length);
  }
  await until('changes of power that are noticed', () =>
    chosen.every((machine) => room.noticed(machine, what) !== undefined),
  );
  const late = percentiles(
    chosen.map((machine) => ((room.noticed(machine, what) ?? NaN) - (changed.get(machine) ?? NaN)) / 1000),
  );
  return [{ ...rowOf(place, name), metric: 'change of power noticed', unit: 's', value: late.p50, ...late }];
}

async function breakBmcs(place: Place): Promise<Row[]> {
  const { room, bad } = place;
  room.forget();
  const start = Date.now();
  for (const [index, machine] of bad.entries()) await room.fault(machine, faults[index % faults.length] ?? faults[0]);
  await until('faults of all bad BMCs', () => bad.every((machine) => room.noticed(machine, 'power failure')));
  const late = percentiles(bad.map((machine) => ((room.noticed(machine, 'power failure') ?? NaN) - start) / 1000));
  return [{ ...rowOf(place, '10 % of the BMCs fail'), metric: 'fault shown', unit: 's', value: late.p50, ...late }];
}

async function deploy(place: Place, name: string): Promise<Row[]> {
  const { room, good } = place;
  const count = Math.min(servers, good.length);
  const before = await room.use();
  const start = performance.now();
  const template = [
    'heat_template_version: 2016-10-14',
    'resources:',
    '  machines:',
    '    type: OS::Heat::ResourceGroup',
    `    properties: {count: ${count}, resource_def: {type: OS::Nova::Server, properties: {image: any, flavor: any}}}`,
  ];
  await room.client.stacks.create({ name: 'machines', bundle: bundle(template.join('\n')) });
  await until('the stack of servers', async () => {
    const { stack_status: status, stack_status_reason: reason } = await room.client.stacks.show({ stack: 'machines' });
    if (status !== 'CREATE_COMPLETE' && status !== 'CREATE_IN_PROGRESS')
      throw new Error(`The stack of the bench is ${status}: ${reason}`);
    return status === 'CREATE_COMPLETE';
  });
  const seconds = (performance.now() - start) / 1000;
  const after = await room.use();
  const cpu = (after.cpuMicros - before.cpuMicros) / count;
  const row = rowOf(place, name);
  return [
    { ...row, metric: `${count} servers active`, unit: 's', value: seconds, cpu },
    { ...row, metric: 'server memory', unit: 'MiB', value: after.rss / 2 ** 20 },
  ];
}

async function measureRoom(n: number, pollSeconds: number, say: (text: string) => void): Promise<Row[]> {
  const room = await openRoom({ machines: n, pollSeconds });
  const names = room.lab.machines.map(({ name }) => name);
  // Every tenth BMC, so that bad ones are among the first and the last.
  const bad = names.filter((_, index) => index % 10 === 9);
  const good = names.filter((_, index) => index % 10 !== 9);
  const place: Place = { room, n, pollSeconds, good, bad };
  const rows: Row[] = [];
  const add = async (work: Promise<Row[]>): Promise<void> => {
    for (const row of await work) {
      rows.push(row);
      say(rowLine(row));
    }
  };
  try {
    await add(enrolAll(place));
    await add(idle(place, 'idle'));
    await add(notice(place, 'all BMCs answer', 'On'));
    await add(notice(place, 'all BMCs answer, off again', 'ForceOff'));
    await add(breakBmcs(place));
    await add(idle(place, 'idle, 10 % bad'));
    await add(notice(place, '10 % bad', 'On'));
    await add(notice(place, '10 % bad, off again', 'ForceOff'));
    await add(deploy(place, 'at once, 10 % bad'));
    return rows;
  } finally {
    await room.close();
  }
}

export const nodesBench: Bench = {
  name: 'nodes',
  measures: 'sources',
  notes: [
    'Machines of the lab behind Redfish; all services in one process, the lab in another, embedded bus and store.',
    'Every tenth BMC hangs, drips or is dark in the second half. `--hosts NUMBER` sets the number of machines.',
    'A change of power is made at the BMC, and counts as noticed when its event is published.',
  ],
  backends: ['embedded'],
  async run({ quick, hosts, say }: BenchOptions) {
    const sizes = hosts === undefined ? (quick ? [100] : [1_000, 5_000]) : [hosts];
    const rows: Row[] = [];
    for (const n of sizes) rows.push(...(await measureRoom(n, quick ? 5 : 60, say)));
    return rows;
  },
};
