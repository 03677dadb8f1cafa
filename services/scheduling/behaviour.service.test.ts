import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { Bus } from '@anneal/bus/port.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { providerAnnounced, resourceResponse, type ResourceRequest } from '@anneal/contracts/resource.ts';
import { stackEvents, stackShow, stackUpdate } from '@anneal/contracts/calls/stacks.ts';
import { stackResources } from '@anneal/contracts/calls/resources.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { callOf, literal, openHarness, planWith, project, resource, type Harness } from './testing/running-service.ts';

let harness: Harness;
let context: TestContext;
let skewMs = 0;
beforeEach(async () => {
  skewMs = 0;
  context = await createTestContext({ name: 'scheduling' });
  harness = await openHarness({ context: { ...context, now: () => new Date(Date.now() + skewMs) } });
});
afterEach(() => harness.dispose());

/** A separate provider, which answers when the test calls it. */
async function serve(type: string, properties: string[] = ['value']) {
  const queue = 'test.provider';
  const requests: Envelope<ResourceRequest>[] = [];
  await context.bus.consume(queue, async ({ message }) => {
    requests.push(message as Envelope<ResourceRequest>);
  });
  const definition = {
    type,
    properties: Object.fromEntries(properties.map((name) => [name, { type: 'Any' as const, update_allowed: true }])),
    attributes: {},
    open_attributes: true,
  };
  const message = context.mint(providerAnnounced, { data: { provider: 'test', queue, types: [definition] } });
  await context.bus.send({ queue: requestsQueue('scheduling'), messages: [message] });
  return {
    requests,
    next: (count: number, what: string) =>
      eventually(() => (requests.length >= count ? requests[count - 1] : undefined), {
        what,
        last: () => requests.map((r) => r.type),
      }),
    answer: (request: Envelope<ResourceRequest>, more: { status?: 'complete' | 'failed'; times?: number } = {}) =>
      context.bus.send({
        queue: request.replyto ?? '',
        messages: Array.from({ length: more.times ?? 1 }, () =>
          context.mint(resourceResponse, {
            id: `${request.id}:done`,
            cause: request,
            data: {
              resource_id: request.data.resource.id,
              stack_id: request.data.stack.id,
              action: request.type.replace('resource.', '') as 'create',
              fence: request.data.fence,
              status: more.status ?? 'complete',
              physical_id: request.data.resource.id,
              attributes: request.data.properties as JsonObject,
              ...(more.status === 'failed' && { error: { code: 'ResourceFailed', message: 'no' } }),
            },
          }),
        ),
      }),
  };
}

const thing = (value: string) => planWith([resource('t', { value: literal(value) }, { type: 'Test::Thing' })]);

