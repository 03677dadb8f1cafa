/** Every form of task, and executions that a kill interrupts, against a server on any broker and database. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { executionIdFrom, type ExecutionView } from '@anneal/contracts/calls/workflow.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { bundle, settled, withClientRetries, type Watched } from './server.ts';

/** The settings of a server for these tests: its actions may reach the listener on this machine. */
export const workflowServerEnvironment = { ANNEAL_SCHEDULING_ALLOW_PRIVATE: 'true' };

const text = `version: '2.0'
direct:
  input: [n]
  output: {way: <% $.way %>, sum: <% $.sum %>, after: <% $.after %>}
  tasks:
    first:
      action: std.echo output=<% $.n %>
      publish: {n: <% task().result %>}
      on-success: [{small: <% $.n < 5 %>}, {large: <% $.n >= 5 %>}]
      on-complete: last
    small: {action: std.fail, on-error: {publish: {branch: {way: small, sum: <% $.n + 1 %>}}, next: noop}}
    large: {publish: {way: large, sum: <% $.n + 2 %>}}
    last: {publish: {after: true}}
backwards:
  type: reverse
  output: {all: <% $.b + $.c %>}
  tasks:
    a: {publish: {a: 1}}
    b: {requires: a, publish: {b: <% $.a + 1 %>}}
    c: {requires: a, publish: {c: <% $.a + 10 %>}}
    goal: {requires: [b, c]}
    other: {action: std.fail}
items:
  input: [list]
  output: {all: <% $.all %>}
  tasks:
    a: {with-items: i in <% $.list %>, concurrency: 7, workflow: double n=<% $.i %>, publish: {all: <% task().result.n %>}}
double: {input: [n], output: {n: <% $.n * 2 %>}, tasks: {a: {}}}
joined:
  output: {sum: <% $.l + $.r %>}
  tasks:
    l: {wait-before: 1, publish: {l: 1}, on-success: both}
    r: {publish: {r: 2}, on-success: both}
    both: {join: all}
retried:
  input: [url]
  output: {n: <% $.n %>}
  tasks:
    a: {action: std.http url=<% $.url %> method=POST, input: {json: {retried: true}}, retry: count=3 delay=1, publish: {n: <% task().result.content.attempts %>}}
called:
  output: {caught: <% $.caught.result %>}
  tasks:
    a: {workflow: falls, publish-on-error: {caught: <% task().result %>}, on-error: noop}
falls: {tasks: {a: {on-success: fail msg="too deep"}}}
scripted:
  input: [host]
  output: {said: <% $.said %>}
  tasks:
    a: {action: std.script, input: {host: <% $.host %>, script: "#!/bin/sh\\necho $word\\n", input: {word: hello}}, publish: {said: <% task().result.stdout %>}}
durable:
  input: [n, url, host, trace]
  output: {sum: <% $.called.sum() + $.m %>}
  tasks:
    first:
      with-items: i in [1, 2]
      action: std.http url=<% $.url %> method=POST
      input: {json: {n: <% $.n %>, i: <% $.i %>}}
      publish: {called: <% task().result.content.i %>}
      on-success: [left, right]
    left: {workflow: post n=<% $.n %>, publish: {m: <% task().result.m %>}, on-success: last}
    right:
      action: std.script
      input: {host: <% $.host %>, script: "#!/bin/sh\\necho $n >> $trace\\n", input: {n: <% $.n %>, trace: <% $.trace %>}}
      on-success: last
    last: {join: all, wait-before: 1}
post: {input: [n], output: {m: 10}, tasks: {a: {action: anneal.queue_post, input: {queue: posted, body: <% $.n %>}}}}
`;

const template = `heat_template_version: 2016-10-14
resources: {host: {type: OS::Nova::Server, properties: {image: any, flavor: baremetal}}}
outputs: {id: {value: {get_resource: host}}}
`;

/** A listener of std.http: the calls by their idempotency key. */
interface Listener {
  readonly url: string;
  readonly calls: Map<string, JsonObject>;
  close(): Promise<void>;
}

