/** A cancelled action withdraws what has not begun, of every provider, also in nested stacks. What has begun goes on. */
import { hostList } from '@anneal/contracts/calls/hosts.ts';
import { queueClaim } from '@anneal/contracts/calls/queues.ts';
import { stackOverview, stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import { hostRequestsQueue } from '@anneal/contracts/queues.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { StackWorld } from './stack-world.ts';

const project = 'p1';
let world: StackWorld;
beforeEach(async () => {
  world = await StackWorld.open({}, { hosts: true, also: [provisioningService] });
});
afterEach(() => world.close());

const inner = `
heat_template_version: 2018-08-31
parameters: { host: { type: string } }
resources:
  inside: { type: OS::Heat::OrderedConfig, properties: { hosted_on: { get_param: host }, script: inside } }
`;
const template = `
heat_template_version: 2018-08-31
resources:
  box: { type: OS::Heat::DeployedServer, properties: { name: box } }
  one: { type: OS::Heat::OrderedConfig, properties: { hosted_on: { get_resource: box }, script: one } }
  two: { type: OS::Heat::OrderedConfig, depends_on: one, properties: { hosted_on: { get_resource: box }, script: two } }
  nest: { type: inner.yaml, depends_on: box, properties: { host: { get_resource: box } } }
  server: { type: OS::Nova::Server, properties: { flavor: no-such-machine, image: any } }
  handle: { type: OS::Heat::WaitConditionHandle }
  wait: { type: OS::Heat::WaitCondition, properties: { handle: { get_resource: handle }, timeout: 600 } }
  slow: { type: OS::Heat::TestResource, properties: { value: 1, wait_secs: 1 } }
`;
const files = { 'inner.yaml': inner };
const wanted = ['inside', 'nest', 'one', 'server', 'slow', 'two', 'wait'];

/** Creates the stack. Resolves when all that waits is in progress. */
async function begun(): Promise<string> {
  const { id } = await world.create('s', { template, files });
  await eventually(
    async () => {
      const running = (await world.resources(id, 5)).filter(({ status }) => status === 'IN_PROGRESS');
      return wanted.every((name) => running.some((each) => each.name === name)) || undefined;
    },
    { what: 'everything being in progress', last: () => world.resources(id, 5) },
  );
  return id;
}

async function claim(): Promise<readonly { id: string }[]> {
  const { hosts } = await world.ask(hostList, { project }, 'configuration');
  const id = hosts[0]?.id ?? '';
  const question = { project, queue: hostRequestsQueue(id), client_id: 'agent', ttl: 60, grace: 60 };
  const { messages } = await world.ask(queueClaim, question, 'configuration');
  return messages;
}

const atRest = (id: string) =>
  eventually(
    async () => {
      const all = await world.resources(id, 5);
      return all.every(({ status }) => status !== 'IN_PROGRESS') ? all : undefined;
    },
    { what: 'the end of everything', last: () => world.resources(id, 5) },
  );

it('withdraws configs, servers and wait conditions, and awaits what has begun', async () => {
  const id = await begun();
  await world.act(id, { kind: 'cancel', rollback: false });
  const all = new Map((await atRest(id)).map(({ name, status, reason }) => [name, `${status} ${reason}`]));
  for (const name of ['one', 'two', 'inside'])
    expect(all.get(name)).toMatch(/FAILED .*was not run.*no longer wants it/);
  expect(all.get('server')).toMatch(/FAILED .*got no node.*no longer wants it/);
  expect(all.get('wait')).toMatch(/FAILED .*waits no longer.*no longer wants it/);
  expect(all.get('slow')).toMatch(/^COMPLETE/);
  expect(await world.show(id)).toMatchObject({ status: 'FAILED', reason: 'Stack CREATE cancelled', failures: [] });
  expect(await claim()).toEqual([]);
  const { conditions, finished_at, cancelled } = await world.show(id);
  expect({ cancelled, ready: conditions.find(({ type }) => type === 'Ready') }).toMatchObject({
    cancelled: true,
    ready: { reason: 'CreateCancelled', since: finished_at },
  });
  expect(await world.ask(stackWhy, { project, stack: id })).toMatchObject({
    summary: 'The create of stack s was cancelled; nothing of it runs.',
  });
  const { counts, working_count, failed_count } = await world.ask(stackOverview, { project, most: 5 });
  expect({ counts, working_count, failed_count }).toEqual({
    counts: { CREATE_CANCELLED: 1 },
    working_count: 0,
    failed_count: 0,
  });
});

it('lets a config end that its host has taken', async () => {
  const id = await begun();
  const [taken] = await claim();
  expect(taken).toBeDefined();
  await world.act(id, { kind: 'cancel', rollback: false });
  const left = await eventually(
    async () => {
      const running = (await world.resources(id, 5)).filter(({ status }) => status === 'IN_PROGRESS');
      return running.length === 1 ? running : undefined;
    },
    { what: 'one config that goes on', last: () => world.resources(id, 5) },
  );
  expect(['one', 'inside']).toContain(left[0]?.name);
  const { summary } = await world.ask(stackWhy, { project, stack: id });
  expect(summary).toMatch(/was cancelled; what had begun goes on to its end: (one|nest)\.$/);
});

it('withdraws what an update leaves out, while its server stays', async () => {
  const id = await begun();
  const box = template.split('\n').find((line) => line.startsWith('  box:'));
  await world.update(id, { template: `heat_template_version: 2018-08-31\nresources:\n${box}\n` });
  await world.complete(id);
  expect(await claim()).toEqual([]);
});
