/** A subscription whose events become inputs of a config that runs on hosts. */
import { randomUUID } from 'node:crypto';
import { hostCreate } from '@anneal/contracts/calls/hosts.ts';
import { hostEvent } from '@anneal/contracts/events.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, expect, it } from 'vitest';
import { openEventWorld, type EventWorld } from './world.ts';

let world: EventWorld | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

const project = '00000000000000000000000000000001';

async function createHost({ context }: EventWorld, name: string): Promise<string> {
  const id = randomUUID();
  const message = context.mint(hostCreate, { data: { id, name, project }, project });
  await context.bus.request({ queue: requestsQueue('configuration'), call: hostCreate, message });
  return id;
}

it('runs the config once on each host for each event, with the event as its input', async () => {
  world = await openEventWorld();
  const { client, context } = world;
  const hosts = [await createHost(world, 'balancer-1'), await createHost(world, 'balancer-2')];
  const config = randomUUID();
  await client.deployments.storeConfig({
    id: config,
    name: 'rebalance',
    config: '#!/bin/sh\necho "$event_type"\n',
    options: {},
  });
  const { subscription } = await client.subscriptions.create({
    name: 'rebalance',
    url: `config:${config}?host=balancer-1&host=balancer-2&seconds=60`,
    types: ['host.up'],
  });
  const publish = async (version: number): Promise<string> => {
    const data = { host_id: 'h9', name: 'worker', status: 'up', facts: {}, version };
    const event = context.mint(hostEvent.up, { data, subject: 'h9', project });
    await context.bus.publish([event]);
    return event.id;
  };
  const first = await publish(1);
  await eventually(async () => (await client.deployments.list({ config })).length === 2);
  for (const host of hosts) {
    const [request] = await client.queues.peek({ queue: `host.${host}.requests`, limit: 10 });
    const body = request?.body as { inputs: { name: string; value: unknown }[] } | undefined;
    const values = Object.fromEntries((body?.inputs ?? []).map(({ name, value }) => [name, value]));
    expect(values).toMatchObject({
      event_id: first,
      event_type: 'host.up',
      event_subject: 'h9',
      event: { id: first, data: { name: 'worker', version: 1 } },
    });
  }
  // Sent again, the event runs nothing more; another event does.
  await client.subscriptions.replayRange({ id: subscription.id, from: first });
  await publish(2);
  await eventually(async () => (await client.deployments.list({ config })).length === 4);
  await eventually(async () => (await client.subscriptions.show({ id: subscription.id })).backlog === 0);
  expect(await client.deployments.list({ config })).toHaveLength(4);
});

it('refuses an address without hosts, and reports a config or host that does not exist', async () => {
  world = await openEventWorld();
  const { client } = world;
  const create = (url: string) => client.subscriptions.create({ name: '', url, types: ['host.up'] });
  await expect(create('config:rebalance')).rejects.toThrow(/id of a stored config.*name hosts/);
  const id = randomUUID();
  await expect(create(`config:${id}?host=a&where=true`)).rejects.toThrow(/not both/);
  const { subscription } = await create(`config:${id}?host=absent`);
  expect(await client.subscriptions.test({ id: subscription.id })).toMatchObject({ status: 404 });
});
