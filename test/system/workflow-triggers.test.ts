/** Workflows that a time or a message of a queue starts, on the real bus and store. */
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { queueMessages, queuePost } from '@anneal/contracts/calls/queues.ts';
import {
  cronTriggerCreate,
  cronTriggerDelete,
  cronTriggerList,
  executionIdFrom,
  executionList,
  executionStart,
  workflowCreate,
  type ExecutionView,
} from '@anneal/contracts/calls/workflow.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StackWorld } from './stack-world.ts';

useQuickClock({ stepMs: 20 });

const project = 'p1';
let world: StackWorld;
/** Milliseconds that the clock of the services is ahead. */
let ahead = 0;
const now = (): Date => new Date(Date.now() + ahead);
beforeEach(async () => {
  ahead = 0;
  world = await StackWorld.open({}, { hosts: true, now });
});
const disarms: (() => void)[] = [];
afterEach(async () => {
  for (const disarm of disarms.splice(0)) disarm();
  await world.close();
});

const executions = async (): Promise<ExecutionView[]> =>
  (await world.ask(executionList, { project, limit: 100 })).executions;
const ended = (count: number): Promise<ExecutionView[]> => {
  let last: ExecutionView[] = [];
  return eventually(
    async () => {
      last = await executions();
      return last.length >= count && last.every(({ finished_at: at }) => at !== null) ? last : undefined;
    },
    { what: `${count} ended executions`, last: () => last },
  );
};
const store = (text: string) => world.ask(workflowCreate, { project, text: `version: '2.0'\n${text}`, replace: false });
const textOf = (values: Readonly<Record<string, unknown>>, key: string): string => {
  const value = values[key];
  return typeof value === 'string' ? value : '';
};
/** Fails the named point the given number of times, as a process does that dies there. */
const failAt = (point: string, times: number): (() => number) => {
  let left = times;
  disarms.push(
    armFault(point, () => {
      if ((left -= 1) >= 0) throw new Error(`fault ${point}`);
    }),
  );
  return () => left;
};

describe('OS::Mistral::CronTrigger', () => {
  const template = (properties: string) => `
heat_template_version: 2018-08-31
resources:
  wf:
    type: OS::Mistral::Workflow
    properties:
      type: direct
      input: {who: friend}
      tasks: [{name: say, action: std.echo, input: {output: 'hello <% $.who %>'}, publish: {said: <% task().result %>}}]
  cron:
    type: OS::Mistral::CronTrigger
    properties: {workflow: {name: {get_resource: wf}, input: {who: you}}, ${properties}}
outputs:
  next: {value: {get_attr: [cron, next_execution_time]}}
  left: {value: {get_attr: [cron, remaining_executions]}}
`;

  it('starts its workflow at each time, as often as it counts, and shows the next time', async () => {
    const { id } = await world.createAndWait('s', { template: template("pattern: '*/5 * * * *', count: 2") });
    const before = world.outputs(await world.show(id));
    expect(before).toMatchObject({ left: 2, next: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d[05]:00$/) });
    ahead = 300_000;
    const [first] = await ended(1);
    expect(first).toMatchObject({ state: 'SUCCESS', output: { said: 'hello you' }, stack: { id } });
    expect(first?.started_by).toMatchObject({ kind: 'schedule' });
    const after = await eventually(async () => {
      const shown = world.outputs(await world.show(id));
      return shown['left'] === 1 ? shown : undefined;
    });
    expect(Date.parse(`${textOf(after, 'next')}Z`)).toBeGreaterThan(Date.parse(`${textOf(before, 'next')}Z`));
    // An hour passes while no replica fires: it counts as one time.
    ahead += 3_600_000;
    expect(await ended(2)).toHaveLength(2);
    await eventually(async () => world.outputs(await world.show(id))['left'] === 0, { what: 'the last execution' });
    expect(world.outputs(await world.show(id))).toEqual({ left: 0, next: null });
    await world.remove(id);
    await world.settled(id);
    expect((await world.ask(cronTriggerList, { project })).cron_triggers).toEqual([]);
  });

  it.each([
    ['cron.stored', 2],
    ['cron.started', 2],
    ['cron.planned', 1],
  ])('starts one execution when it fails at %s', async (point, times) => {
    const left = failAt(point, times);
    await world.createAndWait('s', { template: template("pattern: '*/5 * * * *', count: 1") });
    ahead = 300_000;
    await eventually(() => left() <= 0, { what: `faults at ${point}` });
    ahead += 60_000;
    const list = (): Promise<unknown> => world.ask(cronTriggerList, { project });
    await eventually(async () => JSON.stringify(await list()).includes('"remaining_executions":0'), {
      what: 'the end of the trigger',
      last: list,
    });
    expect(await ended(1)).toHaveLength(1);
  });

  it.each([
    ["count: 3, first_time: '2020-01-01 00:00'", 'is not in the future; 3 executions need a pattern'],
    ["first_time: '2020-01-01 00:00'", 'is not in the future'],
    ["first_time: '2020-02-31 00:00'", 'first_time must be YYYY-MM-DD HH:MM in UTC, not "2020-02-31 00:00"'],
  ])('is refused with %s', async (properties, reason) => {
    const { id } = await world.create('s', { template: template(properties) });
    const { failures } = await world.settled(id);
    expect(failures[0]?.failure.message).toContain(reason);
  });

  it('is refused before its stack exists when its date never comes', async () => {
    const refused = world.create('s', { template: template("pattern: '0 0 30 2 *'") });
    await expect(refused).rejects.toThrow('its date never comes');
  });
});

