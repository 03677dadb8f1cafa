import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { hostEvent } from '@anneal/contracts/events.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import {
  providerAnnounced,
  resourceResponse,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import { stackResources, stackSignal } from '@anneal/contracts/calls/resources.ts';
import { stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import { executionAct, executionIdFrom, executionStart, workflowCreate } from '@anneal/contracts/calls/workflow.ts';
import type { ResourceDocument, StackDocument } from '@anneal/convergence/documents.ts';
import type { Draft } from '@anneal/store/port.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSchedulingCollections } from '../collections.ts';
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

it('why of a resource waits for a stack that begins, and says so when the stack has no resources yet', async () => {
  const waits = resource('w', { wait_secs: literal(-1) }, { type: 'OS::Heat::TestResource' });
  const { id } = await harness.create('s', planWith([waits]));
  await eventually(async () => ((await why(id, 'w')).chain.length >= 2 ? true : undefined));
  const { stacks, resources } = await openSchedulingCollections(harness.context.store);
  const [{ version: _, ...stack } = {}, [{ version: __, ...own } = {}]] = [
    await stacks.get(id),
    await resources.find({ where: { stack_id: id } }),
  ];
  // As the shard stores them: the stack first, then its resources.
  const fresh = { ...stack, id: 'fresh', name: 'fresh', root: 'fresh', live_name: 'fresh' };
  await stacks.insert(fresh as Draft<StackDocument>);
  const early = await why('fresh', 'w');
  expect(early.summary).toMatch(/^Stack fresh is about to start: /);
  expect(early.chain.map(({ object }) => object.replace(/\d+$/, 'n'))).toEqual([
    'stack fresh',
    'queue anneal.scheduling.shard.n',
  ]);
  const asked = why('fresh', 'w');
  await resources.insert({ ...own, id: 'w of fresh', stack_id: 'fresh' } as Draft<ResourceDocument>);
  expect((await asked).chain[0]?.object).toBe('resource w (OS::Heat::TestResource)');
  await expect(why('fresh', 'none')).rejects.toMatchObject({ code: 'NotFound' });
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

it('why leads from an external resource to the tasks of its execution, and to the way on when it is paused', async () => {
  const text = "version: '2.0'\nasks: { tasks: { ask: { action: std.async_noop } } }\n";
  await harness.ask(workflowCreate, { project, text, replace: false });
  const actions = literal({ CREATE: { workflow: 'asks' } });
  const external = resource('x', { actions }, { type: 'OS::Mistral::ExternalResource' });
  const { id } = await harness.create('s', planWith([external]));
  const waits = (state: string) =>
    eventually(async () => {
      const found = await why(id);
      return found.summary.includes(state) ? found : undefined;
    });
  const running = await waits('ask is RUNNING');
  expect(running.summary).toMatch(
    /^x \(OS::Mistral::ExternalResource\) waits for execution run-\S+ of workflow asks, which is RUNNING: ask is RUNNING\.$/,
  );
  const execution = running.chain.at(-1)?.object.replace('execution ', '') ?? '';
  expect(running.exits).toContain(`anneal workflow cancel ${execution}`);
  await harness.ask(executionAct, { project, id: execution, action: { kind: 'pause' } });
  const paused = await waits('which is PAUSED');
  expect(paused.exits[0]).toBe(`anneal workflow resume ${execution}`);
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

it('why reports when a request is sent again after a failure that may pass, and why', async () => {
  const { bus, mint } = harness.context;
  const type = 'Test::Busy';
  await bus.consume('test.busy', async ({ message }) => {
    const request = message as Envelope<ResourceRequest>;
    const { resource: of, stack, fence } = request.data;
    const error = { code: 'Unavailable', message: 'the pool is full.', details: { retryable: true } };
    const data = {
      resource_id: of.id,
      stack_id: stack.id,
      action: 'create' as const,
      fence,
      status: 'failed' as const,
      error,
    };
    const answer = mint(resourceResponse, { id: `${request.id}:answer`, cause: request, data });
    await bus.send({ queue: request.replyto ?? '', messages: [answer] });
  });
  const types = [{ type, properties: {}, attributes: {} }];
  const announced = mint(providerAnnounced, { data: { provider: 'test', queue: 'test.busy', types } });
  await bus.send({ queue: requestsQueue('scheduling'), messages: [announced] });
  const { id } = await harness.create('s', planWith([resource('pool', {}, { type })]));
  const found = await eventually(async () => {
    const answered = await why(id);
    return answered.summary.includes('is sent again') ? answered : undefined;
  });
  expect(found.summary).toMatch(
    /^The request to create pool is sent again at 20[-\d]*T[:.\d]*Z, because it failed in a way that may pass: the pool is full\. Attempt \d of \d+ follows at \S+Z\.$/,
  );
  expect(found.exits).toEqual(['anneal resource show s pool', 'anneal stack cancel s --no-rollback']);
});

it('why begins with the error of a dead letter, names it, and shows it first among the next steps', async () => {
  const { bus, mint } = harness.context;
  const type = 'Test::Broken';
  await bus.consume('test.broken', () => Promise.reject(new AnnealError('InvalidRequest', 'this pool is unknown.')));
  const types = [{ type, properties: {}, attributes: {} }];
  const announced = mint(providerAnnounced, { data: { provider: 'test', queue: 'test.broken', types } });
  await bus.send({ queue: requestsQueue('scheduling'), messages: [announced] });
  const { id } = await harness.create('s', planWith([resource('pool', {}, { type })]));
  expect(await harness.settled(id)).toMatchObject({ status: 'FAILED' });
  const { summary, chain, exits } = await why(id);
  const [letter] = await bus.deadLetters.list({ queue: 'test.broken', limit: 10 });
  expect(summary).toBe(
    `pool has failed: this pool is unknown. The message is dead letter ${letter?.id} of test.broken. Stack s has failed and waits for an operator command.`,
  );
  expect(chain.map(({ object }) => object)).toEqual([
    'stack s',
    `resource pool (${type})`,
    `dead letter ${letter?.id} of test.broken`,
  ]);
  expect(exits[0]).toBe(`anneal dead-letter show ${letter?.id}`);
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
  // The stack is complete, and its explanation names the same.
  const whole = await why(id);
  expect(whole).toMatchObject({ summary: found.summary, exits: found.exits });
  expect(whole.chain.map(({ object }) => object)).toEqual(['stack s', 'resource cluster (Anneal::Context)']);
});

describe('why of an execution', () => {
  const occasion = {
    actor: { kind: 'user', id: 'u', name: 'admin' },
    cause: { kind: 'request', id: null, reason: null },
  } as const;
  const begin = async (text: string, workflow: string): Promise<string> => {
    await harness.ask(workflowCreate, { project, text: `version: '2.0'\n${text}`, replace: false });
    const id = executionIdFrom(harness.context.newId());
    await harness.ask(executionStart, { project, id, owner: 'admin', workflow, input: {}, occasion });
    return id;
  };
  const matching = (id: string, pattern: RegExp) => {
    let last = '';
    return eventually(
      async () => {
        const found = await why(id);
        last = found.summary;
        return pattern.test(last) ? found : undefined;
      },
      { what: `why of ${id} matching ${String(pattern)}`, last: () => last },
    );
  };

  it('names the failed task inside its sub-workflow, the action, the error and the ways on', async () => {
    const id = await begin(
      'inner: { tasks: { drain: { action: std.fail } } }\nouter: { tasks: { move: { workflow: inner } } }\n',
      'outer',
    );
    const found = await matching(id, /has failed at task drain/);
    expect(found.summary).toMatch(
      /^Execution run-\S+ of workflow inner has failed at task drain \(std\.fail\): \S.*\.$/,
    );
    expect(found.chain.map(({ object, state }) => [object.replace(/run-\S+/, 'ID'), state])).toEqual([
      ['execution ID of workflow outer', 'ERROR'],
      ['task move (workflow inner)', 'ERROR'],
      ['execution ID of workflow inner', 'ERROR'],
      ['task drain (std.fail)', 'ERROR'],
    ]);
    const inner = found.chain[2]?.object.split(' ')[1] ?? '';
    expect(found.exits).toContain(`anneal workflow rerun ${inner} drain`);
  });

  it('names the task that works, and the command that continues a paused one', async () => {
    const id = await begin('asks: { tasks: { ask: { action: std.async_noop } } }\n', 'asks');
    const running = await matching(id, /is RUNNING: task ask \(std\.async_noop\) is RUNNING/);
    expect(running.exits).toContain(`anneal workflow cancel ${id}`);
    await harness.ask(executionAct, { project, id, action: { kind: 'pause' } });
    expect((await matching(id, /is PAUSED/)).exits[0]).toBe(`anneal workflow resume ${id}`);
    await harness.ask(executionAct, { project, id, action: { kind: 'cancel' } });
    expect((await matching(id, /ended CANCELLED/)).chain).toHaveLength(1);
  });

  it('refuses an unknown execution and one of another project', async () => {
    const id = await begin('quick: { tasks: { one: { action: std.noop } } }\n', 'quick');
    await matching(id, /ended SUCCESS/);
    await expect(harness.ask(stackWhy, { project: 'another', stack: id })).rejects.toMatchObject({ code: 'NotFound' });
    await expect(why(executionIdFrom(harness.context.newId()))).rejects.toMatchObject({
      code: 'NotFound',
      message: expect.stringContaining('There is no execution run-'),
    });
  });
});

it('why reports when a lost server is replaced, also by a policy that an update brings after the loss', async () => {
  const { bus, mint } = harness.context;
  const server = (replace_lost?: { after: number; node_faults: boolean }) =>
    planWith([
      resource(
        'web',
        { value: literal(1) },
        { ...(replace_lost && { replace_lost: { ...replace_lost, min_in_service: 0 } }) },
      ),
    ]);
  const { id } = await harness.create('s', server());
  await harness.settled(id);
  const { resources } = await harness.ask(stackResources, { project, stack: id, detail: false });
  const host = resources[0]?.id ?? '';
  const origin = unknownOrigin();
  const hostIs = async (status: 'silent' | 'up'): Promise<string> => {
    const data = { host_id: host, name: 'web', status, facts: {}, version: 1, origin };
    const message = mint(hostEvent[status], { data, subject: host, project });
    await bus.publish([message, message]);
    return message.time;
  };
  const idle = /^Stack s is idle/;
  const whyOf = (pattern: RegExp) => {
    let last = '';
    return eventually(
      async () => {
        const found = await why(id);
        last = found.summary;
        return pattern.test(last) ? found : undefined;
      },
      { what: 'the explanation of the lost server', last: () => last },
    );
  };
  const at = (since: string, seconds: number): string => new Date(Date.parse(since) + seconds * 1000).toISOString();

  const since = await hostIs('silent');
  const { losses } = await openSchedulingCollections(harness.context.store);
  await eventually(() => losses.get(`lost:${host}:silence`), { what: 'the note of the loss' });
  expect((await why(id)).summary).toMatch(idle);
  await harness.update(id, server({ after: 3600, node_faults: false }));
  await harness.settled(id);
  const found = await whyOf(/^Server web is lost/);
  expect(found).toEqual({
    summary: `Server web is lost: host ${host} is silent since ${since}. Anneal replaces it at ${at(since, 3600)}, unless it is back before.`,
    chain: [
      expect.objectContaining({ object: 'stack s', state: 'UPDATE_COMPLETE' }),
      expect.objectContaining({ object: 'resource web (OS::Heat::Value)' }),
      { object: 'replacement of web', state: 'waiting', reason: `host ${host} is silent since ${since}`, since },
    ],
    exits: [`anneal host show ${host}`, 'anneal resource mark-unhealthy s web'],
  });
  expect(await why(id, 'web')).toEqual({ ...found, chain: found.chain.slice(1) });
  await hostIs('up');
  await whyOf(idle);
});
