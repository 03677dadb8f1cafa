/** The HTTP API: the requests that clients send most, to servers with few and many resources and projects. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { freeLocalPort } from '../backends/free-port.ts';
import { commonRequests, type ApiRequest } from './api/requests.ts';
import { BenchChild } from './hosts/child.ts';
import type { FloorAnswer } from './hosts/floor-process.ts';
import type { ServerAnswer, ServerQuestion } from './hosts/server-process.ts';
import { percentiles, rowLine, type Bench, type BenchOptions, type Row } from './report.ts';

const password = 'bench of the API';
const clientCounts = [1, 50];
const limitMs = 300_000;

interface Target {
  readonly send: (request: ApiRequest) => Promise<{ status: number; text: string; token: string }>;
  /** Processor time of the server since its start, in microseconds. */
  readonly cpu: () => Promise<number>;
}

interface Size {
  readonly resources: number;
  readonly projects: number;
}

/** Sends one request again and again. `windowMs` counts after a tenth of it, which warms up. */
async function measure(target: Target, request: ApiRequest, clients: number, windowMs: number) {
  const samples: number[] = [];
  const start = performance.now();
  let counts = false;
  let before = 0;
  let unanswered = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() - start < windowMs * 1.1 || samples.length < clients) {
      const begun = performance.now();
      const isCounted = counts;
      const { status, text } = await target.send(request);
      if (status >= 300 && status !== 503) {
        throw new Error(`${request.method} ${request.path} answered ${status}: ${text.slice(0, 500)}`);
      }
      if (isCounted) samples.push(performance.now() - begun);
      if (status === 503) unanswered += 1;
      if (performance.now() - start > limitMs) throw new Error(`${request.path} takes too long`);
    }
  };
  const lanes = Array.from({ length: clients }, lane);
  await delay(windowMs * 0.1);
  before = await target.cpu();
  counts = true;
  const opened = performance.now();
  await Promise.all(lanes);
  const seconds = (performance.now() - opened) / 1000;
  const used = (await target.cpu()) - before;
  const cpu = used / Math.max(1, samples.length);
  return { ...percentiles(samples), perSecond: samples.length / seconds, cpu, unanswered };
}

async function casesOf(
  target: Target,
  requests: readonly ApiRequest[],
  { backend, size, quick, say }: { backend: string; size: Size; quick: boolean; say: (text: string) => void },
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const request of requests) {
    for (const clients of clientCounts) {
      const found = await measure(target, request, clients, quick ? 200 : 1_500);
      const { perSecond, cpu, unanswered, ...times } = found;
      const row = { bench: 'api', case: request.name, backend, n: size.resources };
      const of = `${clients} ${clients === 1 ? 'client' : 'clients'}, ${size.projects} ${size.projects === 1 ? 'project' : 'projects'}`;
      const time: Row = { ...row, metric: of, unit: 'ms', value: times.p50, ...times, cpu };
      const rate: Row = { ...row, metric: `${of}, requests`, unit: '/s', value: perSecond };
      const failed: Row = { ...row, metric: `${of}, answered 503`, unit: '', value: unanswered };
      const all = [time, rate, ...(unanswered > 0 ? [failed] : [])];
      for (const each of all) say(`  ${rowLine(each)}`);
      rows.push(...all);
    }
  }
  return rows;
}

/** The same client with a server that only answers a small JSON: the floor on this machine. */
async function floor(options: BenchOptions): Promise<Row[]> {
  const server = new BenchChild<{ kind: 'use' }, FloorAnswer>('./floor-process.ts', {});
  const { url } = await server.answer('ready');
  const pool = new Pool(url, { connections: Math.max(...clientCounts) });
  const target: Target = {
    send: async ({ path }) => {
      const { statusCode, body } = await pool.request({ method: 'GET', path });
      return { status: statusCode, text: await body.text(), token: '' };
    },
    cpu: async () => (await server.ask({ kind: 'use' }, 'use')).cpuMicros,
  };
  try {
    const requests: ApiRequest[] = [{ name: 'floor', method: 'GET', path: '/' }];
    const { quick, say } = options;
    return await casesOf(target, requests, { backend: 'bare HTTP', size: { resources: 0, projects: 0 }, quick, say });
  } finally {
    await pool.close();
    await server.stop();
  }
}

async function measureSize(size: Size, { quick, say }: BenchOptions): Promise<Row[]> {
  const data = await mkdtemp(join(tmpdir(), 'anneal-bench-api-'));
  const port = await freeLocalPort();
  const url = `http://127.0.0.1:${port}`;
  const server = new BenchChild<ServerQuestion, ServerAnswer>('./server-process.ts', {
    environment: {
      ANNEAL_DATA: data,
      ANNEAL_LOG_LEVEL: 'error',
      ANNEAL_GATEWAY_URL: url,
      ANNEAL_GATEWAY_PORT: String(port),
      ANNEAL_GATEWAY_ADMIN_PASSWORD: password,
      ANNEAL_TEMPLATING_MAX_RESOURCES: '20000',
    },
  });
  const pool = new Pool(url, { connections: Math.max(...clientCounts) });
  try {
    await server.answer('ready');
    const site = await fill(pool, size);
    const target: Target = { ...site, cpu: async () => (await server.ask({ kind: 'use' }, 'use')).cpuMicros };
    const created: Row = {
      bench: 'api',
      case: 'create a stack of them',
      backend: 'embedded',
      n: size.resources,
      metric: 'POST to CREATE_COMPLETE',
      unit: 's',
      value: site.createSeconds,
    };
    say(`  ${rowLine(created)}`);
    return [created, ...(await casesOf(target, site.requests, { backend: 'embedded', size, quick, say }))];
  } finally {
    await pool.close();
    await server.stop();
    await rm(data, { recursive: true, force: true, maxRetries: 5 });
  }
}

