import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  executionAct,
  executionIdFrom,
  executionList,
  executionShow,
  executionStart,
  workflowCreate,
  workflowDelete,
  workflowList,
  type ExecutionView,
} from '@anneal/contracts/calls/workflow.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shardQueue } from '@anneal/contracts/queues.ts';
import { openSchedulingCollections } from '../collections.ts';
import { shardOf } from '../shards/shard-of.ts';
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
    { what: `the end of ${id}`, within: 15_000, last: () => last },
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

describe('the end of an execution', () => {
  const text = `
inner: {tasks: {b: {action: std.http url=<% env().url %>}}}
w: {tasks: {a: {with-items: 'i in [1, 2]', workflow: inner}, c: {action: std.noop}}}
wait: {tasks: {a: {action: std.async_noop}}}
`;
  const stored = async () => {
    const { executions, tasks, journal, work } = await openSchedulingCollections(harness.context.store);
    const all = await Promise.all([executions, tasks, journal, work].map((each) => each.find({ where: {} })));
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
    const { executions } = await harness.ask(executionList, { project, limit: 9 });
    expect(executions).toHaveLength(4);
    for (const each of executions) await remove(each.id);
    await expect(show(id)).rejects.toMatchObject({ code: 'NotFound' });
    await expect(remove(id)).rejects.toMatchObject({ code: 'NotFound' });
    expect(await stored()).toEqual([0, 0, 0, 0]);
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