describe('a cron trigger of a client', () => {
  const wish = { project, owner: 'admin', params: {}, pattern: null, first_time: null, count: null };

  it('starts its workflow once at the first time, and is deleted then', async () => {
    await store('w: {input: [n], output: {n: <% $.n %>}, tasks: {a: {}}}');
    const first_time = new Date(Date.now() + 60_000).toISOString();
    const given = { ...wish, name: 'once', workflow: 'w', input: { n: 1 }, first_time };
    const made = await world.ask(cronTriggerCreate, given);
    expect(made).toMatchObject({ name: 'once', remaining_executions: 1, next_execution_time: first_time });
    await expect(world.ask(cronTriggerCreate, given)).rejects.toMatchObject({ code: 'AlreadyExists' });
    ahead = 61_000;
    expect(await ended(1)).toMatchObject([{ state: 'SUCCESS', output: { n: 1 }, stack: null }]);
    await eventually(async () => (await world.ask(cronTriggerList, { project })).cron_triggers.length === 0);
  });

  it('is refused with wrong input before it is stored, and deleted by name', async () => {
    await store('w: {input: [n], tasks: {a: {}}}');
    const given = { ...wish, name: 'c', workflow: 'w', input: { m: 1 }, pattern: '* * * * *' };
    await expect(world.ask(cronTriggerCreate, given)).rejects.toThrow('wrong input (unknown: m; missing: n)');
    await expect(world.ask(cronTriggerCreate, { ...given, workflow: 'v' })).rejects.toMatchObject({ code: 'NotFound' });
    await world.ask(cronTriggerCreate, { ...given, input: { n: 1 } });
    await expect(world.ask(cronTriggerDelete, { project: 'other', name: 'c' })).rejects.toMatchObject({
      code: 'NotFound',
    });
    await world.ask(cronTriggerDelete, { project, name: 'c' });
    expect((await world.ask(cronTriggerList, { project })).cron_triggers).toEqual([]);
  });
});

describe('anneal.queue_post', () => {
  it('posts its message once when the process fails before the answer is recorded', async () => {
    const left = failAt('provider.recorded', 1);
    await store(
      'w: {tasks: {a: {action: anneal.queue_post queue=out, input: {body: {n: 1}}, publish: {id: <% task().result.id %>}}}}',
    );
    const { bus, mint, newId } = world.context;
    const actor = { kind: 'user', id: 'u', name: 'admin' } as const;
    const occasion = { actor, cause: { kind: 'request', id: null, reason: null } } as const;
    const id = executionIdFrom(newId());
    const data = { project, id, owner: 'admin', workflow: 'w', input: {}, occasion };
    await bus.request({
      queue: requestsQueue('scheduling'),
      call: executionStart,
      message: mint(executionStart, { data, project }),
    });
    const [done] = await ended(1);
    expect(left()).toBeLessThanOrEqual(0);
    const question = { project, queue: 'out', client_id: newId(), echo: true, include_claimed: true, limit: 10 };
    const { messages } = await world.ask(queueMessages, question, 'configuration');
    expect(messages).toMatchObject([
      { id: textOf((done?.output ?? {}) as Record<string, Json>, 'id'), body: { n: 1 } },
    ]);
  });
});

