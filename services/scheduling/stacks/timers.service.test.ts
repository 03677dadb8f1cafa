/** Timers of stacks in the store, in the journal and in messages, also in the form of release 0.1.0. */
import { timerFired } from '@anneal/contracts/calls/stacks.ts';
import { requestsQueue, shardQueue } from '@anneal/contracts/queues.ts';
import { providerAnnounced } from '@anneal/contracts/resource.ts';
import type { StackTimer } from '@anneal/contracts/stack-timer.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import type { Document } from '@anneal/store/port.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSchedulingCollections } from '../collections.ts';
import { shardOf } from '../shard-map/shard-of.ts';
import { literal, openHarness, planWith, resource, testSettings, type Harness } from '../testing/running-service.ts';

interface StoredTimer extends Document {
  readonly dueAt: number;
  readonly readyAt: number;
  readonly failures: number;
  readonly data: unknown;
}

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.dispose());

const timers = () =>
  harness.context.store.collection<StoredTimer>({ name: 'scheduling_timers', indexes: [{ fields: ['readyAt'] }] });
/** Stores a timer that is due. */
const putDue = async (id: string, data: unknown): Promise<void> => {
  const dueAt = Date.now();
  await (await timers()).bulk([{ kind: 'put', document: { id, dueAt, readyAt: dueAt, failures: 0, data } }]);
};
/** A stack whose provider never answers, with the traversal that waits. */
const pending = async () => {
  const { bus, mint } = harness.context;
  let isAsked = false;
  await bus.consume('test.provider', async () => {
    isAsked = true;
  });
  const types = [{ type: 'Test::Thing', properties: { value: { type: 'Any' as const } }, attributes: {}, actions: [] }];
  const data = { provider: 'test', queue: 'test.provider', types };
  await bus.send({ queue: requestsQueue('scheduling'), messages: [mint(providerAnnounced, { data })] });
  const plan = planWith([{ ...resource('r', { value: literal(1) }), type: 'Test::Thing' }]);
  const { id } = await harness.create('s', plan);
  await eventually(() => isAsked, { what: 'the request to create r' });
  const { stacks } = await openSchedulingCollections(harness.context.store);
  const stack = await stacks.get(id);
  return { stack_id: id, traversal: stack?.traversal ?? '' };
};
const fired = (data: { stack_id: string; timer: string; traversal: string; due?: StackTimer }): Promise<void> =>
  harness.context.bus.send({
    queue: shardQueue(shardOf(data.stack_id, testSettings.shards)),
    messages: [harness.context.mint(timerFired, { subject: data.stack_id, data })],
  });

it('a deadline is stored with its kind, and fires in the form of release 0.1.0 under the same id', async () => {
  const of = await pending();
  const id = `${of.stack_id}:${of.traversal}:deadline`;
  const stored = await (await timers()).get(id);
  expect(stored?.data).toEqual({ kind: 'stack', ...of, timer: 'deadline', due: { kind: 'deadline' } });
  await putDue(id, { ...of, timer: 'deadline' });
  expect(await harness.settled(of.stack_id)).toMatchObject({ status: 'FAILED', reason: 'Timed out' });
});

it('a message of a replica of release 0.1.0 ends the action', async () => {
  const of = await pending();
  await fired({ ...of, timer: 'deadline' });
  expect(await harness.settled(of.stack_id)).toMatchObject({ status: 'FAILED', reason: 'Timed out' });
});

it.each([
  ['with an unknown name', { timer: 'snooze' }],
  ['of an execution', { timer: 'wait.1.1', due: { kind: 'task wait', task: 1, attempt: 1 } as const }],
])('a message of a timer %s becomes a dead letter, which fails the stack that waits', async (_, data) => {
  const of = await pending();
  await fired({ ...of, ...data });
  expect(await harness.settled(of.stack_id)).toMatchObject({ status: 'FAILED' });
  const letter = await eventually(async () => (await harness.context.bus.deadLetters.list({ limit: 1 }))[0], {
    what: 'the dead letter',
  });
  expect(letter.failure).toMatchObject({ code: 'InvalidMessage' });
  expect(letter.failure.message).toContain(data.timer);
});

it('a stored timer of an unknown kind waits for a replica that knows it', async () => {
  await putDue('newer', { kind: 'newer' });
  const waiting = await eventually(
    async () => {
      const timer = await (await timers()).get('newer');
      return timer && timer.failures > 0 ? timer : undefined;
    },
    { what: 'the timer that is tried again' },
  );
  expect(waiting.data).toEqual({ kind: 'newer' });
});

it('a record that release 0.1.0 left open sets and cancels its timers', async () => {
  const { stack_id, traversal } = await pending();
  await harness.service.stop();
  const { journal, stacks } = await openSchedulingCollections(harness.context.store);
  const [last, stack] = await Promise.all([journal.get(stack_id), stacks.get(stack_id)]);
  if (!last || !stack) throw new Error('the stack has no journal');
  const effects = [
    { kind: 'timer', timer: 'grace', at: new Date(Date.now() + 3_600_000).toISOString(), traversal },
    { kind: 'cancel timer', timer: 'deadline', traversal },
  ];
  const cause = { id: 'c', correlationid: 'c' };
  const record = { time: stack.updated_at, inputs: [], cause, stack, resources: [], removed: [], events: [], effects };
  const { version, ...draft } = last;
  await journal.replace({ ...draft, open: true, record: record as never }, version);
  harness = await openHarness({ context: harness.context });
  const collection = await timers();
  const grace = await eventually(() => collection.get(`${stack_id}:${traversal}:grace`), { what: 'the timer' });
  expect(grace.data).toMatchObject({ kind: 'stack', due: { kind: 'grace' } });
  await eventually(async () => ((await collection.get(`${stack_id}:${traversal}:deadline`)) ? undefined : true), {
    what: 'the end of the deadline',
  });
});
