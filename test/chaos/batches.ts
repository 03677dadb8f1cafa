/** Hosts that hold several claimed configs each while a test harms the server. The agents are real processes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BootSeed } from '@anneal/contracts/calls/boot.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { expect } from 'vitest';
import { ownEnvironment, repository, withClientRetries, type Watched } from '../e2e/server.ts';
import { faultsOfTrace } from '../e2e/templates.ts';

const shape = { hosts: 3, configsPerHost: 30 };
const workSeconds = 0.15;
const limitSeconds = 600;

export interface BatchServer extends Watched {
  readonly data: string;
}

interface Batches {
  readonly server: BatchServer;
  readonly name: string;
  readonly seeds: readonly BootSeed[];
  readonly trace: string;
}

/**
 * Queues configs for several hosts and harms the server whenever a host holds a batch. Fails unless every config ran
 * once, in the order of its queue, every deployment is complete and no queue holds a request.
 */
export async function survivesWithBatches(options: {
  server: BatchServer;
  /** Names the hosts, so that several tests can use one server. */
  name: string;
  harm: (round: number) => Promise<void>;
  /** The most times that it is harmed. */
  kills: number;
  random: () => number;
}): Promise<void> {
  const { server, name, harm, kills, random } = options;
  const seeds = await joinHosts(server, name);
  const batches = { server, name, seeds, trace: join(server.data, `trace-${name}`) };
  const deployments = await queueConfigs(batches);
  const agents = await Promise.all(seeds.map((seed, index) => startAgent(batches, seed, index)));
  try {
    for (let round = 0; round < kills; round += 1) {
      if (!(await untilHeld(batches))) break;
      await delay(random() * 400);
      await harm(round);
    }
    await allRan(batches);
    expect(faultsOfTrace(await traceOf(batches), shape)).toEqual([]);
    await allComplete(batches, deployments);
  } finally {
    for (const agent of agents) {
      const ended = once(agent, 'exit');
      agent.kill('SIGKILL');
      await ended;
    }
  }
  // A config that was offered again would have run meanwhile.
  expect(faultsOfTrace(await traceOf(batches), shape)).toEqual([]);
}

const traceOf = ({ trace }: Batches): Promise<string> => readFile(trace, 'utf8').catch(() => '');

function joinHosts({ client }: BatchServer, name: string): Promise<BootSeed[]> {
  return Promise.all(
    Array.from({ length: shape.hosts }, async (_, index) => {
      const { url } = await client.hosts.join({ host: `${name}-${index}` });
      return client.hosts.seed({ url });
    }),
  );
}

/** Queues the configs of each host in their order, before any agent runs, so that its first claim takes a batch. */
async function queueConfigs({ server, seeds, trace }: Batches): Promise<string[]> {
  const made: string[] = [];
  for (const [host, seed] of seeds.entries()) {
    for (let config = 0; config < shape.configsPerHost; config += 1) {
      const id = randomUUID();
      const script = `#!/bin/sh\nsleep ${workSeconds}\necho "${host} ${config}" >> ${trace}\n`;
      await withClientRetries(() =>
        server.client.deployments.storeConfig({ id, name: 'step', config: script, options: {} }),
      );
      const run = { config: id, hosts: [seed.host_id], seconds: limitSeconds };
      await withClientRetries(() => server.client.deployments.run(run));
      made.push(id);
    }
  }
  return made;
}

async function startAgent({ server, name }: Batches, seed: BootSeed, index: number): Promise<ChildProcess> {
  const directory = join(server.data, `agent-${name}-${index}`);
  await mkdir(directory, { recursive: true });
  const file = join(directory, 'seed.json');
  await writeFile(file, JSON.stringify(seed), { mode: 0o600 });
  return spawn(process.execPath, ['services/agent/main.ts', '--seed', file, '--directory', directory], {
    cwd: repository,
    env: ownEnvironment(),
    stdio: 'ignore',
  });
}

/** Resolves with true when a host holds several claimed configs, and with false when all have run. */
function untilHeld(batches: Batches): Promise<boolean> {
  const { server, seeds } = batches;
  return eventually(
    async () => {
      if ((await linesOf(batches)) === shape.hosts * shape.configsPerHost) return false;
      const queues = await Promise.all(
        seeds.map(({ requests_queue: queue }) => server.client.queues.show({ queue }).catch(() => undefined)),
      );
      return queues.some((queue) => (queue?.in_flight ?? 0) > 1) ? true : undefined;
    },
    { within: 120_000, what: 'a host holding a batch', last: () => server.output() },
  );
}

const linesOf = async (batches: Batches): Promise<number> => (await traceOf(batches)).split('\n').length - 1;

const allRan = (batches: Batches): Promise<unknown> =>
  eventually(async () => ((await linesOf(batches)) >= shape.hosts * shape.configsPerHost ? true : undefined), {
    within: 180_000,
    what: 'every config having run',
    last: () => batches.server.output(),
  });

function allComplete({ server, seeds }: Batches, configs: readonly string[]): Promise<unknown> {
  let last: unknown;
  return eventually(
    async () => {
      const found = await Promise.all(
        configs.map((config) => server.client.deployments.list({ config }).catch(() => [])),
      );
      const statuses = found.flat().map(({ status }) => status);
      const queues = await Promise.all(
        seeds.map(({ requests_queue: queue }) => server.client.queues.show({ queue }).catch(() => undefined)),
      );
      const left = queues.map((queue) => queue && queue.depth + (queue.in_flight ?? 0));
      last = { left, open: statuses.filter((status) => status !== 'COMPLETE') };
      const isDone = statuses.length === configs.length && statuses.every((status) => status === 'COMPLETE');
      return isDone && left.every((count) => count === 0) ? true : undefined;
    },
    { what: 'every deployment being complete', last: () => last },
  );
}