describe('OS::Zaqar::MistralTrigger', () => {
  const post = (queue: string, ...bodies: Json[]) =>
    world.ask(
      queuePost,
      { project, queue, client_id: world.context.newId(), messages: bodies.map((body) => ({ body })) },
      'configuration',
    );
  const template = (more = 'input: {vm: <% $.body.vm %>}') => `
heat_template_version: 2018-08-31
resources:
  heal:
    type: OS::Mistral::Workflow
    properties:
      name: heal
      type: direct
      input: {vm: null}
      output: {vm: <% $.vm %>, why: <% env().notification.body.why %>, region: <% env().region %>, id: <% env().notification.id %>}
      tasks: [{name: a, action: std.noop}]
  trigger:
    type: OS::Zaqar::MistralTrigger
    properties: {queue_name: alarms, workflow_id: {get_resource: heal}, params: {env: {region: r1}}, ${more}}
`;

  it('starts one execution for each message, which is env().notification', async () => {
    const { id } = await world.createAndWait('s', { template: template() });
    const { ids } = await post('alarms', { vm: 'a', why: 'hot' }, { vm: 'b', why: 'cold' });
    await post('other', { vm: 'c', why: 'x' });
    const done = await ended(2);
    const outputs = done.map(({ output }) => output as Record<string, Json>);
    expect(outputs.toSorted((a, b) => textOf(a, 'vm').localeCompare(textOf(b, 'vm')))).toEqual([
      { vm: 'a', why: 'hot', region: 'r1', id: ids[0] },
      { vm: 'b', why: 'cold', region: 'r1', id: ids[1] },
    ]);
    expect(done.every(({ state, stack }) => state === 'SUCCESS' && stack?.id === id)).toBe(true);
    await world.remove(id);
    await world.settled(id);
    await post('alarms', { vm: 'd', why: 'x' });
    expect(await executions()).toHaveLength(2);
  });

  it.each(['workflow.recorded', 'workflow.sent', 'workflow.written', 'workflow.published', 'workflow.closed'])(
    'starts one execution for each message when the start fails at %s',
    async (point) => {
      await world.createAndWait('s', { template: template() });
      const left = failAt(point, 5);
      const bodies = Array.from({ length: 10 }, (_, index) => ({ vm: String(index), why: 'x' }));
      for (const body of bodies) await post('alarms', body);
      const done = await ended(10);
      expect(left()).toBeLessThanOrEqual(0);
      expect(done.map(({ output }) => textOf(output as Record<string, Json>, 'vm')).toSorted()).toEqual(
        bodies.map(({ vm }) => vm),
      );
    },
  );

  it('reports a message that cannot start its workflow as an event of the resource', async () => {
    const { id } = await world.createAndWait('s', { template: template() });
    await post('alarms', 'no map');
    await eventually(async () => (await world.events(id)).includes('trigger SIGNAL FAILED'), {
      what: 'the event',
      last: () => world.events(id),
    });
    await post('alarms', { vm: 'b', why: 'cold' });
    expect(await ended(1)).toHaveLength(1);
  });

  it('starts nothing after its time to live', async () => {
    await world.createAndWait('s', { template: template('ttl: 60, input: {vm: <% $.body.vm %>}') });
    await post('alarms', { vm: 'a', why: 'hot' });
    expect(await ended(1)).toHaveLength(1);
    ahead = 61_000;
    await post('alarms', { vm: 'b', why: 'hot' });
    // A later event of the same project is taken, so the message before it was, too.
    await store('w: {tasks: {a: {}}}');
    await world.createAndWait('late', { template: template().replaceAll('heal', 'late') });
    await post('alarms', { vm: 'c', why: 'hot' });
    const done = await ended(2);
    expect(done.map(({ workflow }) => workflow).toSorted()).toEqual(['heal', 'late']);
  });
});
