/**
 * A program on the broker that serves a resource type, receives hidden properties and echoes them in every field of every
 * message that it can send: open, as a program that holds the installation's keys can, and sealed, as it received them. No
 * read of an API, no log line, no file of the server, no event and no webhook contains a hidden value.
 */
import { openBus } from '@anneal/bus/open.ts';
import type { Bus } from '@anneal/bus/port.ts';
import { createMint, type Mint } from '@anneal/contracts/envelope.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { registry } from '@anneal/contracts/registry.ts';
import {
  resourceResponse,
  type ResourceRequest,
  type ResourceResponse,
  type ResourceUpdate,
} from '@anneal/contracts/resource.ts';
import { announceTypes } from '@anneal/provider/routes.ts';
import { loadKeys } from '@anneal/runtime/secrets/keys.ts';
import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { openStore } from '@anneal/store/open.ts';
import { pino } from 'pino';
import { v7 } from 'uuid';
import { afterAll, beforeAll, expect, it, type TestContext } from 'vitest';
import type { BackendServer } from '../../backends/backend.ts';
import { findNats } from '../../backends/nats.ts';
import { settled, startServer, type TestServer } from '../server.ts';
import { filesOf, createApiReader, heat, leaksIn, listenForWebhooks, type ApiReader } from './search.ts';
import { skipWithout } from '../../backends/missing.ts';

const secretOf = (way: string): string => `canary-${way}-4712-in-the-clear`;
const ways = ['made', 'changed', 'derived', 'failed'];
const secrets = new Map(ways.map((way) => [way, secretOf(way)]));

const template = `heat_template_version: 2018-08-31
parameters:
  secret: {type: string, hidden: true}
  derived: {type: string, hidden: true}
resources:
  value: {type: OS::Heat::Value, properties: {value: {list_join: ['', [{get_param: derived}]]}}}
  thing: {type: Echo::Open, properties: {value: {get_param: secret}, other: {get_attr: [value, value]}}}
  shut: {type: Echo::Sealed, properties: {value: {get_param: secret}}}
  read: {type: OS::Heat::Value, properties: {value: {get_attr: [thing, out]}}}
outputs:
  out: {value: {get_attr: [thing, out]}}
  read: {value: {get_attr: [read, value]}}
`;
const failing = `heat_template_version: 2018-08-31
parameters: {secret: {type: string, hidden: true}}
resources: {thing: {type: Echo::Open, properties: {value: {get_param: secret}, fail: true}}}
`;

let missing: string | undefined;
let server: TestServer;
let reader: ApiReader;
let listener: Awaited<ReturnType<typeof listenForWebhooks>>;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const broker = await findNats();
  if ('missing' in broker) {
    missing = broker.missing;
    return;
  }
  closers.push(() => broker.stop());
  listener = await listenForWebhooks();
  closers.push(() => Promise.resolve(listener.close()));
  const url = `${broker.url}${broker.url.includes('?') ? '&' : '?'}prefix=echo${v7().slice(-8)}`;
  server = await startServer({ lab: 0, flags: ['--bus', url], env: { ANNEAL_LOG_LEVEL: 'trace' } });
  closers.push(() => server.dispose());
  reader = createApiReader(server);
  await startProvider({ ...broker, url });
});
afterAll(async () => {
  for (const close of closers.toReversed()) await close();
});

/** Types whose provider answers everything with what it was given: `Echo::Open` opens it first. */
async function startProvider(broker: BackendServer): Promise<void> {
  const sealing = createSecrets(await loadKeys({ setting: undefined, dataDirectory: server.data }));
  const store = await openStore({ url: 'sqlite::memory:' });
  const [source, now] = ['example/echo', (): Date => new Date()];
  const log = pino({ level: 'silent' });
  const bus = await openBus({ url: broker.url, source, store, registry, newId: v7, now, log });
  const mint = createMint({ source, newId: v7, now });
  closers.push(async () => {
    await bus.close();
    await store.close();
  });
  for (const [type, open] of [
    ['Echo::Open', (value: JsonObject) => sealing.open(value)],
    ['Echo::Sealed', (value: JsonObject) => value],
  ] as const) {
    const queue = `${type.replace('::', '.').toLowerCase()}.requests`;
    await bus.consume(queue, async ({ message }) => {
      const request = message.data as ResourceRequest;
      const action = message.type.replace('resource.', '') as ResourceResponse['action'];
      const identity = { resource_id: request.resource.id, stack_id: request.stack.id, action, fence: request.fence };
      const { old_properties: old = {} } = message.data as Partial<ResourceUpdate>;
      const responses = answersTo(action, open({ ...request.properties, old } as JsonObject));
      await bus.send({
        queue: message.replyto ?? '',
        messages: responses.map((response, index) =>
          mint(resourceResponse, { id: `${message.id}:${index}`, cause: message, data: { ...identity, ...response } }),
        ),
      });
      const [seal] = Object.values(request.properties);
      if (action === 'update') await announce({ bus, mint }, { type, queue, echo: seal ?? null });
    });
    await announce({ bus, mint }, { type, queue, echo: 'nothing yet' });
  }
}

