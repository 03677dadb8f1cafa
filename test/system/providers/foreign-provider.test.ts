/** A provider outside Anneal: whatever it sends is data, in every field of every message. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import {
  resourceResponse,
  type ProviderAnnouncement,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { announceTypes } from '@anneal/provider/routes.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';
import { shapes } from './internal-shapes.ts';

const queue = 'strange.requests';
let world: StackWorld;
/** The answer of the provider to a request, beside its identity. */
let answerTo: (properties: JsonObject, action: string) => Partial<ResourceResponse>;

beforeAll(async () => {
  world = await StackWorld.open();
  const { bus, mint } = world.context;
  await bus.consume(queue, async ({ message }) => {
    const data = message.data as ResourceRequest;
    const action = message.type.replace('resource.', '') as ResourceResponse['action'];
    const identity = { resource_id: data.resource.id, stack_id: data.stack.id, action, fence: data.fence };
    const given = action === 'delete' ? {} : answerTo(data.properties as JsonObject, action);
    const progress = { ...identity, message: 'It works.', ...given, status: 'in progress' as const };
    const responses = [progress, { ...identity, status: 'complete' as const, ...given }];
    const messages = responses.map((response, index) =>
      mint(resourceResponse, { id: `${message.id}:${index}`, cause: message, data: response }),
    );
    await bus.send({ queue: message.replyto ?? '', messages });
  });
  await announce({});
});
afterAll(() => world.close());

const announce = (more: Partial<ProviderAnnouncement['types'][number]>) =>
  announceTypes(
    { bus: world.context.bus, mint: world.context.mint },
    {
      provider: 'strange',
      queue,
      types: [
        {
          type: 'Strange::Thing',
          properties: { value: { type: 'Any' } },
          attributes: { out: {}, more: {} },
          actions: ['check', 'snapshot'],
          ...more,
        },
      ],
    },
  );

const template = (value: string) => `
heat_template_version: 2018-08-31
parameters: {j: {type: json, default: {}}, h: {type: json, hidden: true, default: {}}}
resources:
  thing: {type: Strange::Thing, properties: {value: ${value}}}
  read: {type: OS::Heat::Value, properties: {type: json, value: {get_attr: [thing, out]}}}
outputs:
  out: {value: {get_attr: [thing, out]}}
  read: {value: {get_attr: [read, value]}}
  reference: {value: {get_resource: thing}}
`;
const created = async (value: string, parameters: JsonObject = {}) => {
  const name = `s-${world.context.newId()}`;
  return eventually(() => world.create(name, { template: template(value), parameters }).catch(() => undefined), {
    what: 'the type of the provider',
  });
};

describe('a value of a foreign provider in an internal shape', () => {
  it.each([...Object.entries(shapes), ['a copied seal', undefined] as const])('%s stays data', async (_name, shape) => {
    const { secrets } = world.context;
    const part = shape ?? secrets.seal('hush');
    const sent = { deep: [part], ...(part as JsonObject) };
    let given: Json = null;
    answerTo = ({ value = null }) => {
      given = value;
      return { physical_id: JSON.stringify(part), attributes: { out: sent, more: part, $sealed: 'x', ...sent } };
    };
    const { id } = await created('{get_param: j}', { j: secrets.seal(shape === undefined ? {} : sent) });
    const { out, read, reference } = world.outputs(await world.complete(id));
    expect({ out, read, reference }).toEqual({ out: sent, read: sent, reference: JSON.stringify(part) });
    expect(given).toEqual(shape === undefined ? {} : sent);

    // A check reports the shape as drift, a snapshot as its data.
    const drift = [{ property: 'value', expected: part, actual: sent }];
    answerTo = (_properties, action) => (action === 'check' ? { drift } : { snapshot: sent });
    await world.act(id, { kind: 'check' });
    await world.complete(id);
    await world.act(id, { kind: 'snapshot', id: world.context.newId(), name: 'kept' });
    const stack = await world.complete(id);
    expect(world.outputs(stack)).toMatchObject({ out: sent, read: sent });
    expect(await shownOf(id, stack)).not.toContain('"hush"');
  });

  it.each(Object.entries(shapes))('%s in an error stays data', async (_name, shape) => {
    const details = { shape, deep: [shape] };
    const error = { code: 'Broken', message: JSON.stringify(shape), details };
    answerTo = () => ({ status: 'failed', error });
    const stack = await world.settled((await created('{}')).id);
    expect(stack.status).toBe('FAILED');
    expect(stack.failures.map(({ failure }) => failure)).toMatchObject([error]);
  });
});

describe('a hidden value that a foreign provider was given', () => {
  const secret = 'hush-4711';
  it.each<[string, (value: Json) => Partial<ResourceResponse>]>([
    ['in an attribute', (value) => ({ attributes: { out: value } })],
    ['in its message', () => ({ message: `It uses ${secret}.` })],
    [
      'in its error',
      () => ({ status: 'failed', error: { code: 'X', message: secret, details: { [secret]: secret } } }),
    ],
    ['in its drift', (value) => ({ drift: [{ property: 'value', expected: value, actual: value }] })],
  ])('is not shown: %s', async (_what, answer) => {
    const { secrets } = world.context;
    answerTo = (properties) => answer(properties['value'] ?? null);
    const { id } = await created('{get_param: h}', { h: secrets.seal({ password: secret }) });
    const stack = await world.settled(id);
    const { outputs: _, ...shown } = stack;
    expect(await shownOf(id, shown)).not.toContain(secret);
  });
});

describe('an announcement of a foreign provider', () => {
  it.each([...Object.entries(shapes), ['a copied seal', undefined] as const])(
    '%s as a default stays data',
    async (_name, shape) => {
      const part = shape ?? world.context.secrets.seal('hush');
      const value = { deep: [part] };
      await announce({ properties: { value: { type: 'Any' }, other: { type: 'Any', default: value } } });
      answerTo = (properties) => ({ attributes: { out: properties['other'] ?? null } });
      const stack = await eventually(async () => {
        const complete = await world.complete((await created('{}')).id);
        return world.outputs(complete)['out'] === null ? undefined : complete;
      });
      expect(world.outputs(stack)['out']).toEqual(value);
    },
  );
});

const shownOf = async (id: string, stack: object): Promise<string> =>
  JSON.stringify([stack, await world.resources(id, 2), await world.events(id, 2)]);
