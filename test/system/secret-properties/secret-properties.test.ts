/** Every property of every type acts the same when its value is secret, and what is secret stays sealed. */
import { isDeepStrictEqual } from 'node:util';
import { configurationService } from '@anneal/configuration/service.ts';
import { hostCreate } from '@anneal/contracts/calls/hosts.ts';
import { hostRequestSchema } from '@anneal/contracts/calls/host-messages.ts';
import { queueClaim, queuePost } from '@anneal/contracts/calls/queues.ts';
import { nodeEnrol } from '@anneal/contracts/calls/nodes.ts';
import type { Bus } from '@anneal/bus/port.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { servedTypes } from '@anneal/hot/served.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { StackWorld } from '../stack-world.ts';
import { innerTemplate } from './engine.ts';
import { identityEntries } from './identity.ts';
import { entries, surroundings } from './table.ts';
import {
  recordOfTwin,
  secretWord,
  storedRows,
  twinName,
  twinResources,
  twins,
  type TwinResource,
  type TypeEntry,
} from './twins.ts';

let world: StackWorld;
let host: string;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  world = await StackWorld.open(
    { ANNEAL_PROVISIONING_TEST_DRIVER: 'true' },
    { also: [configurationService, provisioningService, notificationService] },
  );
  noteMessages(world.context.bus);
  host = await willingHost();
  await world.ask(nodeEnrol, node(world.context.newId()), 'provisioning');
});
afterAll(async () => {
  for (const close of closers) await close();
  await world.close();
});

/** A host that completes each request at once. */
async function willingHost(): Promise<string> {
  const { context } = world;
  const id = context.newId();
  await world.ask(hostCreate, { id, name: 'machine', project: 'p1' }, 'configuration');
  const [requests, responses] = [`host.${id}.requests`, `host.${id}.responses`];
  const answerNext = async (): Promise<boolean> => {
    const claim = { project: 'p1', queue: requests, ttl: 60, grace: 60 };
    const { messages } = await world.ask(queueClaim, claim, 'configuration');
    const bodies = messages.map(({ body }) => ({ id: hostRequestSchema.parse(body).id, status_code: 0 }));
    const posted = bodies.map((body) => ({ body, ttl: 600 }));
    const post = { project: 'p1', queue: responses, client_id: 'host', messages: posted };
    if (posted.length > 0) await world.ask(queuePost, post, 'configuration');
    return posted.length > 0;
  };
  const filled = async ({ message }: { message: { data: unknown } }): Promise<void> => {
    if ((message.data as { queue: string }).queue === requests) while (await answerNext());
  };
  const listener = await context.bus.subscribe(['queue.filled'], filled, { group: 'willing' });
  closers.push(() => listener.stop());
  return id;
}

/** A node that its project owns, without a machine. */
const node = (id: string) => ({
  id,
  name: 'rack-one',
  driver: 'fake-hardware' as const,
  driver_info: {},
  resource_class: 'baremetal',
  traits: [],
  properties: {},
  extra: {},
  instance_info: {},
  interfaces: {},
  owner: 'p1',
  lessee: null,
  description: null,
  chassis_id: null,
  shard: null,
  provide: false,
  at_once: true,
});

/** The messages of all services so far. */
const sent: Envelope[] = [];

function noteMessages(bus: Bus): void {
  const [send, request] = [bus.send.bind(bus), bus.request.bind(bus)];
  vi.spyOn(bus, 'send').mockImplementation((given) => {
    sent.push(...(given.messages as Envelope[]));
    return send(given);
  });
  vi.spyOn(bus, 'request').mockImplementation((given) => {
    sent.push(given.message);
    return request(given);
  });
}

/** Signals each twin. */
async function signalAll(stack: string, { values, signal = {} }: TypeEntry): Promise<void> {
  const names = Object.keys(values).flatMap((property) => twins.map((twin) => twinName(twin, property)));
  await Promise.all(names.map((name) => world.signal(stack, name, signal)));
}

/** The resources beside them that these resources read. */
const readBy = (resources: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(surroundings).filter(([name]) => JSON.stringify(resources).includes(`{"get_resource":"${name}"}`)),
  );

