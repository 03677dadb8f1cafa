/** Searches for secrets in everything that clients and operators can read: every GET of every API, files, and webhooks. */
import { globSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { TestServer } from '../server.ts';

export const heat = '/orchestration/v1/00000000000000000000000000000001';

export interface Reply {
  readonly status: number;
  readonly text: string;
  readonly json: never;
}

/** The administrator's HTTP client. */
export interface ApiReader {
  /** The token of the last login. */
  readonly token: () => string;
  readonly login: () => Promise<void>;
  readonly call: (method: string, path: string, body?: unknown) => Promise<Reply>;
  /** @throws Error for an answer that is no success */
  readonly done: (method: string, path: string, body?: unknown) => Promise<Record<string, never>>;
  /** Reads every list, and every object that a list names. Returns the texts by their paths, without the outputs of stacks. */
  readonly readings: (nodes?: readonly string[]) => Promise<Map<string, string>>;
}

/** The messaging API requires a client id. */
const clientId = '4b1d3a55-6f2e-4f7a-9a57-0c1d2e3f4a5b';

export function createApiReader(server: Pick<TestServer, 'url' | 'password'>): ApiReader {
  let token = '';
  const call: ApiReader['call'] = async (method, path, body) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: {
        'x-auth-token': token,
        'client-id': clientId,
        'x-openstack-ironic-api-version': 'latest',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    if (path.includes('auth/tokens')) token = response.headers.get('x-subject-token') ?? token;
    const text = await response.text();
    return { status: response.status, text, json: (text.startsWith('{') ? JSON.parse(text) : {}) as never };
  };
  const done: ApiReader['done'] = async (method, path, body) => {
    const reply = await call(method, path, body);
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text.slice(0, 500)}`);
    return reply.json;
  };
  return {
    token: () => token,
    call,
    done,
    async login() {
      const password = { user: { name: 'admin', domain: { name: 'Default' }, password: server.password } };
      await done('POST', '/identity/v3/auth/tokens', { auth: { identity: { methods: ['password'], password } } });
    },
    readings: (nodes = []) => readAll(call, nodes),
  };
}

async function readAll(call: ApiReader['call'], nodes: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const read = async (path: string): Promise<Record<string, never>> => {
    const reply = await call('GET', path);
    expect.soft(reply.status, path).toBe(200);
    found.set(path, withoutOutputs(reply.text));
    return reply.json;
  };
  const listed = (path: string, kind: string): { id: string; name: string }[] =>
    (JSON.parse(found.get(path) ?? '{}') as Record<string, { id: string; name: string }[]>)[kind] ?? [];

  const { stacks } = (await read(`${heat}/stacks?show_nested=true`)) as unknown as {
    stacks: { stack_name: string; id: string }[];
  };
  for (const { stack_name: name, id } of stacks) {
    const stack = `${heat}/stacks/${name}/${id}`;
    for (const part of ['', '/template', '/environment', '/files', '/events', '/snapshots', '/outputs'])
      await read(`${stack}${part}`);
    const { resources } = (await read(`${stack}/resources?with_detail=true`)) as unknown as {
      resources: { resource_name: string }[];
    };
    for (const { resource_name: resource } of resources) {
      for (const part of ['', '/metadata', '/events']) await read(`${stack}/resources/${resource}${part}`);
    }
    for (const part of ['why', 'failures']) await read(`/api/v1/stacks/${id}/${part}`);
  }
  for (const path of ['software_configs', 'software_deployments', 'services', 'resource_types'])
    await read(`${heat}/${path}`);
  for (const kind of ['software_configs', 'software_deployments'])
    for (const { id } of listed(`${heat}/${kind}`, kind)) await read(`${heat}/${kind}/${id}`);
  const lists = ['hosts', 'deployments', 'queues', 'subscriptions', 'dead-letters', 'services', 'events', 'info'];
  for (const path of lists) await read(`/api/v1/${path}`);
  for (const kind of ['hosts', 'deployments'])
    for (const { id } of listed(`/api/v1/${kind}`, kind)) await read(`/api/v1/${kind}/${id}`);
  for (const { name } of listed('/api/v1/queues', 'queues'))
    await read(`/api/v1/queues/${encodeURIComponent(name)}/messages`);
  for (const { id } of listed('/api/v1/subscriptions', 'subscriptions'))
    for (const part of ['', '/deliveries']) await read(`/api/v1/subscriptions/${id}${part}`);
  await read('/baremetal/v1/nodes/detail');
  for (const node of nodes) await read(`/baremetal/v1/nodes/${node}`);
  await read('/messaging/v2/queues?detailed=true');
  return found;
}

/** Outputs show their values, as in Heat, because the author of the template decides. */
const withoutOutputs = (text: string): string =>
  text.startsWith('{')
    ? JSON.stringify(JSON.parse(text), (key, value: unknown) => (key === 'outputs' ? [] : value))
    : text;

/** The secret in plain text and in common encodings. */
const forms = (secret: string): string[] => [
  secret,
  ...[0, 1, 2].map((shift) =>
    Buffer.from('x'.repeat(shift) + secret)
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4),
  ),
];

/** The names of the secrets that the text contains. */
export const leaksIn = (text: string, secrets: ReadonlyMap<string, string>): string[] =>
  [...secrets].flatMap(([way, secret]) => (forms(secret).some((form) => text.includes(form)) ? [way] : []));

/** Every file with its content, except the files of the machines. A running server may remove a file during the search. */
export function filesOf(folder: string): [string, string][] {
  return globSync('**/*', { cwd: folder, exclude: ['lab/machines/**'] }).flatMap((name): [string, string][] => {
    const path = join(folder, name);
    try {
      return [[path, readFileSync(path, 'latin1')]];
    } catch {
      return [];
    }
  });
}

/** A listener that keeps the headers and bodies of all webhooks in `delivered`. */
export async function listenForWebhooks(): Promise<{ url: string; delivered: string[]; close: () => void }> {
  const delivered: string[] = [];
  const listener = createServer((request, response) => {
    delivered.push(JSON.stringify(request.headers));
    request.on('data', (chunk: Buffer) => delivered.push(chunk.toString()));
    request.on('end', () => response.writeHead(204).end());
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, delivered, close: () => listener.close() };
}
