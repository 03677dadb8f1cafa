/** The cost of resources, of nested stacks, and of events to listeners. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { TemplateBundle } from '@anneal/client/stacks.ts';
import { bundle } from '../../e2e/server.ts';
import { openEventListener } from '../events/site.ts';
import type { HostSite } from '../hosts/site.ts';
import { testResources, values } from '../stack/shapes.ts';
import { untilStatus } from '../stack/work.ts';
import { untilIdle } from '../until-idle.ts';
import { costOf, costOfOne, spent, type Cost } from './meter.ts';

/** Each read of the state counts as work of the server, so few are better. */
const pollMs = 20;
/** V8 compiles the code during the first ones, which would count as their cost. */
const warmUps = 3;

async function create(site: HostSite, name: string, made: TemplateBundle): Promise<void> {
  await site.client.stacks.create({ name, bundle: made });
  await untilStatus(site, { stack: name, status: 'CREATE_COMPLETE', everyMs: pollMs });
}

async function remove({ client }: HostSite, stack: string): Promise<void> {
  await client.stacks.delete({ stack });
  while ((await client.stacks.list()).some(({ stack_name: name }) => name === stack)) await delay(pollMs);
}

const nested = (count: number): TemplateBundle => ({
  template: [
    'heat_template_version: 2016-10-14',
    'resources:',
    ...Array.from({ length: count }, (_, index) => `  n${index}: {type: nested.yaml}`),
  ].join('\n'),
  environmentFiles: [],
  files: { 'nested.yaml': values(1) },
});

/** The cost of creating and of deleting one of `n` resources. */
export async function lifeCosts(
  site: HostSite,
  n: number,
  kind: 'value' | 'test resource' | 'nested stack',
): Promise<{ created: Cost; deleted: Cost }> {
  const shapes = {
    value: (count: number) => bundle(values(count)),
    'test resource': (count: number) => bundle(testResources(count)),
    'nested stack': nested,
  };
  for (let life = 0; life < warmUps; life += 1) {
    await create(site, 'warm-up', shapes[kind](n));
    await remove(site, 'warm-up');
  }
  const created = await costOf(site, n, () => create(site, 'measured', shapes[kind](n)));
  const deleted = await costOf(site, n, () => remove(site, 'measured'));
  return { created, deleted };
}

const few = 1;
const many = 5;

/** The cost of one event that one more webhook gets. */
export async function webhookCost(site: HostSite, n: number): Promise<Cost> {
  const { listener, url } = await openEventListener();
  const { subscriptions } = site.client;
  const subscribe = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      const name = `cost${randomUUID()}`;
      await subscriptions.create({ name, url: `${url}/${name}`, types: ['resource.#'] });
    }
  };
  const work = (name: string) => () => create(site, name, bundle(values(n)));
  try {
    await subscribe(few);
    await work('webhooks-first')();
    await untilIdle(site);
    await listener.ask({ kind: 'take' }, 'taken');
    const less = await spent(site, work('webhooks-few'));
    const { events: lessEvents } = await listener.ask({ kind: 'take' }, 'taken');
    await subscribe(many - few);
    const more = await spent(site, work('webhooks-many'));
    const { events: moreEvents } = await listener.ask({ kind: 'take' }, 'taken');
    return costOfOne({ less, more, count: moreEvents - lessEvents });
  } finally {
    for (const { id } of await subscriptions.list()) await subscriptions.delete({ id });
    for (const name of ['webhooks-first', 'webhooks-few', 'webhooks-many']) await remove(site, name);
    await listener.stop();
  }
}

/** The cost of one event that one more stream of server-sent events gets. */
export async function streamCost(site: HostSite, n: number): Promise<Cost> {
  const stopping = new AbortController();
  let seen = 0;
  const follow = async (onOpen: () => void): Promise<void> => {
    for await (const events of site.client.events.batches({ types: ['resource.#'], signal: stopping.signal, onOpen }))
      seen += events.length;
  };
  const open = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      const { promise, resolve } = Promise.withResolvers<void>();
      void follow(resolve).catch(resolve);
      await promise;
    }
  };
  const work = (name: string) => () => create(site, name, bundle(values(n)));
  try {
    await open(few);
    await work('streams-first')();
    await untilIdle(site);
    const less = await spent(site, work('streams-few'));
    const lessEvents = seen;
    await open(many - few);
    const before = seen;
    const more = await spent(site, work('streams-many'));
    // Each of the first streams saw the events of both stacks before.
    return costOfOne({ less, more, count: seen - before - lessEvents / 2 });
  } finally {
    stopping.abort();
    for (const name of ['streams-first', 'streams-few', 'streams-many']) await remove(site, name);
  }
}
