/** Things that need a person, in the overview. The services are real; only the clock of the gateway is ahead. */
import { subscriptionAct, subscriptionCreate } from '@anneal/contracts/calls/subscriptions.ts';
import type { Ask } from '@anneal/gateway/ask.ts';
import { readOverview } from '@anneal/gateway/api/overview-endpoints.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { StackWorld } from './stack-world.ts';

const project = 'p1';
const minuteMs = 60_000;
let world: StackWorld;
beforeAll(async () => {
  world = await StackWorld.open(
    { ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'true' },
    { hosts: true, also: [notificationService, provisioningService] },
  );
});
afterAll(() => world.close());

const overviewAfter = (minutes: number) => {
  const ask: Ask = (service, call, { data }) => world.ask(call, data, service);
  const replicas = { list: () => [] };
  const now = () => Date.now() + minutes * minuteMs;
  return readOverview({ ask, bus: world.context.bus, now, replicas }, { project, operator: true });
};
const subscribe = (id: string, more: object = {}) =>
  world.ask(
    subscriptionCreate,
    { id, project, name: id, url: 'http://127.0.0.1:9/', types: ['#'], subject_prefix: '', ...more },
    'notification',
  );

it('names a stack whose host has not joined for five minutes, and a listener that never got an event', async () => {
  await subscribe('pager');
  await subscribe('asked', { confirm: true });
  await subscribe('paused');
  await world.ask(subscriptionAct, { project, id: 'paused', verb: 'pause' }, 'notification');
  const template = `heat_template_version: rocky
resources:
  box: {type: OS::Heat::DeployedServer, properties: {name: box7}}
  c: {type: OS::Heat::OrderedConfig, properties: {hosted_on: {get_resource: box}, script: 'echo hi'}}
`;
  await world.create('lonely', { template });
  const needs = await eventually(
    async () => {
      const found = (await overviewAfter(6)).needs;
      return found.length === 3 ? found : undefined;
    },
    { what: 'three things that need a person' },
  );
  expect(needs).toMatchObject([
    {
      kind: 'stack',
      name: 'lonely',
      summary: expect.stringMatching(/^c waits for host box7, which has never asked for work/),
      exits: expect.arrayContaining([expect.stringContaining('anneal host token box7')]),
    },
    {
      kind: 'subscription',
      name: 'asked',
      summary: 'Subscription asked delivers nothing until its listener agrees to receive events.',
      exits: ['anneal subscription test asked', 'anneal subscription show asked'],
    },
    {
      kind: 'subscription',
      name: 'pager',
      summary: expect.stringMatching(/^Subscription pager has never delivered an event: .*ECONNREFUSED.*[^.]\.$/),
    },
  ]);
  const { working_count: working, need_counts: counts } = await overviewAfter(6);
  expect([working, counts]).toMatchObject([0, { stack: 1, subscription: 2, host: 0 }]);
  // A machine that joins soon, and a listener that fails for a moment, need no person.
  const early = await overviewAfter(0);
  expect(early).toMatchObject({ needs: [], working_count: 1, unavailable: [] });
});
