import { randomUUID } from 'node:crypto';
import { configCreate } from '@anneal/contracts/calls/configs.ts';
import { deploymentCreate, deploymentList, deploymentRun } from '@anneal/contracts/calls/deployments.ts';
import { hostDelete, hostShow } from '@anneal/contracts/calls/hosts.ts';
import { queueClaim } from '@anneal/contracts/calls/queues.ts';
import { type HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { createTestContext, eventually, notingStore } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRig, project, startService, type Rig } from '../../testing/running-service.ts';

const calls: string[] = [];
const disposals: (() => unknown)[] = [];
let rig: Rig;
beforeEach(async () => {
  const context = await createTestContext({ name: 'configuration' });
  const store = notingStore(context.store, ({ collection, method }) => calls.push(`${collection} ${method}`));
  rig = await createRig({ bus: context.bus, store, directory: context.directory });
  disposals.push(
    () => rig.dispose(),
    () => context.dispose(),
  );
});
afterEach(async () => {
  for (const dispose of disposals.splice(0)) await dispose();
});

async function storedConfig(): Promise<string> {
  const id = randomUUID();
  await rig.ask(configCreate, {
    id,
    project,
    name: 'step',
    group: 'script',
    config: 'true',
    inputs: [],
    outputs: [],
    options: {},
  });
  return id;
}
const hostsOf = async (count: number): Promise<string[]> =>
  (await Promise.all(Array.from({ length: count }, (_, index) => rig.host(`web${index}`)))).map(({ id }) => id);
const targets = (hosts: readonly string[]) => hosts.map((host) => ({ id: randomUUID(), host }));
const run = (config: string, deployments: { id: string; host: string }[]) =>
  rig.ask(deploymentRun, { project, config, deployments, seconds: 600 });
const requestsOf = async (host: string): Promise<HostRequest[]> => {
  const queue = `host.${host}.requests`;
  const { messages } = await rig.ask(queueClaim, { project, queue, ttl: 60, grace: 60, client_id: host, batch: 10 });
  return messages.map(({ body }) => body as unknown as HostRequest);
};

it('runs a config on many hosts with one write of each kind', async () => {
  const [hosts, config] = [await hostsOf(20), await storedConfig()];
  await run(config, targets(hosts));
  const second = await storedConfig();
  calls.length = 0;
  const { deployments } = await run(second, targets(hosts));
  const of = (name: string) => calls.filter((call) => call === name).length;
  expect(deployments.map(({ host_id, status }) => [host_id, status])).toEqual(
    hosts.map((host) => [host, 'IN_PROGRESS']),
  );
  expect(deployments[0]).not.toHaveProperty('config');
  const writes = ['configuration_resources insert', 'configuration_queues replace', 'configuration_messages insert'];
  expect(writes.map(of)).toEqual([0, 0, 0]);
  expect(of('configuration_queues bulk')).toBe(1);
  expect(of('configuration_messages bulk')).toBe(1);
  expect(of('configuration_hosts get')).toBe(0);
  expect(of('configuration_resources get')).toBe(1);
  for (const host of hosts) expect(await requestsOf(host)).toHaveLength(2);
  await eventually(() => rig.events.filter(({ type }) => type === 'deployment.queued').length === 40);
});

it('H1: writes nothing when hosts or the config do not exist, and names the hosts', async () => {
  const [host = ''] = await hostsOf(1);
  const config = await storedConfig();
  await expect(run(config, targets([host, 'missing1', 'missing2']))).rejects.toMatchObject({
    code: 'NotFound',
    message: expect.stringContaining('missing1, missing2'),
  });
  await expect(run(randomUUID(), targets([host]))).rejects.toMatchObject({ code: 'NotFound' });
  expect((await rig.ask(deploymentList, { project })).deployments).toEqual([]);
  expect((await rig.ask(hostShow, { host })).pending).toBe(0);
});

it('H2: a repeat runs nothing twice and completes what a fault has left', async () => {
  const hosts = await hostsOf(3);
  const [config, asked] = [await storedConfig(), targets(hosts)];
  let passes = 0;
  const disarm = armFault('configuration.run.recorded', () => {
    passes += 1;
    if (passes === 2) throw new Error('broken off');
  });
  await expect(run(config, asked)).rejects.toThrow('broken off');
  const first = await run(config, asked);
  disarm();
  expect((await run(config, asked)).deployments.map(({ id }) => id)).toEqual(first.deployments.map(({ id }) => id));
  for (const host of hosts) expect(await requestsOf(host)).toHaveLength(1);
  // A name and an id of one host are two deployments on it, in order.
  const both = targets([hosts[0] ?? '', 'web0']);
  await run(config, both);
  expect((await requestsOf(hosts[0] ?? '')).slice(1).map((request) => request.deployment_id)).toEqual(
    both.map(({ id }) => id),
  );
});

it('H2: a repeat for a host that is gone answers with the deployment, and an id of another object is refused', async () => {
  const [host = '', gone = ''] = await hostsOf(2);
  const config = await storedConfig();
  const asked = targets([host, gone]);
  await run(config, asked);
  await rig.ask(hostDelete, { id: gone });
  const { deployments } = await run(config, asked);
  expect(deployments.map(({ status }) => status)).toEqual(['IN_PROGRESS', 'FAILED']);
  await expect(run(config, [{ id: config, host }])).rejects.toMatchObject({ code: 'AlreadyExists' });
});

it('H3: keeps the order of each host when runs and replicas overlap', async () => {
  const hosts = await hostsOf(5);
  const other = await startService(rig.context);
  disposals.unshift(() => other.stop());
  const names: string[] = [];
  for (let round = 0; round < 4; round += 1) {
    const config = await storedConfig();
    const asked = targets(hosts.toReversed());
    const single = { id: randomUUID(), project, host: hosts[0] ?? '', config, input_values: {}, action: 'CREATE' };
    await Promise.all([run(config, asked), rig.ask(deploymentCreate, single as never), run(config, asked)]);
    names.push(asked.find(({ host }) => host === hosts[1])?.id ?? '');
  }
  expect((await requestsOf(hosts[1] ?? '')).map((request) => request.deployment_id)).toEqual(names);
  expect(await requestsOf(hosts[0] ?? '')).toHaveLength(8);
});
