import type { Envelope } from '@anneal/contracts/envelope.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import {
  providerAnnounced,
  resourceResponse,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import { stackSignal, stackWhy } from '@anneal/contracts/calls/scheduling.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callOf, literal, openHarness, planWith, project, resource, type Harness } from '../testing/running-service.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.dispose());

const why = (stack: string, name?: string) =>
  harness.ask(stackWhy, { project, stack, ...(name !== undefined && { resource: name }) });

it('why leads from a waiting stack to the resource and the queue of its provider', async () => {
  const waits = resource('w', { wait_secs: literal(-1) }, { type: 'OS::Heat::TestResource' });
  const { id } = await harness.create('s', planWith([waits]));
  const answer = await eventually(async () => {
    const found = await why(id);
    return found.chain.length >= 3 ? found : undefined;
  });
  expect(answer.summary).toMatch(/^The provider has worked on w since /);
  expect(answer.chain.map(({ object }) => object)).toEqual([
    'stack s',
    'resource w (OS::Heat::TestResource)',
    'queue anneal.scheduling.requests',
  ]);
});

it('why reports for a wait condition the received signals, its deadline, and how to send a signal', async () => {
  const plan = planWith([
    resource('h', {}, { type: 'OS::Heat::WaitConditionHandle' }),
    resource(
      'w',
      { handle: callOf('get_resource', 'h'), timeout: literal(600), count: literal(2) },
      { type: 'OS::Heat::WaitCondition', requires: ['h'] },
    ),
  ]);
  const { id } = await harness.create('s', plan);
  const summaryOf = (came: string) =>
    eventually(async () => {
      const found = await why(id);
      return found.summary.includes(came) ? found : undefined;
    });
  const before = await summaryOf('0 of 2 signals received');
  expect(before.summary).toMatch(
    /^w waits for signals to h: 0 of 2 signals received; it fails unless the others arrive by 20[-\d]*T[:.\d]*Z\.$/,
  );
  expect(before.chain.at(-1)).toMatchObject({
    object: 'handle h (OS::Heat::WaitConditionHandle)',
    reason: 'no signal has arrived',
  });
  expect(before.exits.slice(0, 3)).toEqual([
    `anneal resource signal s h --data '{"status":"SUCCESS"}'`,
    `POST ${harness.context.gatewayUrl}/orchestration/v1/${project}/stacks/s/${id}/resources/h/signal`,
    'give scripts the value of {get_attr: [h, curl_cli]}',
  ]);
  await harness.ask(stackSignal, { project, stack: id, resource: 'h', signal: { id: 'one', reason: 'half' } });
  const after = await summaryOf('1 of 2 signals received (one)');
  expect(after.chain.at(-1)).toMatchObject({ state: '1 of 2 signals', reason: 'last signal: half' });
  expect(await why(id, 'w')).toEqual({ ...after, chain: after.chain.slice(1) });
});

it('why reports the end of a delay', async () => {
  const delays = resource('d', { min_wait: literal(600) }, { type: 'OS::Heat::Delay' });
  const { id } = await harness.create('s', planWith([delays]));
  const answer = await eventually(async () => {
    const found = await why(id);
    return found.summary.includes('waits until') ? found : undefined;
  });
  expect(answer.summary).toMatch(/^d \(OS::Heat::Delay\) waits until 20[-\d]*T[:.\d]*Z; nothing else is needed/);
  expect(answer.exits).toEqual(['anneal stack cancel s --no-rollback']);
});

it('why names a type that no provider serves', async () => {
  const { id } = await harness.create('s', planWith([resource('x', {}, { type: 'Not::Served' })]));
  const answer = await eventually(async () => {
    const found = await why(id);
    return found.summary.includes('none has announced') ? found : undefined;
  });
  expect(answer.summary).toContain('waits for a provider: none has announced Not::Served');
  expect(answer.exits).not.toHaveLength(0);
});

it('why reports the root cause of a failed stack and the next steps', async () => {
  const fails = resource('f', { fail: literal(true) }, { type: 'OS::Heat::TestResource' });
  const { id } = await harness.create('s', planWith([fails]));
  await harness.settled(id);
  const answer = await why(id);
  expect(answer.summary).toContain('Test Resource failed f');
  expect(answer.exits).toContain('anneal stack retry s');
  expect(await why(id, 'f')).toMatchObject({ summary: expect.stringContaining('f has failed') });
  await expect(why(id, 'nope')).rejects.toMatchObject({ code: 'NotFound' });
});

it('why names the member on which a config of a context failed after the last update of the stack', async () => {
  const { bus, mint } = harness.context;
  const type = 'Anneal::Context';
  const answer = async (request: Envelope<ResourceRequest>, more: Pick<ResourceResponse, 'action' | 'attributes'>) => {
    const { resource: of, stack, fence } = request.data;
    const data = { resource_id: of.id, stack_id: stack.id, fence, status: 'complete' as const, ...more };
    const message = mint(resourceResponse, { id: `${request.id}:${more.action}`, cause: request, data });
    await bus.send({ queue: request.replyto ?? '', messages: [message] });
  };
  let created: Envelope<ResourceRequest> | undefined;
  await bus.consume('test.contexts', async ({ message }) => {
    created = message as Envelope<ResourceRequest>;
    await answer(created, { action: 'create', attributes: { version: 1, failures: [] } });
  });
  const types = [{ type, properties: {}, attributes: {}, open_attributes: true }];
  const announced = mint(providerAnnounced, { data: { provider: 'test', queue: 'test.contexts', types } });
  await bus.send({ queue: requestsQueue('scheduling'), messages: [announced] });
  const { id } = await harness.create('s', planWith([resource('cluster', {}, { type })]));
  expect(await harness.settled(id)).toMatchObject({ status: 'COMPLETE' });
  expect((await why(id, 'cluster')).summary).toBe('cluster is idle: it is CREATE_COMPLETE.');
  const failures = [{ member: 'node-1', config: 'conf', reason: 'no disk', deployment_id: 'd1' }];
  if (created) await answer(created, { action: 'signal', attributes: { version: 2, failures } });
  const found = await eventually(async () => {
    const answered = await why(id, 'cluster');
    return answered.exits.length > 0 ? answered : undefined;
  });
  expect(found.summary).toBe('cluster could not run conf on node-1: no disk');
  expect(found.exits[0]).toBe('anneal deployment show d1');
});