/** Creates the twins of a type, and returns the id of their stack. */
async function createTwins(type: string, entry: TypeEntry): Promise<string> {
  const tried = twinResources(type, entry);
  const template = {
    heat_template_version: '2021-04-16',
    parameters: { hidden: { type: 'string', hidden: true }, host: { type: 'string' } },
    resources: { ...readBy(tried), ...tried },
  };
  const name = type.replaceAll('::', '-');
  const { id } = await world.create(name, {
    template: JSON.stringify(template),
    files: { 'inner.yaml': innerTemplate },
    environment: { resource_registry: { 'OS::Heat::ScaledResource': 'OS::Heat::None' } },
    parameters: { hidden: 'x', host },
  });
  if (!entry.waits) {
    const { status, failures } = await world.settled(id, 30_000);
    if (!entry.fails) expect([status, failures]).toEqual(['COMPLETE', []]);
  }
  return id;
}

interface Found {
  readonly property: string;
  readonly plain: Json;
  readonly secret: Json;
  /** The places that hold the secret open. */
  readonly leaks: readonly string[];
}

/** Everything that is stored about the twins of a stack. */
function recordsOf(stack: string, { values, names = [], opens }: TypeEntry): Found[] {
  const rows = storedRows(world.context);
  const resources = rows.flatMap(({ document }) =>
    document['stack_id'] === stack && 'physical_name' in document ? [document as unknown as TwinResource] : [],
  );
  return Object.keys(values).map((property) => {
    const [plain = null, secret = null] = twins.map((twin) => {
      const resource = resources.find((each) => each.name === twinName(twin, property));
      return resource ? recordOfTwin({ ...world.context, sent }, rows, resource) : null;
    });
    const id = resources.find((each) => each.name === twinName('secret', property))?.id;
    const leaks = rows.filter(
      ({ collection, document }) =>
        document['id'] === id &&
        !names.includes(property) &&
        !(opens && collection !== 'scheduling_resources') &&
        JSON.stringify(document).includes(secretWord),
    );
    return { property, plain, secret, leaks: leaks.map(({ collection }) => `${property} in ${collection}`) };
  });
}

const isWaiting = (record: Json): boolean => JSON.stringify(record).includes('"phase":"working"');

const cases = Object.values(servedTypes).flatMap((types) => types.map((type) => ({ name: type.type, type })));

/** `identity.test.ts` tries the types of the gateway. */
const tried = cases.filter(
  ({ name }) => !(name in identityEntries) && Object.keys(entries[name]?.values ?? {}).length > 0,
);

describe('a secret value of a property', () => {
  it('has an entry in the table for each property of each type', () => {
    const listed = (names: readonly string[]): string => names.toSorted().join(' ');
    const inTable = cases.map(({ name }) => {
      const { values = {}, fixed = {} } = entries[name] ?? {};
      return `${name}: ${listed([...Object.keys(values), ...Object.keys(fixed)])}`;
    });
    expect(inTable).toEqual(cases.map(({ name, type }) => `${name}: ${listed(Object.keys(type.properties))}`));
  });

  it.each(tried)(
    'of $name acts as a plain one',
    async ({ name }) => {
      const entry = entries[name] as TypeEntry;
      const stack = await createTwins(name, entry);
      if (entry.signal) await signalAll(stack, entry);
      const look = () => recordsOf(stack, entry);
      const began = () => look().every(({ plain, secret }) => [plain, secret].every((each) => isWaiting(each)));
      const signalled = () =>
        look().every(({ plain, secret }) =>
          [plain, secret].every((each) => /group\.adjust|execution\.start/.test(JSON.stringify(each))),
        );
      if (entry.signal) await eventually(signalled, { what: 'the effect of every signal', last: look });
      if (entry.waits) await eventually(began, { what: 'the wait of every twin', last: look });
      // The provider may be at work on one of the two. The comparison below shows a difference that stays.
      const agree = () => {
        const records = look();
        return records.every(({ plain, secret }) => isDeepStrictEqual(secret, plain)) ? records : undefined;
      };
      const found = await eventually(agree, { what: 'the same records' }).catch(look);
      for (const { property, plain, secret } of found) expect([property, secret]).toEqual([property, plain]);
      expect(found.flatMap(({ leaks }) => leaks)).toEqual([]);
    },
    60_000,
  );
});
