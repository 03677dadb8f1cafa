/** Requests that a client sends again with the same Idempotency-Key, because it got no answer. */
import { configurationService } from '@anneal/configuration/service.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { login, password } from '@anneal/gateway/testing/test-gateway.ts';
import { startIdentity } from '@anneal/identity/testing/start-identity.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { armFault, disarmFaults } from '@anneal/runtime/fault.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import { schedulingService } from '@anneal/scheduling/service.ts';
import { templatingService } from '@anneal/templating/service.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

let context: TestContext;
const running: RunningService[] = [];
let url: string;
let token: string;
let project: string;
beforeAll(async () => {
  context = await createTestContext({ name: 'gateway' });
  for (const service of [templatingService, schedulingService, configurationService, notificationService]) {
    running.push(await service.start(context, readSettings(service.settings, {}) as never));
  }
  running.push(await startIdentity(context, password));
  const settings = readSettings(gatewayService.settings, { ANNEAL_GATEWAY_PORT: '0' });
  const gateway = (await gatewayService.start(context, settings)) as RunningService & { url: string };
  running.push(gateway);
  url = gateway.url;
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify(login());
  const answer = await fetch(`${url}/identity/v3/auth/tokens`, { method: 'POST', headers, body });
  token = answer.headers.get('x-subject-token') ?? '';
  project = ((await answer.json()) as { token: { project: { id: string } } }).token.project.id;
});
afterEach(disarmFaults);
afterAll(async () => {
  for (const service of running.toReversed()) await service.stop();
  await context.dispose();
});

interface Answer {
  readonly status: number;
  readonly isReplayed: boolean;
  readonly body: JsonObject;
}

async function send(method: string, path: string, body?: JsonObject, key?: string): Promise<Answer> {
  const headers = {
    'x-auth-token': token,
    ...(body && { 'content-type': 'application/json' }),
    ...(key !== undefined && { 'idempotency-key': key }),
  };
  const answer = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await answer.text();
  return {
    status: answer.status,
    isReplayed: answer.headers.get('idempotency-replayed') === 'true',
    body: (text === '' ? {} : JSON.parse(text)) as JsonObject,
  };
}

const template = {
  heat_template_version: '2018-08-31',
  resources: { v: { type: 'OS::Heat::Value', properties: { value: 1 } } },
};
const stacks = (): string => `/orchestration/v1/${project}/stacks`;
/** As from a gateway that dies after the work and before it has kept the answer. */
function loseAnswers(): void {
  armFault('gateway.repeats.keep', () => Promise.reject(new Error('the process died')));
}

interface Made {
  readonly path: string;
  readonly body: (name: string) => JsonObject;
  /** The list with the objects, and its field in the answer. */
  readonly list: string;
  readonly key: string;
  /** The part of the answer that a second try finds again. Default: all. A new secret is made again. */
  readonly part?: (body: JsonObject) => unknown;
}

const made: Readonly<Record<string, () => Made>> = {
  'a stack': () => ({
    path: stacks(),
    body: (name) => ({ stack_name: name, template }),
    list: stacks(),
    key: 'stacks',
  }),
  'a subscription': () => ({
    path: '/api/v1/subscriptions',
    body: (name) => ({ name, types: ['stack.#'], url: 'queue:letters' }),
    list: '/api/v1/subscriptions',
    key: 'subscriptions',
    // Its courier changes it meanwhile.
    part: ({ subscription }) => (subscription as JsonObject)['id'],
  }),
  'a workflow': () => ({
    path: '/api/v1/workflows',
    body: (name) => ({ text: `version: '2.0'\n${name}:\n  tasks:\n    t:\n      action: std.noop\n` }),
    list: '/api/v1/workflows',
    key: 'workflows',
  }),
  'an execution': () => ({
    path: '/api/v1/executions',
    body: (name) => ({ workflow: 'flow', description: name }),
    list: '/api/v1/executions',
    key: 'executions',
  }),
  'a message': () => ({
    path: '/api/v1/queues/once/messages',
    body: (name) => ({ messages: [{ body: name }] }),
    list: '/api/v1/queues/once/messages?limit=100',
    key: 'messages',
  }),
  'a host': () => ({
    path: '/api/v1/hosts/NAME/join',
    body: () => ({}),
    list: '/api/v1/hosts',
    key: 'hosts',
    part: ({ host }) => (host as JsonObject)['id'],
  }),
};

const countOf = async ({ list, key }: Made, name: string): Promise<number> =>
  ((await send('GET', list)).body[key] as unknown as JsonObject[]).filter((one) => JSON.stringify(one).includes(name))
    .length;

beforeAll(async () => {
  await send('PUT', `/messaging/v2/queues/once`, {});
  const text = "version: '2.0'\nflow:\n  tasks:\n    t:\n      action: std.noop\n";
  await send('POST', '/api/v1/workflows', { text });
});

describe.each(Object.keys(made))('a request for %s', (what) => {
  it.each([
    ['is answered as before', 'kept', () => {}],
    ['finds what the first one made, when the answer was lost', 'lost', loseAnswers],
    ['is carried out once, also when it comes five times at the same time', 'same', () => {}],
  ])('%s', async (_, name, arm) => {
    const object = made[what]?.() ?? expect.fail();
    const path = object.path.replace('NAME', name);
    const key = `${what} ${name}`;
    arm();
    const [first, ...others] =
      name === 'same'
        ? await Promise.all(Array.from({ length: 5 }, () => send('POST', path, object.body(name), key)))
        : [await send('POST', path, object.body(name), key), await send('POST', path, object.body(name), key)];
    expect([first?.status]).toEqual([expect.toSatisfy((status: number) => status < 300)]);
    const { part = (body) => body } = object;
    const answers = [first, ...others].map((answer) => part(answer?.body ?? {}));
    expect(answers).toEqual(answers.map(() => answers[0]));
    expect([first, ...others].filter((answer) => answer?.isReplayed)).toHaveLength(name === 'lost' ? 0 : others.length);
    expect(await countOf(object, name)).toBe(1);
  });
});

it('refuses another request with the same key, and tries a refused one again', async () => {
  const path = '/api/v1/subscriptions';
  const body = { name: 'other', types: ['stack.#'], queue: 'letters' };
  expect((await send('POST', path, { ...body, types: ['no such.#'] }, 'one key')).status).toBe(400);
  const second = await send('POST', path, body, 'one key');
  expect(second).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining('another request') } },
  });
  const refused = { stack_name: 'later', template: { heat_template_version: 'no version' } };
  expect(await send('POST', stacks(), refused, 'refused')).toMatchObject({ status: 400, isReplayed: false });
  expect(await send('POST', stacks(), refused, 'refused')).toMatchObject({ status: 400, isReplayed: false });
  expect((await send('POST', path, body, ' ')).status).toBe(400);
  expect((await send('POST', path, body, 'k'.repeat(256))).status).toBe(400);
});