const loginTo = (project: string): object => ({
  auth: {
    identity: { methods: ['password'], password: { user: { name: 'admin', domain: { id: 'default' }, password } } },
    scope: { project: { name: project, domain: { id: 'default' } } },
  },
});

/** Creates the projects, each with a small stack, and the stack that the requests are about. */
async function fill(pool: Pool, { resources, projects }: Size) {
  const sender =
    (token: string): Target['send'] =>
    async ({ method, path, body }) => {
      const headers = {
        'x-auth-token': token,
        'x-subject-token': token,
        'client-id': '3381af92-2b9e-11e3-b191-71861300734c',
        ...(body && { 'content-type': 'application/json' }),
      };
      const answered = await pool.request({ method, path, headers, ...(body && { body: JSON.stringify(body) }) });
      const text = await answered.body.text();
      return { status: answered.statusCode, text, token: String(answered.headers['x-subject-token'] ?? '') };
    };
  const logIn = async (project: string) => {
    const request = { name: '', method: 'POST', path: '/identity/v3/auth/tokens', body: loginTo(project) } as const;
    const { text, token } = await sender('')(request);
    const { token: shown } = JSON.parse(text) as { token: { project: { id: string }; user: { id: string } } };
    return { send: sender(token), project: shown.project.id, user: shown.user.id };
  };
  const ask = async (send: Target['send'], method: ApiRequest['method'], path: string, body?: object) => {
    const { status, text } = await send({ name: '', method, path, ...(body && { body }) });
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 500)}`);
    return (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
  };
  const createStack = async (
    { send, project }: { send: Target['send']; project: string },
    name: string,
    of: number,
  ) => {
    const value = (index: number) => ({ type: 'OS::Heat::Value', properties: { value: index } });
    const template = {
      heat_template_version: '2018-08-31',
      resources: Object.fromEntries(Array.from({ length: of }, (_, index) => [`r${index}`, value(index)])),
      outputs: { last: { value: { get_attr: [`r${of - 1}`, 'value'] } } },
    };
    const heat = `/orchestration/v1/${project}/stacks`;
    const made = await ask(send, 'POST', heat, { stack_name: name, template, timeout_mins: 60 });
    const { id } = made['stack'] as { id: string };
    for (;;) {
      const shown = await ask(send, 'GET', `${heat}/${name}/${id}?resolve_outputs=false`);
      const { stack_status: status } = shown['stack'] as { stack_status: string };
      if (status === 'CREATE_COMPLETE') return id;
      if (status !== 'CREATE_IN_PROGRESS') throw new Error(`The stack of the bench is ${status}.`);
      await delay(20);
    }
  };
  const admin = await logIn('admin');
  const { roles } = await ask(admin.send, 'GET', '/identity/v3/roles?name=admin');
  const [role] = roles as { id: string }[];
  for (let number = 1; number < projects; number += 1) {
    const name = `p${number}-${randomUUID().slice(0, 8)}`;
    const made = await ask(admin.send, 'POST', '/identity/v3/projects', { project: { name } });
    const { id } = made['project'] as { id: string };
    await ask(admin.send, 'PUT', `/identity/v3/projects/${id}/users/${admin.user}/roles/${role?.id}`);
    await createStack(await logIn(name), 'small', 10);
  }
  const start = performance.now();
  const id = await createStack(admin, 'big', resources);
  const createSeconds = (performance.now() - start) / 1000;
  const login = loginTo('admin');
  const stack = { name: 'big', id };
  const requests = commonRequests({ project: admin.project, stack, resource: `r${resources - 1}`, login });
  return { send: admin.send, requests, createSeconds };
}

export const apiBench: Bench = {
  name: 'api',
  measures: 'sources',
  notes: [
    'The requests that clients send most, to one process with all services on the embedded bus and store.',
    'n is the number of resources of the stack that the requests are about. Each other project has a stack of 10.',
    'With `--quick`, `--hosts NUMBER` sets the number of resources.',
    'The bare HTTP server answers a small JSON to the same client: the floor. `cpu µs` is the processor time of the server per request.',
  ],
  backends: ['embedded'],
  async run(options) {
    const sizes = options.quick
      ? [{ resources: options.hosts ?? 10, projects: 1 }]
      : [10, 1_000, 10_000].flatMap((resources) => [1, 100].map((projects) => ({ resources, projects })));
    const rows = await floor(options);
    for (const size of sizes) rows.push(...(await measureSize(size, options)));
    return rows;
  },
};
