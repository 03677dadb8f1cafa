import { createTestContext, eventually } from '@anneal/runtime/testing.ts';
import type { Draft } from '@anneal/store/port.ts';
import { expect, it } from 'vitest';
import { nodesDefinition, type NodeDocument } from './node.ts';
import { NodeRecords } from './records.ts';

const older = {
  id: 'n',
  name: 'n',
  state: 'available',
  properties: {},
  instance_info: { project: 'p1' },
  claims: { given: 'a', place: 'b', machine: 'c', serial: null },
};

it('N2: publishes the events that an earlier version left in its outbox, with their ids', async () => {
  const context = await createTestContext({ name: 'provisioning' });
  const heard: { id: string; type: string; project: string | undefined }[] = [];
  const listener = await context.bus.subscribe(['node.#'], async ({ message: { id, type, project } }) => {
    heard.push({ id, type, project });
  });
  const data = {
    node_id: 'n',
    name: 'n',
    provision_state: 'available',
    power_state: null,
    instance_id: null,
    fault: null,
    reason: '',
    version: 2,
  };
  const collection = await context.store.collection<NodeDocument>(nodesDefinition);
  await collection.insert({ ...older, outbox: [{ id: 'e1', kind: 'state', data }] } as unknown as Draft<NodeDocument>);
  const records = await NodeRecords.open(context);
  const publishing = await records.keepPublishing();
  await eventually(() => heard[0], { what: 'the event' });
  expect(heard).toEqual([{ id: 'e1', type: 'node.provision.changed', project: 'p1' }]);
  expect(await records.get('n')).toMatchObject({ outbox: [], unsent: false });
  await publishing.stop();
  await listener.stop();
  await context.dispose();
});

it('counts nodes by state and by fault', async () => {
  const context = await createTestContext({ name: 'provisioning' });
  const records = await NodeRecords.open(context);
  const nodes = [
    ['a', 'available', null],
    ['b', 'active', 'power failure'],
    ['c', 'active', 'power failure'],
    ['d', 'clean failed', 'clean failure'],
  ] as const;
  for (const [id, state, fault] of nodes) {
    const claims = { given: id, place: id, machine: id, serial: null };
    const draft = { ...older, id, name: id, state, fault, claims, instance_claim: id };
    await records.collection.insert(draft as unknown as Draft<NodeDocument>);
  }
  expect(Object.fromEntries(await records.countByState())).toEqual({ available: 1, active: 2, 'clean failed': 1 });
  expect(Object.fromEntries(await records.countByFault())).toEqual({
    'power failure': 2,
    'clean failure': 1,
    'identity mismatch': 0,
  });
  await context.dispose();
});

it('N3: gives an instance one node, also when two processes claim at once, and another one when it has left that', async () => {
  const context = await createTestContext({ name: 'provisioning' });
  const records = await NodeRecords.open(context);
  for (const id of ['a', 'b', 'c']) {
    const claims = { given: id, place: id, machine: id, serial: null };
    const draft = { ...older, id, name: id, instance_id: null, claims, instance_claim: id, outbox: [] };
    await records.collection.insert(draft as unknown as Draft<NodeDocument>);
  }
  const claim = async (node: string, instance: string): Promise<string | undefined> => {
    const claimed = await records.claim(node, instance, ({ instance_id: holder }) =>
      holder === null ? { instance_id: instance } : undefined,
    );
    return claimed?.id;
  };
  const [one, two] = await Promise.all([claim('a', 's1'), claim('b', 's1')]);
  expect(['a', 'b']).toContain(one);
  expect(two).toBe(one);
  expect(await claim('c', 's2')).toBe('c');
  expect((await records.all()).filter(({ instance_id: holder }) => holder === 's1')).toHaveLength(1);
  await records.change(one ?? '', () => ({ instance_id: null }));
  const other = one === 'a' ? 'b' : 'a';
  expect(await claim(other, 's1')).toBe(other);
  await context.dispose();
});
