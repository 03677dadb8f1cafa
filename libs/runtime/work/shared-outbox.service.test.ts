import type { Bus } from '@anneal/bus/port.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { hostEvent } from '@anneal/contracts/events.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import type { Collection } from '@anneal/store/port.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTestContext, eventually, type TestContext } from '../testing.ts';
import type { WithOutbox } from './outbox.ts';
import { SharedOutbox } from './shared-outbox.ts';

interface Thing extends WithOutbox {
  readonly color: string;
}

let context: TestContext;
let collection: Collection<Thing>;
let sent: string[];
let isAway: boolean;
let opened: SharedOutbox<Thing>[];

beforeEach(async () => {
  context = await createTestContext({ name: 'configuration' });
  collection = await context.store.collection<Thing>({ name: 'things', indexes: [{ fields: ['unsent'] }] });
  sent = [];
  isAway = false;
  opened = [];
});
afterEach(async () => {
  for (const outbox of opened) await outbox.stop();
  await context.dispose();
});

function open(emptyAfterMs: number): SharedOutbox<Thing> {
  const bus: Bus = {
    ...context.bus,
    async publish(events) {
      if (isAway) throw new AnnealError('Unavailable', 'no broker');
      sent.push(...events.map(({ id }) => id));
      await context.bus.publish(events);
    },
  };
  const outbox = new SharedOutbox({ service: { bus, log: context.log }, collection, emptyAfterMs });
  opened.push(outbox);
  return outbox;
}

const outgoing = (id: string) => {
  const data = { origin: unknownOrigin(), host_id: 'h', name: 'h', status: 'up' as const, facts: {}, version: 1 };
  return { queue: null, message: context.mint(hostEvent.up, { id, subject: 'h', data }) };
};
const insert = (id: string, ...messages: string[]): Promise<Thing> =>
  collection.insert({ id, color: 'red', outbox: messages.map(outgoing), unsent: true });
const stored = async (id: string) => {
  const found = await collection.get(id);
  return found && { color: found.color, unsent: found.unsent, left: found.outbox.map(({ message }) => message.id) };
};

it('S1: sends at once, and empties the document later', async () => {
  const outbox = open(20);
  await outbox.flush(await insert('a', 'm1', 'm2'));
  expect(sent).toEqual(['m1', 'm2']);
  expect((await stored('a'))?.unsent).toBe(true);
  await eventually(async () => ((await stored('a'))?.unsent === false ? true : undefined), { what: 'an empty outbox' });
  expect(await stored('a')).toEqual({ color: 'red', unsent: false, left: [] });
});

it('leaves out of the next change what it has sent, and sends only the new message', async () => {
  const outbox = open(60_000);
  const first = await insert('a', 'm1');
  await outbox.flush(first);
  const next = { ...first, color: 'blue', outbox: [...outbox.rest(first), outgoing('m2')] };
  const changed = await collection.replace(next, first.version);
  expect(changed?.outbox.map(({ message }) => message.id)).toEqual(['m2']);
  await outbox.flush(changed!);
  expect(sent).toEqual(['m1', 'm2']);
});

it('S2: keeps a message that another writer added meanwhile', async () => {
  const outbox = open(60_000);
  const first = await insert('a', 'm1');
  await outbox.flush(first);
  // By another process, which does not know what this one has sent.
  await collection.replace({ ...first, color: 'blue', outbox: [...first.outbox, outgoing('m2')] }, first.version);
  await outbox.stop();
  expect(await stored('a')).toEqual({ color: 'blue', unsent: true, left: ['m2'] });
});

it('S2: keeps the messages that the broker did not accept, and does not count them as sent', async () => {
  const outbox = open(10);
  const document = await insert('a', 'm1');
  isAway = true;
  await expect(outbox.flush(document)).rejects.toMatchObject({ code: 'Unavailable' });
  expect(outbox.rest(document)).toHaveLength(1);
  await outbox.stop();
  expect(await stored('a')).toEqual({ color: 'red', unsent: true, left: ['m1'] });
});

it('S3: a stop empties every document with few writes', async () => {
  let writes = 0;
  const bulk = collection.bulk.bind(collection);
  collection.bulk = (operations) => {
    writes += 1;
    return bulk(operations);
  };
  const outbox = open(60_000);
  const ids = Array.from({ length: 300 }, (_, index) => `d${index}`);
  await Promise.all(ids.map(async (id) => outbox.flush(await insert(id, `m-${id}`))));
  await outbox.stop();
  expect(await collection.count({ unsent: true })).toBe(0);
  expect(writes).toBe(2);
});

it('forgets a document that was removed meanwhile', async () => {
  const outbox = open(60_000);
  await outbox.flush(await insert('a', 'm1'));
  await collection.remove('a');
  await outbox.stop();
  expect(await stored('a')).toBeUndefined();
});
