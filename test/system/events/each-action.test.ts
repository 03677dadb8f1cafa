/**
 * Every event of stacks, resources, executions and tasks, in the lives of one stack and one workflow. The provider fails the
 * actions that the test names.
 */
import {
  executionAct,
  executionIdFrom,
  executionShow,
  executionStart,
  workflowCreate,
} from '@anneal/contracts/calls/workflow.ts';
import { resourceEvent, stackEvent, workflowEvent } from '@anneal/contracts/events.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import { resourceResponse, type ResourceRequest, type ResourceResponse } from '@anneal/contracts/resource.ts';
import { announceTypes } from '@anneal/provider/routes.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';

const queue = 'moody.requests';
let world: StackWorld;
let seen: Set<string>;
/** The actions of the provider that fail. */
let failing: readonly string[];

beforeEach(async () => {
  world = await StackWorld.open();
  seen = new Set();
  failing = [];
  const { bus, mint } = world.context;
  await bus.subscribe(['#'], async ({ message: { type } }) => void seen.add(type));
  await bus.consume(queue, async ({ message }) => {
    const { resource, stack, fence } = message.data as ResourceRequest;
    const action = message.type.replace('resource.', '') as ResourceResponse['action'];
    const error = { code: 'Moody', message: `no ${action} today` };
    const result = failing.includes(action) ? { status: 'failed' as const, error } : { status: 'complete' as const };
    const data = { resource_id: resource.id, stack_id: stack.id, action, fence, physical_id: resource.id, ...result };
    await bus.send({ queue: message.replyto ?? '', messages: [mint(resourceResponse, { cause: message, data })] });
  });
  const type = {
    type: 'Moody::Thing',
    properties: { value: { type: 'String' as const, update_allowed: true } },
    attributes: {},
    actions: ['check', 'suspend', 'resume', 'snapshot'] as const,
  };
  await announceTypes(world.context, { provider: 'moody', queue, types: [{ ...type, actions: [...type.actions] }] });
});
afterEach(() => world.close());

const typesOf = (family: Readonly<Record<string, { readonly type: string }>>): string[] =>
  Object.values(family)
    .map(({ type }) => type)
    .toSorted();
/** Waits for each event of the families, and for no other of these nouns. */
async function allSeen(nouns: readonly string[], types: readonly string[]): Promise<void> {
  const found = (): string[] => [...seen].filter((type) => nouns.includes(type.split('.', 1)[0] ?? '')).toSorted();
  const missing = (): string[] => types.filter((type) => !seen.has(type));
  await eventually(() => missing().length === 0, { what: 'each event', last: missing });
  expect(found()).toEqual([...types].toSorted());
}

it('a stack and its resources publish an event when each action starts, completes and fails', async () => {
  const template = (value: string) => ({
    template: `
heat_template_version: 2018-08-31
resources: {thing: {type: Moody::Thing, properties: {value: ${value}}}}
`,
  });
  const create = (name: string, more: { on_failure?: 'rollback'; adopt?: JsonObject } = {}) =>
    eventually(() => world.create(name, template('one'), more).catch(() => undefined), { what: 'the type' });
  const fails = async (actions: readonly string[], begin: () => Promise<{ id: string }>): Promise<string> => {
    failing = actions;
    const { id } = await begin();
    expect(await world.settled(id)).toMatchObject({ status: 'FAILED' });
    failing = [];
    return id;
  };
  const twice = async (actions: readonly string[], begin: () => Promise<{ id: string }>): Promise<void> => {
    await fails(actions, begin);
    const { id } = await begin();
    await world.complete(id);
  };

  const lost = await fails(['create'], () => create('lost'));
  await twice(['delete'], () => world.remove(lost));

  const { id } = await create('kept');
  await world.complete(id);
  await twice(['update'], () => world.update(id, template('two')));
  for (const kind of ['check', 'suspend', 'resume'] as const) await twice([kind], () => world.act(id, { kind }));
  await fails(['snapshot'], () => world.act(id, { kind: 'snapshot', id: 'bad', name: 'bad' }));
  // An update repairs what the failed snapshot left.
  await world.updated(id, template('three'));
  await world.act(id, { kind: 'snapshot', id: 'good', name: 'good' });
  await world.complete(id);
  await world.updated(id, template('four'));
  await twice(['update'], () => world.act(id, { kind: 'restore', snapshot: 'good' }));

  const { id: returns } = await create('returns', { on_failure: 'rollback' });
  await world.complete(returns);
  await fails(['update', 'create'], () => world.update(returns, template('two')));
  await world.act(returns, { kind: 'rollback' });
  await world.complete(returns);

  const adopt = { thing: { resource_id: 'an object' } };
  await world.remove(await fails(['check'], () => create('adopted', { adopt })));
  await world.complete((await create('adopts', { adopt })).id);

  await allSeen(['stack'], typesOf(stackEvent));
  await allSeen(['resource'], typesOf(resourceEvent));
});

it('executions and their tasks publish each of their events', async () => {
  const project = 'p1';
  await world.ask(workflowCreate, {
    project,
    replace: false,
    text: `version: '2.0'
waits:
  tasks: {hold: {action: std.async_noop}}
falls:
  tasks: {fall: {action: std.fail, retry: {count: 1, delay: 0}}}
`,
  });
  const start = async (workflow: string): Promise<string> => {
    const id = executionIdFrom(world.context.newId());
    const { cause, actor } = unknownOrigin();
    await world.ask(executionStart, { project, id, owner: 'admin', workflow, input: {}, occasion: { cause, actor } });
    return id;
  };
  const act = (id: string, action: Parameters<typeof executionAct.data.parse>[0]) =>
    world.ask(executionAct, { project, id, action: action as never });
  const reaches = (id: string, state: string) =>
    eventually(async () => (await world.ask(executionShow, { project, id, tasks: false })).execution.state === state, {
      what: `${state} of ${id}`,
    });

  const first = await start('waits');
  await reaches(first, 'RUNNING');
  await act(first, { kind: 'pause' });
  await act(first, { kind: 'resume' });
  await act(first, { kind: 'complete', task: 'hold', state: 'SUCCESS', output: null });
  await reaches(first, 'SUCCESS');
  await act(await start('waits'), { kind: 'cancel' });
  const fallen = await start('falls');
  await reaches(fallen, 'ERROR');
  await act(fallen, { kind: 'skip', task: 'fall' });
  await reaches(fallen, 'SUCCESS');

  await allSeen(['workflow', 'task'], typesOf(workflowEvent));
});