describe('the deadline of a stack', () => {
  it('fails a request without an answer, from a durable timer, and allows a retry', async () => {
    const provider = await serve('Test::Thing');
    const { id } = await harness.create('slow', thing('x'), { timeout_minutes: 1 });
    const create = await provider.next(1, 'the create');
    skewMs = 61_000;
    expect(await harness.settled(id)).toMatchObject({
      action: 'CREATE',
      status: 'FAILED',
      reason: 'Timed out',
      failures: [{ resource: 't', failure: { code: 'DeadlineExceeded' } }],
    });
    // This answer is too late.
    await provider.answer(create);
    await harness.remove(id);
    const remove = await provider.next(2, 'the delete');
    expect(remove.type).toBe('resource.delete');
    expect(remove.data.fence).toBe(2);
    await provider.answer(remove);
    expect(await harness.settled(id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
  });
});

describe('a newer action', () => {
  it('replaces a running one: the resource continues in the new traversal after its response', async () => {
    const provider = await serve('Test::Thing');
    const { id } = await harness.create('s', thing('x'));
    const create = await provider.next(1, 'the create');
    await harness.update(id, thing('y'));
    expect(provider.requests).toHaveLength(1);
    await provider.answer(create, { times: 2 });
    const update = await provider.next(2, 'the update');
    expect(update).toMatchObject({
      type: 'resource.update',
      data: { old_properties: { value: 'x' }, properties: { value: 'y' }, changed: ['value'], fence: 2 },
    });
    await provider.answer(update, { times: 2 });
    expect(await harness.settled(id)).toMatchObject({ action: 'UPDATE', status: 'COMPLETE' });
    expect(provider.requests).toHaveLength(2);
  });

  it('is refused while the stack is being deleted, and the deletion takes over a resource that never answers', async () => {
    const provider = await serve('Test::Thing');
    const { id } = await harness.create('s', thing('x'));
    await provider.next(1, 'the create');
    await harness.remove(id);
    await expect(harness.update(id, thing('y'))).rejects.toMatchObject({
      code: 'NotSupported',
      message: 'Updating a stack when it is deleting is not supported.',
    });
    const remove = await provider.next(2, 'the delete');
    await provider.answer(remove, { status: 'failed' });
    expect(await harness.settled(id)).toMatchObject({
      action: 'DELETE',
      status: 'FAILED',
      reason: 'Resource DELETE failed: ResourceFailed: resources.t: no',
    });
    await harness.remove(id);
    await provider.answer(await provider.next(3, 'the second delete'));
    expect(await harness.settled(id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
    await expect(harness.remove(id)).rejects.toMatchObject({ code: 'NotFound' });
  });
});

describe('every message delivered twice', () => {
  it('leads to the same result', async () => {
    await harness.service.stop();
    const bus: Bus = {
      ...context.bus,
      send: ({ queue, messages }) => context.bus.send({ queue, messages: messages.flatMap((m) => [m, m]) }),
    };
    const twice = await openHarness({ context: { ...context, bus, dispose: async () => {} } });
    const plan = (value: string) =>
      planWith([
        resource('a', { value: literal(value) }, { type: 'OS::Heat::TestResource' }),
        resource('r', { salt: literal(value) }, { type: 'OS::Heat::RandomString' }),
        resource('b', { value: callOf('get_attr', 'a', 'output') }, { requires: ['a'] }),
      ]);
    const { id } = await twice.create('s', plan('x'));
    await twice.settled(id);
    await twice.update(id, plan('y'));
    expect(await twice.settled(id)).toMatchObject({ action: 'UPDATE', status: 'COMPLETE' });
    const { events } = await twice.ask(stackEvents, { project, stack: id, descending: false });
    expect(events.map((e) => `${e.resource_name} ${e.action} ${e.status}`).sort()).toEqual(
      [
        's CREATE IN_PROGRESS',
        's CREATE COMPLETE',
        's UPDATE IN_PROGRESS',
        's UPDATE COMPLETE',
        ...['a', 'b', 'r', 'r'].flatMap((name) => [`${name} CREATE IN_PROGRESS`, `${name} CREATE COMPLETE`]),
        ...['a', 'b'].flatMap((name) => [`${name} UPDATE IN_PROGRESS`, `${name} UPDATE COMPLETE`]),
        'r DELETE IN_PROGRESS',
        'r DELETE COMPLETE',
      ].sort(),
    );
    await twice.remove(id);
    expect(await twice.settled(id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
    await twice.service.stop();
    harness = await openHarness({ context });
  });
});

describe('a hidden parameter', () => {
  it('is sealed in documents and requests, masked in views, and shown by an output, as in Heat', async () => {
    const provider = await serve('Test::Thing');
    const plan = planWith(
      [
        resource('v', { value: callOf('get_param', 'password') }),
        resource('t', { value: callOf('get_attr', 'v', 'value') }, { type: 'Test::Thing', requires: ['v'] }),
      ],
      {
        parameters: { password: { type: 'string', value: context.secrets.seal('s3cret'), hidden: true } },
        outputs: { shown: { name: 'shown', value: callOf('get_attr', 't', 'value') } },
      },
    );
    const { id } = await harness.create('s', plan);
    const request = await provider.next(1, 'the create');
    expect(JSON.stringify(request)).not.toContain('s3cret');
    expect(openProperties(context.secrets, request.data.properties)).toEqual({ value: 's3cret' });
    await provider.answer(request);
    const shown = await harness.settled(id);
    expect(shown).toMatchObject({ parameters: { password: '******' }, outputs: [{ key: 'shown', value: 's3cret' }] });
    const { resources } = await harness.ask(stackResources, { project, stack: id, detail: true });
    expect(resources.map(({ properties, attributes }) => [properties, attributes])).toEqual([
      [{ value: '******' }, { value: '******' }],
      [{ value: '******' }, { value: '******' }],
    ]);
    await harness.update(id, plan);
    expect(await harness.settled(id)).toMatchObject({ action: 'UPDATE', status: 'COMPLETE' });
    expect(provider.requests).toHaveLength(1);
  });
});

describe('a query', () => {
  it('is refused with the name of a missing object', async () => {
    await expect(harness.ask(stackShow, { project, stack: 'none', outputs: false })).rejects.toMatchObject({
      code: 'NotFound',
      message: 'The Stack (none) could not be found.',
    });
    const nothing = { plan: 'x', template: 'x', environment: 'x', files: 'x', description: '' };
    await expect(harness.ask(stackUpdate, { id: 'none', project, ...nothing })).rejects.toMatchObject({
      code: 'NotFound',
    });
  });
});

describe('a resource without a provider request', () => {
  it('completes within one step, however long the chain is', async () => {
    const sent: string[] = [];
    const consumer = await context.bus.subscribe(['resource.#'], async ({ message }) => {
      sent.push(message.type);
    });
    const count = 200;
    const links = Array.from({ length: count }, (_, index) =>
      resource(
        `r${index}`,
        { value: index === 0 ? literal('x') : callOf('get_attr', `r${index - 1}`, 'value') },
        { requires: index === 0 ? [] : [`r${index - 1}`] },
      ),
    );
    const { id, status } = await harness.create('s', planWith(links));
    expect(status).toBe('COMPLETE');
    const { resources } = await harness.ask(stackResources, {
      project,
      stack: id,
      name: `r${count - 1}`,
      detail: true,
    });
    expect(resources[0]?.attributes).toEqual({ value: 'x' });
    await eventually(() => (sent.length === 2 * count ? true : undefined), { last: () => sent.length });
    await consumer.stop();
  });
});
