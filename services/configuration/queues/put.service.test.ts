/** Messages that arrive together: they are stored together, in order, and their host is changed once. */
import * as hostCalls from '@anneal/contracts/calls/hosts.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import { Serial } from '@anneal/runtime/work/serial.ts';
import type { Store } from '@anneal/store/port.ts';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { openConfigurationCollections } from '../collections.ts';
import { createRig, project } from '../testing/running-service.ts';
import type { QueueLimits } from './limits.ts';
import { openQueue } from './message-queue.ts';
import { putMessages } from './put.ts';
import type { QueueContext } from './queue.ts';
import { createPuts } from './waiting-puts.ts';

let context: TestContext;
/** The calls of the store: `collection method`. */
let calls: string[];
beforeEach(async () => {
  context = await createTestContext({ name: 'configuration' });
  calls = [];
});
afterEach(() => context.dispose());

/** The store of the context; it notes the calls of its collections. */
const noting = (): Store => ({
  blobs: context.store.blobs,
  check: () => context.store.check(),
  close: () => context.store.close(),
  collection: async (definition) =>
    new Proxy(await context.store.collection<never>(definition), {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...given: unknown[]) => {
          calls.push(`${definition.name} ${String(name)}`);
          return Reflect.apply(method, target, given) as unknown;
        };
      },
    }),
});

const limits = (most: number): QueueLimits => ({
  admitQueue: (_project, _admission, store) => store(),
  messages: { most, setting: 'MESSAGES' },
  bytes: { most: 1_000_000, setting: 'BYTES' },
  post: { most: 1_000_000, setting: 'POST' },
  deadLetterSeconds: { most: 60, setting: 'SECONDS' },
});

async function opened(): Promise<QueueContext> {
  return {
    collections: await openConfigurationCollections(noting()),
    secrets: context.secrets,
    serial: new Serial(),
    puts: createPuts(),
    cachedQueues: new Recent(10),
    now: () => Date.now(),
    wake: () => Promise.resolve(),
    onFirst: () => Promise.resolve(),
    limits: limits(100),
  };
}

const queue = openQueue(project, 'mine');
const put = (queues: QueueContext, id: string, given: { limits?: QueueLimits } = {}) =>
  putMessages(queues, { queue, client_id: 'sender', messages: [{ id, body: id, ttl: 600 }], ...given });
const countOf = (call: string): number => calls.filter((each) => each === call).length;

it('P1: stores the calls that wait together, in their order', async () => {
  const queues = await opened();
  const ids = Array.from({ length: 20 }, (_, index) => `m${index}`);
  const stored = await Promise.all(ids.map((id) => put(queues, id)));
  expect(stored.map((messages) => messages.map(({ id, sequence, body }) => [id, sequence, body]))).toEqual(
    ids.map((id, index) => [[id, index + 1, id]]),
  );
  // The first call begins at once, and the other nineteen are the second group.
  expect(countOf('configuration_messages bulk')).toBe(2);
  expect(countOf('configuration_queues replace')).toBe(2);
});

it('Q2: a message that two waiting calls add exists once', async () => {
  const queues = await opened();
  const stored = await Promise.all(['a', 'b', 'b', 'a'].map((id) => put(queues, id)));
  expect(stored.map((messages) => messages.map(({ sequence }) => sequence))).toEqual([[1], [2], [2], [1]]);
});

it('P2: accepts as many waiting calls as the limit of the queue allows', async () => {
  const queues = await opened();
  const outcomes = await Promise.allSettled(
    ['a', 'b', 'c', 'd', 'e'].map((id) => put(queues, id, { limits: limits(3) })),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected']);
  expect(outcomes[3]).toMatchObject({ reason: { code: 'LimitReached' } });
});

it('a host that says hello many times at once is recorded once', async () => {
  // A contact is written again after five seconds, so the clock stands still.
  const at = new Date();
  const rig = await createRig({ store: noting(), now: () => at });
  onTestFinished(() => rig.dispose());
  const { id } = await rig.host('web');
  calls.length = 0;
  await Promise.all(Array.from({ length: 20 }, () => rig.post(id, { hello: true, facts: { rack: 'a' } })));
  expect(await rig.ask(hostCalls.hostShow, { host: id })).toMatchObject({ status: 'up', facts: { rack: 'a' } });
  // The host with its event, and without it when the event is sent.
  expect(countOf('configuration_hosts replace')).toBeLessThanOrEqual(4);
});
