/** Hosts: many emulated hosts against the real server, beside a bare HTTP server and other tools. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { bundle, ownEnvironment, repository } from '../e2e/server.ts';
import { brokerHosts, embeddedHosts, openSite, type HostBackend, type HostSite } from './hosts/site.ts';
import { queueSteps, storeConfig } from './hosts/configs.ts';
import { floorRows } from './hosts/floor.ts';
import type { ServerUse } from './hosts/server-process.ts';
import { peerRows } from './hosts/peers.ts';
import { isChosen, percentiles, rowLine, type Bench, type BenchOptions, type Row } from './report.ts';
import { untilIdle } from './until-idle.ts';

const stepsPerHost = 10;
const limitMs = 600_000;

interface Place {
  readonly site: HostSite;
  readonly backend: string;
  readonly n: number;
  readonly quick: boolean;
}

async function coldStart({ site, backend, n }: Place): Promise<Row[]> {
  const before = await site.use();
  const start = performance.now();
  await site.connectHosts();
  const seconds = (performance.now() - start) / 1000;
  const after = await site.use();
  const row = { bench: 'hosts', case: 'cold start of all', backend, n };
  return [
    { ...row, metric: 'all accepted', unit: 's', value: seconds, cpu: (after.cpuMicros - before.cpuMicros) / n },
    { ...row, metric: 'server memory', unit: 'MiB', value: after.rss / 2 ** 20 },
  ];
}

async function idle({ site, backend, n, quick }: Place): Promise<Row[]> {
  await untilIdle(site);
  await site.seen();
  const before = await site.use();
  const start = performance.now();
  await delay(quick ? 5_000 : 35_000);
  const seconds = (performance.now() - start) / 1000;
  const [after, { calls }] = [await site.use(), await site.seen()];
  const row = { bench: 'hosts', case: 'idle', backend, n };
  const perMinute = 60 / seconds;
  return [
    { ...row, metric: 'of one core', unit: '%', value: (after.cpuMicros - before.cpuMicros) / seconds / 10_000 },
    { ...row, metric: 'HTTP requests per host', unit: '/min', value: (calls * perMinute) / n },
    {
      ...row,
      metric: 'store calls, all hosts',
      unit: '/min',
      value: (after.storeCalls - before.storeCalls) * perMinute,
    },
    { ...row, metric: 'server memory', unit: 'MiB', value: after.rss / 2 ** 20 },
  ];
}

/** Measures `work`, which lasts until `steps` deployments have completed. */
async function measured(place: Place, name: string, steps: number, work: () => Promise<unknown>): Promise<Row[]> {
  const { site, backend, n } = place;
  await site.seen();
  const before = await site.use();
  const start = performance.now();
  await work();
  const seconds = (performance.now() - start) / 1000;
  const [after, seen] = [await site.use(), await site.seen()];
  const row = { bench: 'hosts', case: name, backend, n };
  const started = percentiles(seen.samples.map(({ queuedAt, startedAt }) => startedAt - queuedAt));
  const answered = percentiles(after.latencies);
  const perStep = (key: Exclude<keyof ServerUse, 'latencies'>): number => (after[key] - before[key]) / steps;
  return [
    { ...row, metric: 'configs', unit: '/s', value: steps / seconds, cpu: perStep('cpuMicros') },
    { ...row, metric: 'queued to started', unit: 'ms', value: started.p50, ...started },
    { ...row, metric: 'queued to answered', unit: 'ms', value: answered.p50, ...answered },
    { ...row, metric: 'HTTP requests of the host', unit: '/config', value: seen.calls / steps },
    { ...row, metric: 'bytes of the host', unit: '/config', value: seen.bytes / steps },
    { ...row, metric: 'documents written', unit: '/config', value: perStep('documentsWritten') },
    { ...row, metric: 'store calls', unit: '/config', value: perStep('storeCalls') },
    { ...row, metric: 'messages and events', unit: '/config', value: perStep('messages') + perStep('events') },
    { ...row, metric: 'calls between services', unit: '/config', value: perStep('calls') },
    ...(seen.refused > 0 ? [{ ...row, metric: 'failed HTTP requests', unit: '', value: seen.refused }] : []),
  ];
}

/** One host after the other gets one config while all others are idle. */
function oneAtATime(place: Place): Promise<Row[]> {
  const { site, quick } = place;
  const rounds = quick ? 30 : 100;
  return measured(place, 'one config at a time', rounds, async () => {
    for (let round = 0; round < rounds; round += 1) {
      const config = await storeConfig(site);
      const host = site.hosts[round % site.hosts.length];
      if (!host) throw new Error('There is no host.');
      await site.client.deployments.run({ config, hosts: [host.id], seconds: 60 });
      await site.completed(round + 1, limitMs);
    }
  });
}

