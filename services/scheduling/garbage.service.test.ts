import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { afterEach, expect, it } from 'vitest';
import { stackAct, stackList } from '@anneal/contracts/calls/stacks.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { literal, openHarness, planWith, project, resource, type Harness } from './testing/running-service.ts';

useQuickClock({ stepMs: 20 });

let harness: Harness;
afterEach(() => harness.dispose());

const planOf = (value: string) => planWith([resource('r', { value: literal(value) })]);
const isThere = async (hash: string): Promise<boolean> => (await harness.context.store.blobs.get(hash)) !== undefined;
/** Waits until the content is removed. */
const gone = (hash: string) =>
  eventually(async () => !(await isThere(hash)) || undefined, { what: `the end of ${hash}` });
const hashOf = (value: string) => harness.context.store.blobs.put(JSON.stringify(planOf(value)));

it('the sweep removes contents of a deleted stack, and keeps those of other stacks and snapshots', async () => {
  harness = await openHarness({ settings: { garbageSeconds: 1 } });
  const [own, shared, kept] = await Promise.all(['own', 'shared', 'kept'].map(hashOf));
  const one = await harness.create('one', planOf('own'));
  const two = await harness.create('two', planOf('shared'));
  const three = await harness.create('three', planOf('shared'));
  const four = await harness.create('four', planOf('kept'));
  for (const { id } of [one, two, three, four]) await harness.settled(id);
  await harness.ask(stackAct, { project, stack: four.id, action: { kind: 'snapshot', id: 'snap', name: 'snap' } });
  await harness.settled(four.id);
  await harness.update(four.id, planOf('later'));
  await harness.settled(four.id);
  await Promise.all([harness.remove(one.id), harness.remove(two.id)]);
  await gone(own as string);
  expect(await isThere(shared as string)).toBe(true);
  expect(await isThere(kept as string)).toBe(true);
  // The record of the deleted stack is still readable, and the stack with the snapshot can be restored.
  const { stacks } = await harness.ask(stackList, { project, deleted: true });
  expect(stacks.map(({ name }) => name).toSorted()).toEqual(['four', 'one', 'three', 'two']);
  expect(await harness.settled(one.id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
  await harness.ask(stackAct, { project, stack: four.id, action: { kind: 'restore', snapshot: 'snap' } });
  expect(await harness.settled(four.id)).toMatchObject({ action: 'RESTORE', status: 'COMPLETE' });
  await harness.remove(three.id);
  await gone(shared as string);
});

it('the sweep removes the old plan once no revision has it', async () => {
  harness = await openHarness({ settings: { garbageSeconds: 1, revisions: 2 } });
  const before = await hashOf('before');
  const { id } = await harness.create('one', planOf('before'));
  await harness.settled(id);
  const after = await hashOf('after');
  for (const value of ['after', 'last']) {
    await harness.update(id, planOf(value));
    await harness.settled(id);
  }
  await gone(before);
  expect(await isThere(after)).toBe(true);
  expect(await harness.settled(id)).toMatchObject({ status: 'COMPLETE' });
});
