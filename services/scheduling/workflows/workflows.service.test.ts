import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  adHocActionCreate,
  adHocActionDelete,
  environmentDelete,
  environmentSet,
  environmentShow,
  executionAct,
  executionIdFrom,
  executionList,
  executionShow,
  executionStart,
  workflowCheck,
  workflowCreate,
  workflowDelete,
  workflowList,
  type ExecutionView,
} from '@anneal/contracts/calls/workflow.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shardQueue } from '@anneal/contracts/queues.ts';
import { openSchedulingCollections } from '../collections.ts';
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
import { createRetention } from './retention.ts';

useQuickClock();
let harness: Harness;
beforeEach(async () => {
  harness = await openHarness({ settings: { allowPrivate: true } });
});
afterEach(() => harness.dispose());

const store = (text: string, replace = false) =>
  harness.ask(workflowCreate, { project, text: `version: '2.0'\n${text}`, replace });
const occasion = {
  actor: { kind: 'user', id: 'u', name: 'admin' },
  cause: { kind: 'request', id: null, reason: null },
} as const;

const begin = (workflow: string, input: JsonObject = {}, id = executionIdFrom(harness.context.newId())) =>
  harness.ask(executionStart, { project, id, owner: 'admin', workflow, input, occasion });
const show = (id: string) => harness.ask(executionShow, { project, id, tasks: true });
const ended = (id: string): Promise<ExecutionView> => {
  let last: ExecutionView | undefined;
  return eventually(
    async () => {
      last = (await show(id)).execution;
      return last.finished_at === null ? undefined : last;
    },
    { what: `the end of ${id}`, last: () => last },
  );
};
const run = async (workflow: string, input: JsonObject = {}) => ended((await begin(workflow, input)).id);

/** An HTTP server that answers with what the handler gives; counts the requests by idempotency key. */
async function openServer(handle: (request: IncomingMessage, body: string) => { status?: number; body: unknown }) {
  const keys: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    keys.push(String(request.headers['idempotency-key']));
    const answered = handle(request, body);
    response.writeHead(answered.status ?? 200).end(JSON.stringify(answered.body));
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
  return { url, keys, close: () => new Promise((resolve) => server.close(resolve)) };
}

