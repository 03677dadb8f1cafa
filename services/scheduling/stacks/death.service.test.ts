import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { requestsQueue, shardQueue } from '@anneal/contracts/queues.ts';
import {
  providerAnnounced,
  requestDied,
  resourceActions,
  resourceCancel,
  resourceResponse,
  type ResourceRequest,
} from '@anneal/contracts/resource.ts';
import { stackAct, stackEvents, timerFired, type StackAct } from '@anneal/contracts/calls/stacks.ts';
import { stackSignal } from '@anneal/contracts/calls/resources.ts';
import { stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import { armFault, disarmFaults } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { shardOf } from '../shard-map/shard-of.ts';
import {
  literal,
  openHarness,
  planWith,
  project,
  resource,
  testSettings,
  type Harness,
} from '../testing/running-service.ts';

const type = 'Test::Thing';
const queue = 'test.provider';
let harness: Harness;
/** The actions that kill the provider, and the actions that it never answers. */
let deadly: Set<string>;
let silent: Set<string>;
let requests: Envelope<ResourceRequest>[];

beforeEach(async () => {
  deadly = new Set();
  silent = new Set();
  requests = [];
  harness = await openHarness();
  const { bus, mint } = harness.context;
  await bus.consume(queue, async ({ message }) => {
    const request = message as Envelope<ResourceRequest>;
    requests.push(request);
    const action = message.type.replace('resource.', '') as (typeof resourceActions)[number];
    if (deadly.has(action)) throw new AnnealError('Defect', `the provider dies of ${action}`);
    if (!silent.has(action)) await bus.send({ queue: message.replyto ?? '', messages: [answerTo(request)] });
  });
  const definition = {
    type,
    properties: { value: { type: 'Any' as const, update_allowed: true } },
    attributes: {},
    actions: ['check', 'suspend', 'resume', 'snapshot', 'signal'] as const,
  };
  const data = { provider: 'test', queue, types: [{ ...definition, actions: [...definition.actions] }] };
  await bus.send({ queue: requestsQueue('scheduling'), messages: [mint(providerAnnounced, { data })] });
});
afterEach(async () => {
  disarmFaults();
  await harness.dispose();
});

const answerTo = (request: Envelope<ResourceRequest>) =>
  harness.context.mint(resourceResponse, {
    cause: request,
    subject: request.data.resource.id,
    data: {
      resource_id: request.data.resource.id,
      stack_id: request.data.stack.id,
      action: request.type.replace('resource.', '') as 'create',
      fence: request.data.fence,
      status: 'complete',
      physical_id: 'thing',
    },
  });
const planOf = (value: number) => planWith([{ ...resource('r', { value: literal(value) }), type }]);
const created = async (): Promise<string> => {
  const { id } = await harness.create('s', planOf(1));
  expect(await harness.settled(id)).toMatchObject({ status: 'COMPLETE' });
  return id;
};
const pending = async (): Promise<string> => {
  silent.add('create');
  const { id } = await harness.create('s', planOf(1));
  await eventually(() => requests[0], { what: 'the request to create r' });
  return id;
};
const letters = () => harness.context.bus.deadLetters.list({ limit: 10 });
/** Returns the only dead letter. Checks that the stack has failed, and that its reason and `why` name the letter. */
async function failedBy(id: string): Promise<string> {
  const ended = await harness.settled(id);
  const [letter] = await eventually(async () => ((await letters()).length > 0 ? letters() : undefined), {
    what: 'the dead letter',
  });
  expect(ended.status).toBe('FAILED');
  expect(ended.reason).toContain(`dead letter ${letter?.id}`);
  const why = await harness.ask(stackWhy, { project, stack: id });
  expect(`${why.summary} ${JSON.stringify(why.chain)}`).toContain(letter?.id);
  return letter?.id ?? '';
}
const act = (id: string, action: StackAct) => harness.ask(stackAct, { project, stack: id, action });

describe('a request that becomes a dead letter', () => {
  const begin: Record<string, () => Promise<string>> = {
    create: async () => (await harness.create('s', planOf(1))).id,
    update: async () => (await harness.update(await created(), planOf(2))).id,
    delete: async () => (await harness.remove(await created())).id,
    check: async () => (await act(await created(), { kind: 'check' })).id,
    suspend: async () => (await act(await created(), { kind: 'suspend' })).id,
    snapshot: async () => (await act(await created(), { kind: 'snapshot', id: 'snap', name: 'snap' })).id,
    resume: async () => {
      const id = await created();
      await act(id, { kind: 'suspend' });
      await harness.settled(id);
      return (await act(id, { kind: 'resume' })).id;
    },
  };
  it('has a case for each action that a stack waits for', () => {
    const unawaited = ['signal', 'cancel'];
    expect(Object.keys(begin).toSorted()).toEqual(resourceActions.filter((one) => !unawaited.includes(one)).toSorted());
  });

  it.each(Object.keys(begin))('fails the resource, and names the dead letter: %s', async (action) => {
    deadly.add(action);
    const id = await (begin[action] as () => Promise<string>)();
    const letter = await failedBy(id);
    // A replay comes too late to change the resource, and a deletion still knows the created object.
    deadly.clear();
    const before = requests.length;
    expect(await harness.context.bus.deadLetters.replay(letter)).toEqual({ outcome: 'sent' });
    await eventually(() => requests[before], { what: 'the replayed request' });
    await harness.remove(id);
    expect(await harness.settled(id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
  });

  it('announces a signal as failed, and leaves the resource as it was', async () => {
    const id = await created();
    deadly.add('signal');
    await harness.ask(stackSignal, { project, stack: id, resource: 'r', signal: {} });
    const failed = await eventually(
      async () =>
        (await harness.ask(stackEvents, { project, stack: id, descending: false })).events.find(
          (event) => event.action === 'SIGNAL' && event.status === 'FAILED',
        ),
      { what: 'the event of the failed signal' },
    );
    expect(failed.reason).toContain(`dead letter ${(await letters())[0]?.id}`);
    expect(await harness.settled(id)).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
  });
});

describe('a message to a shard that becomes a dead letter', () => {
  const send = (id: string, message: Envelope): Promise<void> =>
    harness.context.bus.send({ queue: shardQueue(shardOf(id, testSettings.shards)), messages: [message] });
  /** Makes a message whose data is missing in the store that the message refers to. */
  const unreadable = (message: Envelope): Envelope => ({ ...message, dataref: '0'.repeat(64) });
  const deadlyStep = (error: Error = new AnnealError('Defect', 'the step dies')): void =>
    void armFault('scheduling.recorded', () => {
      throw error;
    });

  it('fails the resource of the response: resource.response', async () => {
    const id = await pending();
    await send(id, unreadable(answerTo(requests[0] as Envelope<ResourceRequest>)));
    await failedBy(id);
  });

  it('fails the request that it should cancel: resource.cancel', async () => {
    const id = await pending();
    const data = (requests[0] as Envelope<ResourceRequest>).data;
    const { bus, mint } = harness.context;
    deadly.add('cancel');
    const message = mint(resourceCancel, {
      id: `${data.resource.id}:${data.fence}:cancel`,
      subject: data.resource.id,
      replyto: shardQueue(shardOf(id, testSettings.shards)),
      data,
    });
    await bus.send({ queue, messages: [message] });
    await failedBy(id);
  });

  it('leaves the request that it should withdraw in progress: resource.withdraw', async () => {
    const id = await pending();
    const { data } = requests[0] as Envelope<ResourceRequest>;
    const named = { id: `${data.resource.id}:${data.fence}:withdraw`, type: 'resource.withdraw' };
    const failure = { code: 'Defect', message: 'no' };
    const request = { ...named, subject: data.resource.id };
    await send(id, harness.context.mint(requestDied, { data: { dead_letter: 'l', queue, request, failure } }));
    await send(id, answerTo(requests[0] as Envelope<ResourceRequest>));
    expect(await harness.settled(id)).toMatchObject({ status: 'COMPLETE' });
  });

  it('fails the traversal that it belongs to: timer.fired', async () => {
    const id = await pending();
    const data = { stack_id: id, timer: 'grace', traversal: 'any' };
    await send(id, unreadable(harness.context.mint(timerFired, { subject: id, data })));
    await failedBy(id);
  });

  it('fails the stack in its document when the core cannot step it: request.died', async () => {
    const id = await pending();
    deadlyStep();
    const { data } = requests[0] as Envelope<ResourceRequest>;
    const failure = { code: 'Defect', message: 'no' };
    const request = { id: `${data.resource.id}:${data.fence}`, type: 'resource.create', subject: data.resource.id };
    await send(id, harness.context.mint(requestDied, { data: { dead_letter: 'l', queue, request, failure } }));
    await failedBy(id);
  });

  it.each([
    ['an error of ours', new AnnealError('Defect', 'the step dies')],
    ['a mistake of the program', new TypeError('undefined is not a function')],
  ])('fails the stack that it should create: stack.create, by %s', async (_, error) => {
    deadlyStep(error);
    const id = harness.context.newId();
    await expect(harness.create('s', planOf(1), { id })).rejects.toMatchObject({
      code: 'Defect',
      details: { dead_letter: expect.any(String) as string },
    });
    disarmFaults();
    await failedBy(id);
  });
});
