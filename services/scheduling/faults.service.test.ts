import { afterEach, describe, expect, it } from 'vitest';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { stackEvents } from '@anneal/contracts/calls/stacks.ts';
import { stackResources } from '@anneal/contracts/calls/resources.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callOf, literal, openHarness, planWith, project, resource, type Harness } from './testing/running-service.ts';

const points = [
  'scheduling.recorded',
  'scheduling.sent',
  'scheduling.written',
  'scheduling.published',
  'scheduling.closed',
  'scheduling.replied',
  'provider.answered',
];

const plan = (value: string) =>
  planWith([
    resource('a', { value: literal(value) }, { type: 'OS::Heat::TestResource' }),
    resource('b', { value: callOf('get_attr', 'a', 'output') }, { type: 'OS::Heat::TestResource', requires: ['a'] }),
    resource('c', { value: callOf('get_attr', 'a', 'output') }, { requires: ['a'] }),
  ]);

/** Whether a fault point is passed only once per resource. */
const ofProvider = (point: string): boolean => point.includes('provider');

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Collects the published events. An event may come twice, but two events never share an id. */
async function listen(context: TestContext): Promise<Map<string, Envelope>> {
  const heard = new Map<string, Envelope>();
  await context.bus.subscribe(['stack.#', 'resource.#'], async ({ message }) => {
    heard.set(message.id, message);
  });
  return heard;
}

async function expectWhole(harness: Harness, id: string): Promise<void> {
  const { events } = await harness.ask(stackEvents, { project, stack: id, descending: false });
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  const ends = events.filter(({ status }) => status !== 'IN_PROGRESS').map((e) => `${e.resource_name} ${e.action}`);
  expect(new Set(ends).size, ends.join()).toBe(ends.length);
}

describe.each(points)('a process that dies at %s', (point) => {
  it('gets its messages delivered again, and the stack reaches the same end', async () => {
    const harness = await openHarness();
    cleanups.push(() => harness.dispose());
    const heard = await listen(harness.context);
    let left = ofProvider(point) ? 1 : 2;
    cleanups.push(
      armFault(point, () => {
        if ((left -= 1) >= 0) throw new Error(`fault ${point}`);
      }),
    );
    const id = harness.context.newId();
    await harness.create('s', plan('x'), { id }).catch(() => undefined);
    expect(await harness.settled(id)).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
    // A reader sees the complete stack before the process passes the last of these points.
    await eventually(() => (left < 0 ? true : undefined), { last: () => left });
    await harness.update(id, plan('y'));
    expect(await harness.settled(id)).toMatchObject({ action: 'UPDATE', status: 'COMPLETE' });
    const { resources } = await harness.ask(stackResources, { project, stack: id, detail: true });
    expect(resources.map(({ attributes }) => attributes)).toEqual([{ output: 'y' }, { output: 'y' }, { value: 'y' }]);
    await harness.remove(id);
    expect(await harness.settled(id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
    await expectWhole(harness, id);
    const { events } = await harness.ask(stackEvents, { project, stack: id, descending: false });
    await eventually(() => (heard.size === events.length ? true : undefined), { last: () => heard.size });
    expect([...heard.keys()]).toEqual(events.map((event) => event.id));
  });

  it('leaves enough for a new process to reach the same end', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'anneal-faults-'));
    cleanups.push(() => rm(directory, { recursive: true, force: true }));
    const first = await openHarness({ context: await createTestContext({ name: 'scheduling', directory }) });
    let hit = 0;
    let after = ofProvider(point) ? 0 : 1;
    const disarm = armFault(point, () => {
      if ((after -= 1) >= 0) return;
      hit += 1;
      throw new Error(`fault ${point}`);
    });
    cleanups.push(disarm);
    const id = first.context.newId();
    await first.create('s', plan('x'), { id });
    await eventually(() => (hit > 0 ? true : undefined), { what: `the fault ${point}` });
    await first.dispose();
    disarm();
    const second = await openHarness({ context: await createTestContext({ name: 'scheduling', directory }) });
    cleanups.push(() => second.dispose());
    expect(await second.settled(id)).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
    await expectWhole(second, id);
    const journal = await second.context.store.collection({
      name: 'scheduling_journal',
      indexes: [{ fields: ['open', 'shard'] }],
    });
    await eventually(async () => ((await journal.count({ open: true })) === 0 ? true : undefined), {
      what: 'no open record',
    });
  });
});

describe('a process that dies between two steps of one message', () => {
  const point = 'scheduling.proceeded';
  const large = planWith(Array.from({ length: 1000 }, (_, index) => resource(`r${index}`, { value: literal(index) })));

  it('continues from the last recorded step when the message is delivered again', async () => {
    const harness = await openHarness();
    cleanups.push(() => harness.dispose());
    let hit = 0;
    cleanups.push(
      armFault(point, () => {
        if ((hit += 1) <= 2) throw new Error(`fault ${point}`);
      }),
    );
    const id = harness.context.newId();
    await harness.create('s', large, { id });
    expect(await harness.settled(id)).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
    await eventually(() => (hit > 2 ? true : undefined), { what: 'a third step without input', last: () => hit });
    await harness.remove(id);
    expect(await harness.settled(id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
  });

  it('leaves enough for a new process to reach the same end', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'anneal-faults-'));
    cleanups.push(() => rm(directory, { recursive: true, force: true }));
    const first = await openHarness({ context: await createTestContext({ name: 'scheduling', directory }) });
    let hit = 0;
    const disarm = armFault(point, () => {
      hit += 1;
      throw new Error(`fault ${point}`);
    });
    cleanups.push(disarm);
    const id = first.context.newId();
    await first.create('s', large, { id });
    await eventually(() => (hit > 0 ? true : undefined), { what: `the fault ${point}` });
    await first.dispose();
    disarm();
    const second = await openHarness({ context: await createTestContext({ name: 'scheduling', directory }) });
    cleanups.push(() => second.dispose());
    expect(await second.settled(id)).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
    const { resources } = await second.ask(stackResources, { project, stack: id, detail: false });
    expect(new Set(resources.map(({ name, status }) => `${name} ${status}`)).size).toBe(1000);
  });
});