describe('workflows of a project', () => {
  it('are stored whole or not at all, and replaced only when asked', async () => {
    await expect(store('w: {tasks: {a: {action: std.ecko}}}\nv: {tasks: {}}')).rejects.toMatchObject({
      code: 'InvalidRequest',
      mistakes: [{ path: 'tasks.a.action' }, { path: 'tasks' }],
    });
    await store('w: {tasks: {a: {}}}');
    await expect(store('w: {tasks: {b: {}}}')).rejects.toMatchObject({ code: 'AlreadyExists' });
    await store('w: {tasks: {b: {}}}', true);
    const { workflows } = await harness.ask(workflowList, { project });
    expect(workflows.map(({ name, tasks }) => [name, tasks])).toEqual([['w', ['b']]]);
    await expect(begin('v')).rejects.toMatchObject({ code: 'NotFound' });
    await expect(begin('w', { x: 1 })).rejects.toThrow('wrong input (unknown: x)');
    await harness.ask(workflowDelete, { project, workflow: 'w' });
    await expect(begin('w')).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('run once for one id, and are found by project', async () => {
    await store('w: {input: [n], output: {n: <% $.n %>}, tasks: {a: {}}}');
    const { id } = await begin('w', { n: 1 });
    expect(await begin('w', { n: 1 }, id)).toMatchObject({ id });
    expect(await ended(id)).toMatchObject({ state: 'SUCCESS', output: { n: 1 } });
    const list = (of: string) => harness.ask(executionList, { project: of, limit: 10 });
    expect((await list(project)).executions).toHaveLength(1);
    expect((await list('other')).executions).toEqual([]);
    const pause = { project: 'other', id, action: { kind: 'pause' } } as const;
    await expect(harness.ask(executionAct, pause)).rejects.toMatchObject({ code: 'NotFound' });
  });
});

describe('an execution', () => {
  it('calls sub-workflows, whose output is the result, and whose failure on-error handles', async () => {
    await store(`
inner:
  input: [n]
  output: {double: <% $.n * 2 %>}
  tasks: {a: {on-success: [{'fail msg="too large"': <% $.n > 5 %>}]}}
outer:
  tasks:
    a:
      with-items: i in [1, 2, 9]
      workflow: inner n=<% $.i %>
      publish-on-error: {all: <% task().result %>}
      on-error: noop
    b: {workflow: inner n=4, publish: {b: <% task().result.double %>}}
`);
    expect(await run('outer')).toMatchObject({
      state: 'SUCCESS',
      output: { all: [{ double: 2 }, { double: 4 }, { result: 'too large' }], b: 8 },
    });
  });

  it('retries and waits by durable timers', async () => {
    let calls = 0;
    const server = await openServer(() => ({ status: (calls += 1) < 3 ? 500 : 200, body: { calls } }));
    await store(`
w:
  input: [url]
  tasks:
    a: {action: std.http url=<% $.url %>, retry: count=5 delay=1, publish: {n: <% task().result.content.calls %>}}
`);
    expect(await run('w', { url: server.url })).toMatchObject({ state: 'SUCCESS', output: { n: 3 } });
    expect(new Set(server.keys).size).toBe(3);
    await server.close();
  });

  it('signals and clears hooks of stacks', async () => {
    const { id } = await harness.create('s', planWith([resource('v', { value: literal(7) })]));
    await harness.settled(id);
    await store(`
w:
  tasks:
    a: {action: anneal.stack_show stack=s, publish: {status: <% task().result.status %>}, on-success: b}
    b: {action: anneal.signal stack=s resource=v, publish-on-error: {why: <% task().result %>}, on-error: c}
    c: {action: anneal.mark_unhealthy stack=s resource=v reason=old}
`);
    const { output, state, reason } = await run('w');
    expect({ output, state, reason }).toMatchObject({ state: 'SUCCESS', output: { status: 'COMPLETE' } });
    expect(JSON.stringify(output)).toContain('takes no signals');
  });

  it('refuses private targets unless the operator allows them', async () => {
    await harness.dispose();
    harness = await openHarness();
    await store('w: {tasks: {a: {action: std.http url=http://127.0.0.1:1/}}}');
    expect((await run('w')).reason).toContain('ANNEAL_SCHEDULING_ALLOW_PRIVATE');
  });

  it('is cancelled with its sub-workflows', async () => {
    await store('inner: {tasks: {a: {action: std.async_noop}}}\nouter: {tasks: {a: {workflow: inner}}}');
    const { id } = await begin('outer');
    const inner = await eventually(
      async () => (await harness.ask(executionList, { project, limit: 9 })).executions.find(({ parent }) => parent),
      { what: 'the sub-workflow' },
    );
    await harness.ask(executionAct, { project, id, action: { kind: 'cancel' } });
    expect(await ended(inner.id)).toMatchObject({ state: 'CANCELLED' });
    expect((await ended(id)).state).toBe('CANCELLED');
  });
});

describe('the number of executions of a project', () => {
  it('is limited; an end makes room, and other projects are not concerned', async () => {
    await harness.dispose();
    harness = await openHarness({ settings: { projectExecutions: 2 } });
    await store('wait: {tasks: {a: {action: std.async_noop}}}');
    const [{ id }] = await Promise.all([begin('wait'), begin('wait')]);
    await expect(begin('wait')).rejects.toMatchObject({
      code: 'QuotaExceeded',
      message: expect.stringMatching(
        /2 executions .* 2 are the most \(ANNEAL_SCHEDULING_PROJECT_EXECUTIONS\)/,
      ) as unknown,
    });
    expect(await begin('wait', {}, id)).toMatchObject({ id });
    await harness.ask(executionAct, { project, id, action: { kind: 'cancel' } });
    expect(await begin('wait')).toMatchObject({ state: 'RUNNING' });
  });

  it('refuses a sub-workflow as an error of its task', async () => {
    await harness.dispose();
    harness = await openHarness({ settings: { projectExecutions: 1 } });
    await store('inner: {tasks: {b: {}}}\nw: {tasks: {a: {workflow: inner}}}');
    expect(await run('w')).toMatchObject({
      state: 'ERROR',
      reason: expect.stringContaining('1 are the most (ANNEAL_SCHEDULING_PROJECT_EXECUTIONS)') as unknown,
    });
  });
});

describe('an action', () => {
  it('deletes a stack by its name', async () => {
    const { id } = await harness.create('gone', planWith([resource('v', { value: literal(7) })]));
    await harness.settled(id);
    await store('w: {tasks: {a: {action: anneal.stack_delete stack=gone, publish: {r: <% task().result.action %>}}}}');
    expect(await run('w')).toMatchObject({ state: 'SUCCESS', output: { r: 'DELETE' } });
    expect(await harness.settled(id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
    expect((await run('w')).reason).toContain('gone');
  });
});

describe('a crash', () => {
  const points = ['workflow.recorded', 'workflow.sent', 'workflow.written', 'workflow.published', 'workflow.closed'];
  it.each(points)('at %s loses no action and repeats none under another id', async (point) => {
    const server = await openServer((_request, body) => ({ body: JSON.parse(body) as unknown }));
    await store(`
inner: {input: [url, i], output: {r: <% $.r %>}, tasks: {b: {action: std.http method=POST url=<% $.url %>, input: {json: <% $.i %>}, publish: {r: <% task().result.content %>}}}}
w:
  input: [url]
  tasks:
    a: {with-items: 'i in [1, 2, 3]', workflow: inner url=<% $.url %> i=<% $.i %>, publish: {all: <% task().result.r %>}, wait-after: 1}
`);
    let left = 3;
    const disarm = armFault(point, () => {
      if ((left -= 1) >= 0) throw new Error(`fault ${point}`);
    });
    const { id } = await begin('w', { url: server.url });
    expect(await ended(id)).toMatchObject({ state: 'SUCCESS', output: { all: [1, 2, 3] } });
    disarm();
    expect(left).toBeLessThan(0);
    expect(new Set(server.keys).size).toBe(3);
    await server.close();
  });
});

describe('ad hoc actions', () => {
  const adHoc = (text: string, replace = false) =>
    harness.ask(adHocActionCreate, { project, text: `version: '2.0'\n${text}`, replace });
  const greet = (word: string) =>
    `greet: {base: std.echo, input: [who, {mark: '!'}], base-input: {output: '${word} <% $.who %><% $.mark %>'}, output: {said: <% $ %>}}`;

  it('give the base their input and the task their output; a stored workflow keeps the ones that it has', async () => {
    await adHoc(greet('hello'));
    await expect(adHoc(greet('hi'))).rejects.toMatchObject({ code: 'AlreadyExists' });
    await store(
      'w: {tasks: {a: {with-items: "i in [1, 2]", action: greet who=<% $.i %>, publish: {r: <% task().result %>}}}}',
    );
    expect((await run('w')).output).toEqual({ r: [{ said: 'hello 1!' }, { said: 'hello 2!' }] });
    await adHoc(greet('hi'), true);
    expect((await run('w')).output).toEqual({ r: [{ said: 'hello 1!' }, { said: 'hello 2!' }] });
    await harness.ask(adHocActionDelete, { project, action: 'greet' });
    await expect(harness.ask(adHocActionDelete, { project, action: 'greet' })).rejects.toMatchObject({
      code: 'NotFound',
    });
    await expect(store('v: {tasks: {a: {action: greet who=x}}}')).rejects.toThrow('there is no action greet');
    expect((await run('w')).state).toBe('SUCCESS');
  });

  it('fail their task by a wrong output or input, which on-error handles, also behind a provider', async () => {
    const server = await openServer(() => ({ body: { n: 1 } }));
    await adHoc(`
call: {base: std.http, input: [url], base-input: {url: <% $.url %>}, output: <% $.content.n + 1 %>}
wrong: {base: call, input: [url], base-input: {url: <% $.url %>}, output: <% $.missing.x %>}
`);
    await store(`
w:
  input: [url]
  tasks:
    a: {action: call url=<% $.url %>, publish: {a: <% task().result %>}}
    b: {action: wrong url=<% $.url %>, publish-on-error: {b: <% task().result %>}, on-error: noop}
    c: {action: call, input: <% dict(link => 1) %>, publish-on-error: {c: <% task().result %>}, on-error: noop}
`);
    expect((await run('w', { url: server.url })).output).toEqual({
      a: 2,
      b: expect.stringContaining('wrong.output: <% $.missing.x %>') as unknown,
      c: 'input of the action call (unknown: link; missing: url)',
    });
    await server.close();
  });

  it('are checked without being stored', async () => {
    const check = (text: string, kind: 'workflows' | 'actions') => harness.ask(workflowCheck, { project, text, kind });
    expect(await check("version: '2.0'\na: {base: std.noop}", 'actions')).toEqual({ mistakes: [] });
    expect(await check("version: '2.0'\nw: {tasks: {a: {action: a}}}", 'workflows')).toMatchObject({
      mistakes: [{ path: 'tasks.a.action', line: 2 }],
    });
  });
});

describe('environments', () => {
  const set = (verb: 'create' | 'update', variables: JsonObject) =>
    harness.ask(environmentSet, { project, name: 'e', verb, variables });

  it('are created once, changed, read by their project only, and deleted', async () => {
    await set('create', { a: 1 });
    await set('create', { a: 1 });
    await expect(set('create', { a: 2 })).rejects.toMatchObject({ code: 'AlreadyExists' });
    expect(await set('update', { a: 2 })).toMatchObject({ variables: { a: 2 } });
    const read = (of: string) => harness.ask(environmentShow, { project: of, name: 'e' });
    expect((await read(project)).variables).toEqual({ a: 2 });
    await expect(read('other')).rejects.toMatchObject({ code: 'NotFound' });
    await harness.ask(environmentDelete, { project, name: 'e' });
    await expect(set('update', {})).rejects.toMatchObject({ code: 'NotFound' });
  });
});

describe('the items of a task', () => {
  it('survive a crash at each write, and are read again', async () => {
    const points = ['workflow.recorded', 'workflow.written', 'workflow.closed'];
    await store(`
inner: {input: [i], output: {r: <% $.i %>}, tasks: {b: {action: std.noop}}}
w: {tasks: {a: {with-items: 'i in <% range(50) %>', concurrency: 20, workflow: inner i=<% $.i %>, publish: {all: <% task().result.r %>}}}}
`);
    let records = 0;
    let faults = 0;
    const disarm = points.map((point) =>
      armFault(point, () => {
        if ((records += 1) % 7 !== 0 || faults === 12) return;
        faults += 1;
        throw new Error(`fault ${point}`);
      }),
    );
    const { id } = await begin('w');
    expect(await ended(id)).toMatchObject({ state: 'SUCCESS', output: { all: [...Array(50).keys()] } });
    for (const each of disarm) each();
    expect(faults).toBe(12);
    expect((await show(id)).tasks[0]).toMatchObject({ items: { ended: 50, total: 50 } });
  });
});

describe('the end of an execution', () => {
  const text = `
inner: {tasks: {b: {action: std.noop}}}
call: {tasks: {b: {action: std.http url=<% env().url %>}}}
w: {tasks: {a: {with-items: 'i in <% range(45) %>', workflow: inner}, b: {workflow: call}, c: {action: std.noop}}}
wait: {tasks: {a: {action: std.async_noop}}}
`;
  const stored = async () => {
    const { executions, items, tasks, journal, work } = await openSchedulingCollections(harness.context.store);
    const all = await Promise.all([executions, items, tasks, journal, work].map((each) => each.find({ where: {} })));
    return all.map((found) => found.length);
  };

  it('can be deleted with all that the store has of it, a running one cannot', async () => {
    await store(text);
    const server = await openServer(() => ({ body: 1 }));
    const env = { url: server.url };
    const id = executionIdFrom(harness.context.newId());
    await harness.ask(executionStart, { project, id, owner: 'admin', workflow: 'w', input: {}, env, occasion });
    expect((await ended(id)).state).toBe('SUCCESS');
    const live = await begin('wait');
    const remove = (which: string) => harness.ask(executionAct, { project, id: which, action: { kind: 'delete' } });
    await expect(remove(live.id)).rejects.toMatchObject({
      code: 'Conflict',
      message: expect.stringMatching(/Cancel it/),
    });
    await harness.ask(executionAct, { project, id: live.id, action: { kind: 'cancel' } });
    await ended(live.id);
    const { executions } = await harness.ask(executionList, { project, limit: 99 });
    expect(executions).toHaveLength(48);
    expect((await stored())[1]).toBe(3);
    for (const each of executions) await remove(each.id);
    await expect(show(id)).rejects.toMatchObject({ code: 'NotFound' });
    await expect(remove(id)).rejects.toMatchObject({ code: 'NotFound' });
    expect(await stored()).toEqual([0, 0, 0, 0, 0]);
    await server.close();
  });

  it('is followed by its deletion when its time in the store is over', async () => {
    await store(text);
    const live = await begin('wait');
    const { id } = await begin('wait');
    await harness.ask(executionAct, { project, id, action: { kind: 'cancel' } });
    await ended(id);
    const collections = await openSchedulingCollections(harness.context.store);
    const shards = { queueOf: (execution: string) => shardQueue(shardOf(execution, testSettings.shards)) };
    let now = Date.now();
    const context = { ...harness.context, now: () => new Date(now) };
    const retention = createRetention({ context, collections, shards, keepMs: 3_600_000 });
    expect(await retention.sweep()).toBe(0);
    now += 3_600_001;
    expect(await retention.sweep()).toBe(1);
    const gone = () =>
      show(id).then(
        () => false,
        () => true,
      );
    await eventually(gone, { what: 'the deletion' });
    expect((await show(live.id)).execution.state).toBe('RUNNING');
    await retention.stop();
  });
});