/** One stack with a chain of ordered configs on each host. */
function ofStack(place: Place): Promise<Row[]> {
  const { site, n } = place;
  const lines = ['heat_template_version: 2016-10-14', 'resources:'];
  site.hosts.forEach(({ id }, host) => {
    for (let step = 0; step < stepsPerHost; step += 1) {
      const after = step === 0 ? '' : `, depends_on: {get_resource: c${host}_${step - 1}}`;
      lines.push(
        `  c${host}_${step}: {type: OS::Heat::OrderedConfig, properties: {hosted_on: ${id}, script: 'echo done'${after}}}`,
      );
    }
  });
  return measured(place, `stack, ${stepsPerHost} ordered configs each`, n * stepsPerHost, async () => {
    await site.client.stacks.create({ name: 'steps', bundle: bundle(lines.join('\n')) });
    for (;;) {
      const { stack_status: status, stack_status_reason: reason } = await site.client.stacks.show({ stack: 'steps' });
      if (status === 'CREATE_COMPLETE') return;
      if (status !== 'CREATE_IN_PROGRESS') throw new Error(`The stack of the bench is ${status}: ${reason}`);
      await delay(250);
    }
  });
}

/** `anneal run` as an operator calls it, its own start included. */
function runCommand(place: Place): Promise<Row[]> {
  const { site, n } = place;
  return measured(place, 'anneal run --all', n, async () => {
    const words = ['services/cli/main.ts', 'run', 'true', '--all', '--timeout', '600', '-o', 'json'];
    const command = spawn(process.execPath, words, {
      cwd: repository,
      env: { ...ownEnvironment(), ...site.environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    command.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [status] = (await once(command, 'exit')) as [number | null];
    if (status !== 0) throw new Error(`anneal run ended with ${status}: ${said.slice(-2000)}`);
  });
}

async function casesOf(place: Place, say: (text: string) => void): Promise<Row[]> {
  const { site, n, backend } = place;
  const rows: Row[] = [];
  const add = async (name: string, cost: () => Promise<Row[]>): Promise<void> => {
    say(`${backend}, ${n} hosts: ${name}`);
    const found = await cost();
    for (const row of found) say(`  ${rowLine(row)}`);
    rows.push(...found);
  };
  await add('cold start', () => coldStart(place));
  await add('idle', () => idle(place));
  await add('one config at a time', () => oneAtATime(place));
  await add('one config to every host', () => measured(place, 'one config to each', n, () => queueSteps(site, 1)));
  // A hundred thousand configs would only repeat the figure of ten thousand.
  if (n <= 1_000) {
    const steps = () => queueSteps(site, stepsPerHost);
    await add('ten configs', () => measured(place, `${stepsPerHost} configs to each`, n * stepsPerHost, steps));
  }
  if (n <= 100) await add('stack', () => ofStack(place));
  await add('anneal run', () => runCommand(place));
  return rows;
}

export const hostsBench: Bench = {
  name: 'hosts',
  measures: 'sources',
  notes: [
    'Emulated hosts speak the protocol of the agent over one open connection each, from one process, and answer at once.',
    'The server is one process with all services; `cpu µs` is its processor time per config (cold start: per host), without broker and database.',
    'The bare HTTP server answers the same calls and does nothing else: the floor on this machine with this client.',
    'The counts of a stack end when it is complete: events that are stored later belong to the next case.',
  ],
  backends: ['embedded', 'rabbitmq', 'nats'],
  async run(options) {
    const { quick, say } = options;
    const rows: Row[] = await floorRows({ quick });
    for (const row of rows) say(`  ${rowLine(row)}`);
    // Brokers take minutes to start and to fill, so the quick form measures one only if it is chosen.
    const backends = quick && options.backend === undefined ? [embeddedHosts] : [embeddedHosts, ...brokerHosts];
    for (const backend of backends.filter(({ name }) => isChosen(name, options))) {
      const opened = await backend.open();
      if ('missing' in opened) {
        say(`${backend.name}: left out: ${opened.missing}`);
        continue;
      }
      try {
        for (const n of sizesOf(backend, options)) {
          const site = await openSite(opened, n);
          try {
            rows.push(...(await casesOf({ site, backend: backend.name, n, quick }, say)));
          } finally {
            await site.close();
          }
        }
      } finally {
        await opened.close();
      }
    }
    return [...rows, ...(await peerRows({ quick, say }))];
  },
};

/** The numbers of hosts. Ten thousand idle hosts say nothing about a broker. */
function sizesOf(backend: HostBackend, { quick, hosts }: BenchOptions): number[] {
  if (hosts !== undefined) return [hosts];
  if (quick) return backend === embeddedHosts ? [1, 100] : [10];
  return [1, 10, 100, 1_000, ...(backend === embeddedHosts ? [10_000] : [])];
}
