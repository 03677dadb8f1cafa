/** Checks the guarantees of providers on each service that is a provider, over the real bus and store. */
import { hostCreate } from '@anneal/contracts/calls/hosts.ts';
import { queueClaim, queuePost } from '@anneal/contracts/calls/queues.ts';
import { hostRequestSchema } from '@anneal/contracts/calls/host-messages.ts';
import { requestsQueue, type ServiceName } from '@anneal/contracts/queues.ts';
import { configurationService } from '@anneal/configuration/service.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { guarantees, type ProviderDeath, type Subject } from '@anneal/provider/conformance/guarantees.ts';
import { Probe } from '@anneal/provider/conformance/probe.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import { schedulingService } from '@anneal/scheduling/service.ts';
import { afterAll, beforeAll, describe, it } from 'vitest';

const project = '00000000000000000000000000000001';
const closers: (() => Promise<unknown>)[] = [];
let context: TestContext;

beforeAll(async () => {
  context = await createTestContext({ name: 'scheduling', logLevel: process.env['TEST_LOG'] ?? 'silent' });
  closers.push(() => context.dispose());
  const { bus, store, directory } = context;
  const contextOf = (name: ServiceName) => createTestContext({ name, bus, store, directory });
  for (const service of [configurationService, provisioningService, schedulingService, notificationService]) {
    const running = await service.start(await contextOf(service.name), readSettings(service.settings, {}) as never);
    closers.push(() => running.stop());
  }
});
afterAll(async () => {
  for (const close of closers.toReversed()) await close();
});

/** The first pass of a fault point throws, so that its message or timer is delivered again. */
const dieAt = (point: string): ProviderDeath => ({
  name: `a fault at ${point}`,
  arm: () => {
    const disarm = armFault(point, () => {
      disarm();
      throw new Error(`fault ${point}`);
    });
    return Promise.resolve(() => Promise.resolve());
  },
});

const createHost = async (): Promise<string> => {
  const id = context.newId();
  const message = context.mint(hostCreate, { data: { id, name: `host-${id.slice(-8)}`, project }, project });
  await context.bus.request({ queue: requestsQueue('configuration'), call: hostCreate, message });
  return id;
};

/** A host that completes each request as soon as its queue is filled. */
async function createWillingHost(): Promise<string> {
  const { bus, mint } = context;
  const id = await createHost();
  const queue = requestsQueue('configuration');
  const answerNext = async (): Promise<boolean> => {
    const claim = mint(queueClaim, { data: { project, queue: `host.${id}.requests`, ttl: 60, grace: 60 }, project });
    const { messages } = await bus.request({ queue, call: queueClaim, message: claim });
    const [first] = messages;
    if (!first) return false;
    const body = { id: hostRequestSchema.parse(first.body).id, status_code: 0 };
    const post = mint(queuePost, {
      data: { project, queue: `host.${id}.responses`, client_id: 'host', messages: [{ body, ttl: 600 }] },
      project,
    });
    await bus.request({ queue, call: queuePost, message: post });
    return true;
  };
  const listener = await bus.subscribe(
    ['queue.filled'],
    async ({ message }) => {
      if ((message.data as { queue: string }).queue === `host.${id}.requests`) while (await answerNext());
    },
    { group: `test-${id}` },
  );
  closers.push(() => listener.stop());
  return id;
}

/** A host that has asked for work. */
async function createUpHost(): Promise<string> {
  const id = await createHost();
  const data = { project, queue: `host.${id}.requests`, ttl: 60, grace: 60 };
  const claim = context.mint(queueClaim, { data, project });
  await context.bus.request({ queue: requestsQueue('configuration'), call: queueClaim, message: claim });
  return id;
}

interface Case {
  readonly service: ServiceName;
  /** The type announces it. */
  readonly supersedes?: true;
  /** Every request of it is answered at once, so none can be overtaken or pass its deadline. */
  readonly immediate?: true;
  readonly subject: () => Promise<Subject>;
}

const ordered = 'OS::Heat::OrderedConfig';
const cases: readonly Case[] = [
  {
    service: 'scheduling',
    subject: () =>
      Promise.resolve({
        // Its value is drawn, so a repeat that works again is noticed.
        type: 'OS::Heat::RandomString',
        properties: { length: 32 },
        changed: { salt: 'another' },
        endless: { type: 'OS::Heat::TestResource', properties: { action_wait_secs: { create: -1 } } },
        deaths: ['provider.recorded', 'provider.answered', 'provider.sent'].map(dieAt),
      }),
  },
  {
    service: 'configuration',
    supersedes: true,
    subject: async (host = createHost()) => ({
      type: ordered,
      properties: { hosted_on: await createWillingHost(), script: 'true' },
      changed: { actions: ['CREATE', 'UPDATE', 'SUSPEND'] },
      endless: { type: ordered, properties: { hosted_on: await host, script: 'true' } },
      // A creation with nothing to do on a host that never answers.
      superseding: { hosted_on: await host, script: 'true', actions: ['DELETE'] },
      deaths: ['provider.recorded', 'configuration.run.recorded', 'outbox.sent'].map(dieAt),
    }),
  },
  {
    service: 'configuration',
    subject: async () => ({
      type: 'Anneal::Context',
      properties: { members: { all: await createUpHost() } },
      changed: { facts: ['rack'] },
      endless: { type: 'Anneal::Context', properties: { members: { all: await createHost() } } },
      deaths: ['provider.recorded', 'provider.answered', 'configuration.context.changed', 'outbox.sent'].map(dieAt),
    }),
  },
  {
    service: 'provisioning',
    subject: () =>
      Promise.resolve({
        type: 'OS::Heat::DeployedServer',
        properties: { name: 'host-{id}' },
        changed: { name: 'another' },
        // The test has no node.
        endless: { type: 'OS::Nova::Server', properties: { flavor: 'm1.small', name: 'server-{id}' } },
        deaths: ['provider.recorded', 'provider.answered', 'provider.sent'].map(dieAt),
      }),
  },
  {
    service: 'notification',
    immediate: true,
    subject: () =>
      Promise.resolve({
        type: 'Anneal::Alarm',
        properties: { metric: 'load', threshold: 80, period: 10 },
        changed: { threshold: 90 },
        deaths: ['provider.recorded', 'provider.answered', 'provider.sent'].map(dieAt),
      }),
  },
];

describe.each(cases)('the provider in $service', (each) => {
  let probe: Probe;
  let subject: Subject;
  beforeAll(async () => {
    const { bus, mint, newId } = context;
    const now = (): number => context.now().getTime();
    probe = await Probe.open({ bus, mint, newId, now, queue: requestsQueue(each.service), project, withinMs: 60_000 });
    subject = await each.subject();
  });
  afterAll(() => probe.close());

  const promised = guarantees.filter(
    ({ needs }) => (needs !== 'superseding' || each.supersedes) && (needs !== 'endless' || !each.immediate),
  );
  it.each(promised)('$id: $title', ({ check }) => check(probe, subject));
});
