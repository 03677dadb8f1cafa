import { resourceCreate, type ResourceResponse } from '@anneal/contracts/resource.ts';
import { createTestContext, eventually } from '@anneal/runtime/testing.ts';
import type { Draft } from '@anneal/store/port.ts';
import { createTimers, type Timer, type Timers } from '@anneal/store/timers.ts';
import { expect, it } from 'vitest';
import { openSchedulingCollections } from '../collections.ts';
import { waitTimers } from './wait-timers.ts';
import type { WorkDocument } from './work.ts';
import { createActions } from '../workflows/actions/actions.ts';
import { WorkflowDefinitions } from '../workflows/definitions.ts';
import { WorkflowResources } from '../workflows/resources.ts';
import { CronTriggers } from '../workflows/triggers/cron-triggers.ts';
import { EventTriggers } from '../workflows/triggers/event-triggers.ts';
import { shardQueue } from '@anneal/contracts/queues.ts';
import { createWorker } from '../provider/work.ts';

it('P3: a wait and an answer that an earlier version stored are continued and repeated', async () => {
  const context = await createTestContext({ name: 'scheduling' });
  const { bus, mint, store } = context;
  const responses: ResourceResponse[] = [];
  const replyto = 'anneal.scheduling.shard.0';
  const consumer = await bus.consume(replyto, async ({ message }) => {
    responses.push(message.data as ResourceResponse);
  });
  const requestFor = (id: string) =>
    mint(resourceCreate, {
      id: `${id}:1`,
      replyto,
      data: {
        resource: { id, name: 'd', type: 'OS::Heat::TestResource', physical_name: 'd' },
        stack: { id: 's', name: 's' },
        traversal: 't',
        fence: 1,
        deadline: new Date(Date.now() + 60_000).toISOString(),
        physical_id: null,
        properties: { value: 'x', wait_secs: 1 },
        attributes: {},
      },
    });
  const { data, ...message } = requestFor('waiting');
  const collections = await openSchedulingCollections(store);
  const { work, stacks } = collections;
  const base = { fence: 1, action: 'create' } as const;
  const due_at = new Date(Date.now() - 1000).toISOString();
  const response = { resource_id: 'done', stack_id: 's', ...base, status: 'complete', attributes: { output: 'kept' } };
  for (const earlier of [
    { id: 'waiting', ...base, request: { message, data }, due_at, response: null },
    { id: 'done', ...base, request: null, due_at: null, response },
  ])
    await work.insert(earlier as unknown as Draft<WorkDocument>);

  let timers: Timers | undefined;
  const limit = { bytes: 1000, setting: 'a setting' };
  const actions = createActions({ context, network: { allowPrivate: false } });
  const definitions = new WorkflowDefinitions({ ...collections, store, now: context.now });
  const shards = { queueOf: () => shardQueue(0) };
  const triggers = new EventTriggers({ context, triggers: collections.triggers, shards });
  const crons = new CronTriggers({ ...collections, context, definitions, shards, timers: () => timers as Timers });
  const workflows = new WorkflowResources({ context, collections, definitions, triggers, crons });
  const worker = createWorker({ context, work, stacks, timers: () => timers as Timers, limit, actions, workflows });
  const onError = (error: unknown): never => {
    throw error;
  };
  const collection = 'scheduling_waits';
  const fire = (stored: Timer): Promise<void> => {
    const timer = waitTimers.read(stored);
    return timer.kind === 'work' ? worker.wake(timer.resource) : Promise.reject(new Error(timer.kind));
  };
  const { permission } = context.bus;
  timers = await createTimers({ store, collection, permission, now: Date.now, onError, fire });
  await timers.set([{ id: 'waiting:1', dueAt: Date.parse(due_at), data: { resource: 'waiting', fence: 1 } }]);
  await worker.take('create', requestFor('done'));
  const answerOf = (id: string) => eventually(() => responses.find(({ resource_id }) => resource_id === id));
  expect(await answerOf('waiting')).toMatchObject({ status: 'complete', attributes: { output: 'x' } });
  expect(await answerOf('done')).toEqual(response);
  await timers.stop();
  await consumer.stop();
  await context.dispose();
});