/** An announcement that echoes a value in each of its texts. */
async function announce(
  parts: { bus: Bus; mint: Mint },
  { type, queue, echo }: { type: string; queue: string; echo: Json },
): Promise<void> {
  const description = JSON.stringify(echo);
  const any = { type: 'Any', update_allowed: true } as const;
  const properties = { value: any, other: any, echo: { ...any, default: echo, description } };
  await announceTypes(parts, {
    provider: queue,
    queue,
    types: [
      {
        type,
        description,
        properties: { ...properties, fail: { type: 'Boolean' } },
        attributes: { out: { description }, deep: {} },
        actions: ['check', 'snapshot'],
      },
    ],
  });
}

type Answer = Omit<ResourceResponse, 'resource_id' | 'stack_id' | 'action' | 'fence'>;

/** Progress and result with the given properties in each field. */
function answersTo(action: ResourceResponse['action'], given: JsonObject): Answer[] {
  const text = [given['value'], given['other'], given['old']].map((each) => JSON.stringify(each ?? '')).join(' ');
  const value = given['value'] ?? null;
  const name = typeof value === 'string' ? value : text;
  const error = { code: name, message: text, details: { [name]: [value], given }, remedy: text };
  const echo = {
    physical_id: `disk-${name}`,
    message: text.slice(0, 4000),
    attributes: {
      out: value,
      deep: [{ [name]: given }, `${text} ${Buffer.from(name).toString('base64')}`],
      [name]: text,
      'fact.address': name,
    },
    drift: action === 'check' ? [{ property: name, expected: value, actual: given }] : [],
    snapshot: { [name]: given },
    ...(action === 'create' && { failures: [{ resource: name, type: name, failure: error }] }),
  };
  const last: Answer = given['fail'] === true ? { ...echo, status: 'failed', error } : { ...echo, status: 'complete' };
  return [{ ...echo, status: 'in progress' }, last];
}

const check = (context: TestContext): void => skipWithout(context, missing);

async function stackWith(name: string, body: { template: string; parameters: JsonObject }): Promise<string> {
  const reply = await eventually(
    async () => {
      const answer = await reader.call('POST', `${heat}/stacks`, { stack_name: name, ...body });
      return answer.status === 201 ? answer : undefined;
    },
    { what: 'the types of the provider' },
  );
  return `${heat}/stacks/${name}/${(reply.json as { stack: { id: string } }).stack.id}`;
}

it('no client can read a hidden value that a foreign provider echoes', async (context) => {
  check(context);
  await reader.login();
  await reader.done('POST', '/api/v1/subscriptions', { url: listener.url });
  const parametersOf = (way: string): JsonObject => ({ secret: secretOf(way), derived: secretOf('derived') });
  const stack = await stackWith('echo', { template, parameters: parametersOf('made') });
  expect(await settled(server, 'echo')).toMatchObject({ stack_status: 'CREATE_COMPLETE' });
  await reader.done('PUT', stack, { template, parameters: parametersOf('changed') });
  const updated = await settled(server, 'echo');
  expect(updated).toMatchObject({ stack_status: 'UPDATE_COMPLETE' });
  // Templates still read what the provider reported.
  const outputs = new Map((updated.outputs ?? []).map((each) => [each.output_key, each.output_value]));
  expect(outputs.get('out')).toBe(secretOf('changed'));
  expect(outputs.get('read')).toBe(secretOf('changed'));
  for (const [path, body] of [
    ['actions', { check: null }],
    ['snapshots', { name: 'kept' }],
  ] as const) {
    await reader.done('POST', `${stack}/${path}`, body);
    expect((await settled(server, 'echo')).stack_status).toMatch(/_COMPLETE$/);
  }
  await stackWith('broken', { template: failing, parameters: { secret: secretOf('failed') } });
  expect((await settled(server, 'broken')).stack_status).toBe('CREATE_FAILED');

  await eventually(() => (listener.delivered.join('').includes('"broken"') ? true : undefined), { what: 'webhooks' });
  const read = await reader.readings();
  // The search works: it finds what the provider said beside the hidden values.
  expect([...read.values()].some((text) => text.includes('disk-'))).toBe(true);
  for (const [path, text] of read) expect.soft(leaksIn(text, secrets), path).toEqual([]);
  expect.soft(leaksIn(listener.delivered.join('\n'), secrets), 'webhooks').toEqual([]);
  expect.soft(leaksIn(server.log(), secrets), 'the log').toEqual([]);
  // The broker's own files hold the messages as the provider sent them.
  const contents = filesOf(server.data);
  expect(contents.some(([, text]) => text.includes('"broken"'))).toBe(true);
  for (const [path, text] of contents) expect.soft(leaksIn(text, secrets), path).toEqual([]);
});
