/** Another value of a setting of scheduling, or of services beside it, changes what stacks do. */
import { credentialCreate } from '@anneal/contracts/calls/credentials.ts';
import { executionIdFrom, executionShow, executionStart, workflowCreate } from '@anneal/contracts/calls/workflow.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import { resourceResponse, type ResourceRequest } from '@anneal/contracts/resource.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { announceTypes } from '@anneal/provider/routes.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { StackWorld } from './stack-world.ts';

useQuickClock();
const project = 'p1';
let world: StackWorld;
afterEach(() => world.close());

const open = async (settings: Record<string, string>): Promise<StackWorld> => {
  const given = Object.entries(settings).map(([name, value]) => [`ANNEAL_SCHEDULING_${name}`, value] as const);
  world = await StackWorld.open(Object.fromEntries(given));
  return world;
};
const template = (resources: Record<string, object>) => ({
  template: JSON.stringify({ heat_template_version: '2018-08-31', resources }),
});
const value = (length: number) => ({ type: 'OS::Heat::Value', properties: { value: 'x'.repeat(length) } });
const reasonOf = async (name: string, resources: Record<string, object>): Promise<string> => {
  const { id } = await world.create(name, template(resources));
  return (await world.settled(id)).reason;
};

it('RESOURCE_BYTES: all properties of a resource may have this size', async () => {
  await open({ RESOURCE_BYTES: '20000' });
  expect(await reasonOf('fits', { small: value(19_000) })).toBe('Stack CREATE completed successfully');
  expect(await reasonOf('large', { large: value(21_000) })).toContain('ANNEAL_SCHEDULING_RESOURCE_BYTES');
});

it('STACK_BYTES: all resources of a stack may have this size', async () => {
  await open({ STACK_BYTES: '20000' });
  expect(await reasonOf('fits', { a: value(5000) })).toBe('Stack CREATE completed successfully');
  expect(await reasonOf('large', { a: value(9000), b: value(9000), c: value(9000) })).toContain(
    'ANNEAL_SCHEDULING_STACK_BYTES',
  );
});

describe('STACK_REQUESTS: so many requests of a stack are in flight', () => {
  it.each([1, 3])('%d', async (most) => {
    await open({ STACK_REQUESTS: String(most) });
    const { bus, mint } = world.context;
    let [inFlight, seen] = [0, 0];
    await bus.consume(
      'slow.requests',
      async ({ message }) => {
        inFlight += 1;
        seen = Math.max(seen, inFlight);
        await new Promise((resolve) => setTimeout(resolve, 300));
        inFlight -= 1;
        const { resource, stack, fence } = message.data as ResourceRequest;
        const data = {
          resource_id: resource.id,
          stack_id: stack.id,
          action: 'create',
          fence,
          status: 'complete',
        } as const;
        await bus.send({ queue: message.replyto ?? '', messages: [mint(resourceResponse, { cause: message, data })] });
      },
      { concurrency: 10 },
    );
    const type = { type: 'Slow::Thing', properties: {}, attributes: {}, actions: [] };
    await announceTypes(world.context, { provider: 'slow', queue: 'slow.requests', types: [type] });
    const things = Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`r${index}`, { type: 'Slow::Thing' }]));
    const create = () => world.create('s', template(things)).catch(() => undefined);
    const { id } = await eventually(create, { what: 'the type' });
    await world.complete(id);
    expect(seen).toBe(most);
  });
});

describe('DELETE_GRACE_SECONDS: so long a deletion waits for running actions', () => {
  it.each([
    ['0', false],
    ['60', true],
  ])('%s s', async (grace, ends) => {
    await open({ DELETE_GRACE_SECONDS: grace });
    const { id } = await world.create(
      's',
      template({ a: { type: 'OS::Heat::TestResource', properties: { wait_secs: 3 } } }),
    );
    await eventually(async () => (await world.events(id)).includes('a CREATE IN_PROGRESS'));
    await world.remove(id);
    await world.complete(id);
    expect((await world.events(id)).includes('a CREATE COMPLETE')).toBe(ends);
  });
});

it('KEEP_EXECUTIONS_SECONDS: an ended execution stays for this time', async () => {
  await open({ KEEP_EXECUTIONS_SECONDS: '30' });
  await world.ask(workflowCreate, { project, text: "version: '2.0'\nw: {tasks: {a: {}}}", replace: false });
  const id = executionIdFrom(world.context.newId());
  const occasion = unknownOrigin();
  await world.ask(executionStart, { project, id, owner: 'admin', workflow: 'w', input: {}, occasion });
  const state = () =>
    world.ask(executionShow, { project, id, tasks: false }).then(
      ({ execution }) => execution.state,
      () => 'gone',
    );
  await eventually(async () => (await state()) === 'SUCCESS');
  const ended = Date.now();
  await eventually(async () => (await state()) === 'gone', { what: 'the removal' });
  expect(Date.now() - ended).toBeLessThan(600_000);
});

it('MAX_CREDENTIALS: a project may have so many machine credentials', async () => {
  world = await StackWorld.open({ ANNEAL_NOTIFICATION_MAX_CREDENTIALS: '1' }, { also: [notificationService] });
  const { id: stack } = await world.createAndWait('s', template({ a: value(1) }));
  const create = (id: string) => {
    const question = { id, project, name: id, can: ['events.read' as const], stack, metrics: [] };
    return world.ask(credentialCreate, question, 'notification');
  };
  await create('first');
  await expect(create('second')).rejects.toMatchObject({
    code: 'QuotaExceeded',
    message: expect.stringContaining('ANNEAL_NOTIFICATION_MAX_CREDENTIALS') as string,
  });
});
