/** A machine credential may do what its rights say, in its stack, and nothing else. */
import { answer, routeMessages } from '@anneal/bus/consume/route.ts';
import { stackEvent, type StackEventData } from '@anneal/contracts/events.ts';
import { resourceAct } from '@anneal/contracts/calls/resources.ts';
import { stackShow, type StackView } from '@anneal/contracts/calls/stacks.ts';
import { createHmac } from 'node:crypto';
import { hostKeys } from '@anneal/contracts/calls/hosts.ts';
import { credentialRights, type CredentialRight } from '@anneal/contracts/calls/credentials.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { adminProject } from '@anneal/contracts/project.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { connect, type Client } from '@anneal/client/connect.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { startIdentity } from '@anneal/identity/testing/start-identity.ts';
import { notificationService } from '@anneal/notification/service.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let context: TestContext;
let client: Client;
let url = '';
const stops: (() => Promise<unknown>)[] = [];
const acts: string[] = [];

/** The nested stack `inner` is in `web`; `other` is a stack of its own. */
const roots: Readonly<Record<string, string>> = { web: 'web', inner: 'web', other: 'other' };

const viewOfStack = (name: string, root: string): StackView => ({
  id: name,
  name,
  project: adminProject.id,
  owner: 'admin',
  description: '',
  action: 'CREATE',
  status: 'COMPLETE',
  reason: '',
  created_at: '2026-11-23T00:00:00.000Z',
  updated_at: null,
  deleted_at: null,
  timeout_minutes: null,
  on_failure: 'keep',
  tags: [],
  parent: name === root ? null : root,
  parent_resource: name === root ? null : name,
  root,
  depth: name === root ? 0 : 1,
  traversal: 't',
  version: 1,
  template: '',
  environment: '',
  files: '',
  plan: '',
  conditions: [],
  parameters: {},
  failures: [],
});

beforeAll(async () => {
  context = await createTestContext({ name: 'gateway' });
  stops.push(() => context.dispose());
  const scheduling = await context.bus.consume(
    requestsQueue('scheduling'),
    routeMessages([
      answer(context, stackShow, async ({ data: { stack } }) => {
        const root = roots[stack];
        if (root === undefined) throw new AnnealError('NotFound', `There is no stack ${stack}.`);
        return viewOfStack(stack, root);
      }),
      answer(context, resourceAct, async ({ data: { stack } }) => {
        acts.push(stack);
        return {};
      }),
      { type: 'provider.announced', handle: async () => {} },
    ]),
  );
  stops.push(() => scheduling.stop());
  const configuration = await context.bus.consume(
    requestsQueue('configuration'),
    routeMessages([
      answer(context, hostKeys, async ({ data: { host_id } }) => {
        throw new AnnealError('NotFound', `There is no host ${host_id}.`);
      }),
    ]),
  );
  stops.push(() => configuration.stop());
  const own = await createTestContext({ name: 'notification', bus: context.bus, store: context.store });
  const notification = await notificationService.start(own, readSettings(notificationService.settings, {}));
  stops.push(() => notification.stop());
  const identity = await startIdentity(context, 'correct horse');
  stops.push(() => identity.stop());
  const gateway = (await gatewayService.start(
    context,
    readSettings(gatewayService.settings, { ANNEAL_GATEWAY_PORT: '0' }),
  )) as RunningService & { url: string };
  stops.push(() => gateway.stop());
  ({ url } = gateway);
  client = await connect({
    authUrl: `${url}/identity/v3`,
    username: 'admin',
    password: 'correct horse',
    project: 'admin',
  });
});
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
});

const call = async (
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; text: string }> => {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'x-auth-token': token, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
};
const create = (can: readonly CredentialRight[], more: object = {}) =>
  client.credentials.create({ name: can.join('+'), can, stack: 'inner', ...more });
const load = (labels = {}) => ({ measurements: [{ name: 'load', value: 1, labels }] });