async function listen(): Promise<Listener> {
  const calls = new Map<string, JsonObject>();
  let attempts = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const given = JSON.parse(body) as JsonObject;
    if (given['retried']) {
      attempts += 1;
      response.writeHead(attempts < 3 ? 503 : 200).end(JSON.stringify({ attempts }));
      return;
    }
    calls.set(String(request.headers['idempotency-key']), given);
    response.writeHead(200).end(body);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    calls,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** A server with the workflows of these tests, one host and a listener. */
export interface WorkflowWorld {
  readonly server: Watched;
  readonly host: string;
  readonly listener: Listener;
  /** A file that the scripts append to, outside the host. */
  readonly trace: string;
}

/** Stores the workflows and creates the host. */
export async function openWorkflowWorld(server: Watched, trace: string): Promise<WorkflowWorld> {
  await withClientRetries(() => server.client.workflows.create({ text, replace: false }));
  await withClientRetries(() => server.client.stacks.create({ name: 'machine', bundle: bundle(template) }));
  const { outputs = [] } = await settled(server, 'machine');
  return { server, host: outputs[0]?.output_value as string, listener: await listen(), trace };
}

/** Starts an execution once, although a busy server may leave a request unanswered. Returns its id. */
async function startOnce(
  { server }: WorkflowWorld,
  start: { workflow: string; input: JsonObject; task_name?: string | undefined },
): Promise<string> {
  const id = randomUUID();
  await withClientRetries(() => server.client.executions.start({ ...start, id }), 180_000);
  return executionIdFrom(id);
}

/** The execution once it has ended. The server may be down for a while. */
export async function endedExecution({ server }: WorkflowWorld, id: string, within: number): Promise<ExecutionView> {
  let last: unknown;
  return eventually(
    async () => {
      try {
        const { execution, tasks } = await server.client.executions.show({ id });
        last = { execution, tasks };
        return execution.finished_at === null ? undefined : execution;
      } catch (error) {
        last = error;
        return undefined;
      }
    },
    { within, what: `the end of execution ${id}`, last: () => ({ last, server: server.output().slice(-2000) }) },
  );
}

/** Runs one execution for each form of task. Returns the output of each, by workflow. */
export async function runEachForm(world: WorkflowWorld): Promise<Record<string, Json>> {
  const starts: [string, JsonObject, string?][] = [
    ['direct', { n: 3 }],
    ['backwards', {}, 'goal'],
    ['items', { list: Array.from({ length: 30 }, (_, index) => index) }],
    ['joined', {}],
    ['retried', { url: world.listener.url }],
    ['called', {}],
    ['scripted', { host: world.host }],
  ];
  const started = await Promise.all(
    starts.map(([workflow, input, goal]) => startOnce(world, { workflow, input, task_name: goal })),
  );
  const all = await Promise.all(started.map((id) => endedExecution(world, id, 60_000)));
  return Object.fromEntries(all.map(({ workflow, state, output, reason }) => [workflow, { state, output, reason }]));
}

/** The results of `runEachForm` on every backend. */
export const eachFormEnds: Record<string, Json> = {
  direct: { state: 'SUCCESS', output: { way: 'small', sum: 4, after: true }, reason: null },
  backwards: { state: 'SUCCESS', output: { all: 13 }, reason: null },
  items: { state: 'SUCCESS', output: { all: Array.from({ length: 30 }, (_, index) => index * 2) }, reason: null },
  joined: { state: 'SUCCESS', output: { sum: 3 }, reason: null },
  retried: { state: 'SUCCESS', output: { n: 3 }, reason: null },
  called: { state: 'SUCCESS', output: { caught: 'too deep' }, reason: null },
  scripted: { state: 'SUCCESS', output: { said: 'hello\n' }, reason: null },
};

/**
 * Starts executions, does harm once `after` of their two calls each have arrived, and waits for their ends. Returns what
 * did not end well, was called under two ids, was posted twice or ran twice; empty when all is right.
 */
export async function faultsAfterHarm(
  world: WorkflowWorld,
  { count, after, harm, within }: { count: number; after: number; harm: () => Promise<void>; within: number },
): Promise<string[]> {
  const { server, listener, host, trace } = world;
  const numbers = Array.from({ length: count }, (_, n) => n);
  const started = await Promise.all(
    numbers.map((n) => startOnce(world, { workflow: 'durable', input: { n, url: listener.url, host, trace } })),
  );
  await eventually(() => (listener.calls.size >= after ? true : undefined), {
    within,
    what: `${after} calls`,
    last: () => listener.calls.size,
  });
  await harm();
  const all = await Promise.all(started.map((id) => endedExecution(world, id, within)));
  const wrong = all
    .filter(({ state, output }) => state !== 'SUCCESS' || JSON.stringify(output) !== '{"sum":13}')
    .map(({ id, state, reason, output }) => `${id}: ${state} ${reason ?? ''} ${JSON.stringify(output)}`);
  const calls = [...listener.calls.values()].map(({ n, i }) => `call ${JSON.stringify(n)} ${JSON.stringify(i)}`);
  const scripts = (await readFile(trace, 'utf8')).trim().split('\n');
  const posts: string[] = [];
  await withClientRetries(async () => {
    const found = await server.client.queues.peek({ queue: 'posted', limit: 1000 });
    posts.splice(0, posts.length, ...found.map(({ body }) => String(body)));
  });
  const texts = numbers.map(String);
  return [
    ...wrong,
    ...notOnce(
      'std.http',
      calls,
      texts.flatMap((n) => [`call ${n} 1`, `call ${n} 2`]),
    ),
    ...notOnce('std.script', scripts, texts),
    ...notOnce('anneal.queue_post', posts, texts),
  ];
}

function notOnce(what: string, found: readonly string[], wanted: readonly string[]): string[] {
  const counts = new Map<string, number>(wanted.map((each) => [each, 0]));
  for (const each of found) counts.set(each, (counts.get(each) ?? 0) + 1);
  return [...counts].filter(([, count]) => count !== 1).map(([each, count]) => `${what} ran ${each} ${count} times`);
}