const publish = async (event: 'create.completed' | 'delete.completed', name: string): Promise<void> => {
  const data = {
    stack_id: name,
    stack_name: name,
    action: event === 'create.completed' ? 'CREATE' : 'DELETE',
    status: 'COMPLETE',
    reason: '',
    traversal: 't',
    version: 1,
    origin: {
      root: { stack_id: name, stack_name: name },
      path: '',
      tags: [],
      actor: { kind: 'user', id: 'u', name: 'admin' },
      cause: { kind: 'request', id: null, reason: null },
    },
  } satisfies StackEventData;
  await context.bus.publish([context.mint(stackEvent[event], { data, subject: name, project: adminProject.id })]);
};

describe('a machine credential', () => {
  const own: Readonly<Record<CredentialRight, readonly string[]>> = {
    'metrics.post': ['post /metrics'],
    'events.read': ['get /events', 'get /events/ws', 'post /events/ticket'],
    'hooks.complete': ['post /stacks/{stack}/resources/{resource}/actions'],
  };

  it.each(credentialRights)('with the right %s may use no other route', async (right) => {
    const { token } = await create([right]);
    const { paths } = JSON.parse((await call(token, 'GET', '/api/v1/openapi.json')).text) as {
      paths: Record<string, Record<string, { security?: unknown[] }>>;
    };
    const refused: string[] = [];
    let tried = 0;
    for (const [path, methods] of Object.entries(paths))
      for (const [method, { security }] of Object.entries(methods)) {
        if (security?.length === 0 || own[right].includes(`${method} ${path}`)) continue;
        tried += 1;
        const { status } = await call(token, method.toUpperCase(), `/api/v1${path.replaceAll(/\{\w+\}/g, 'web')}`);
        if (status !== 403) refused.push(`${method} ${path}: ${status}`);
      }
    expect(tried).toBeGreaterThan(40);
    expect(refused).toEqual([]);
    const others = [
      `/orchestration/v1/${adminProject.id}/stacks`,
      '/messaging/v2/queues',
      '/baremetal/v1/nodes',
      '/identity/v3/projects',
      '/identity/v3/auth/catalog',
    ];
    for (const path of others) expect([path, (await call(token, 'GET', path)).status]).toEqual([path, 403]);
  });

  it('posts measurements with the labels of its stack, and only the names that it may post', async () => {
    const { token } = await create(['metrics.post'], { metrics: ['load'], group: 'workers' });
    expect((await call(token, 'POST', '/api/v1/metrics', load({ app: 'shop' }))).status).toBe(201);
    const [series] = await client.metrics.list({ name: 'load' });
    expect(series?.labels).toEqual({
      app: 'shop',
      stack: 'web',
      stack_name: 'web',
      group: 'workers',
      credential: 'metrics.post',
    });
    const forged = await call(token, 'POST', '/api/v1/metrics', load({ stack: 'other' }));
    expect([forged.status, forged.text]).toEqual([400, expect.stringContaining('measurements.0.labels.stack')]);
    const other = await call(token, 'POST', '/api/v1/metrics', { measurements: [{ name: 'money', value: 1 }] });
    expect([other.status, other.text]).toEqual([400, expect.stringContaining('may post only load')]);
  });

  it('completes and extends waits at hooks of its stack, and does nothing else to resources', async () => {
    const { token } = await create(['hooks.complete']);
    const act = (stack: string, action: object) =>
      call(token, 'POST', `/api/v1/stacks/${stack}/resources/r/actions`, action);
    const done = { kind: 'complete hook', hook: 'h', token: 't', result: 'continue' };
    expect((await act('inner', done)).status).toBe(200);
    expect((await act('web', { kind: 'heartbeat', hook: 'h', token: 't' })).status).toBe(200);
    expect((await act('other', done)).status).toBe(403);
    expect((await act('web', { kind: 'skip' })).status).toBe(403);
    expect(acts).toEqual(['inner', 'web']);
  });

  it('reads the events of its stack and of no other', async () => {
    const { token } = await create(['events.read']);
    for (const name of ['web', 'other']) await publish('create.completed', name);
    await eventually(async () => (await client.events.list({ types: ['stack.#'], limit: 10 })).length === 2);
    const seen = async (query: string) =>
      (
        JSON.parse((await call(token, 'GET', `/api/v1/events?limit=10${query}`)).text) as {
          events: { subject: string }[];
        }
      ).events.map(({ subject }) => subject);
    expect(await seen('')).toEqual(['web']);
    expect(await seen('&stack=other')).toEqual([]);
  });

  it('stops working at once when it is revoked, and when it expires', async () => {
    const revoked = await create(['metrics.post']);
    expect((await call(revoked.token, 'POST', '/api/v1/metrics', load())).status).toBe(201);
    await client.credentials.revoke({ credential: revoked.credential.id });
    expect((await call(revoked.token, 'POST', '/api/v1/metrics', load())).status).toBe(401);
    const short = await create(['metrics.post'], { expiresSeconds: 1 });
    await eventually(async () => (await call(short.token, 'POST', '/api/v1/metrics', load())).status === 401);
    expect((await client.credentials.list()).find(({ id }) => id === short.credential.id)?.status).toBe('expired');
    expect(JSON.stringify(await client.credentials.list())).not.toContain(short.token);
    const [head, id] = short.token.split('.');
    expect((await call(`${head}.${id}.guess`, 'POST', '/api/v1/metrics', load())).status).toBe(401);
  });

  it('K3: expires an hour after the deletion of its stack, or earlier', async () => {
    const lasting = await create(['events.read']);
    const short = await create(['events.read'], { expiresSeconds: 60 });
    const foreign = await client.credentials.create({ name: 'foreign', can: ['events.read'], stack: 'other' });
    await publish('delete.completed', 'web');
    const expiryOf = async ({ credential: { id } }: typeof lasting) =>
      (await client.credentials.list()).find((each) => each.id === id)?.expires_at ?? null;
    const ends = await eventually(async () => (await expiryOf(lasting)) ?? undefined);
    expect(Date.parse(ends) - Date.now()).toBeGreaterThan(3_500_000);
    expect(Date.parse(ends) - Date.now()).toBeLessThanOrEqual(3_600_000);
    expect(await expiryOf(short)).toBe(short.credential.expires_at);
    expect(await expiryOf(foreign)).toBeNull();
    expect((await call(lasting.token, 'GET', '/api/v1/events?limit=1')).status).toBe(200);
  });

  it('signs CloudWatch requests, as cfn-push-stats sends them, with its keys', async () => {
    const { access_key: key, secret_key: secret } = await create(['metrics.post']);
    const put = async (value: string, signingKey: string): Promise<{ status: number; text: string }> => {
      const { host } = new URL(url);
      const params = new URLSearchParams({
        AWSAccessKeyId: key,
        Action: 'PutMetricData',
        'MetricData.member.1.Dimensions.member.1.Name': 'AlarmName',
        'MetricData.member.1.Dimensions.member.1.Value': 'high',
        'MetricData.member.1.MetricName': 'MemoryUtilization',
        'MetricData.member.1.Unit': 'Percent',
        'MetricData.member.1.Value': value,
        Namespace: 'system/linux',
        SignatureMethod: 'HmacSHA256',
        SignatureVersion: '2',
        Timestamp: new Date().toISOString().slice(0, 19),
      });
      const query = [...params]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, each]) => `${encodeURIComponent(name)}=${encodeURIComponent(each)}`)
        .join('&');
      const text = `POST\n${host}\n/cfn/v1/\n${query}`;
      params.set('Signature', createHmac('sha256', signingKey).update(text).digest('base64'));
      const response = await fetch(`${url}/cfn/v1/`, { method: 'POST', body: params });
      return { status: response.status, text: await response.text() };
    };
    const stored = await put('42.5', secret);
    expect([stored.status, stored.text]).toEqual([200, expect.stringContaining('PutMetricDataResponse')]);
    const [series] = await client.metrics.list({ name: 'MemoryUtilization' });
    expect(series).toMatchObject({
      unit: 'Percent',
      labels: { AlarmName: 'high', Namespace: 'system/linux', stack: 'web', credential: 'metrics.post' },
    });
    expect((await put('42.5', 'guess')).status).toBe(401);
    expect(await put('much', secret)).toMatchObject({
      status: 400,
      text: expect.stringContaining('MetricData.member.1.Value'),
    });
  });
});
