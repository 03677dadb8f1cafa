/** Data of an older version: real documents of nodes that were enrolled twice for one machine. */
import { readFile } from 'node:fs/promises';
import { nodeEvent, type NodeEventData } from '@anneal/contracts/events.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { DuplicateError } from '@anneal/store/port.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { missingClaims, type Older } from './claims.ts';
import { unclaimedDefinition, type NodeDocument } from './node.ts';
import { NodeRecords } from './records.ts';
import { identityFault } from './identity.ts';

const file = new URL('../testdata/nodes-without-claims.json', import.meta.url);
const { nodes } = JSON.parse(await readFile(file, 'utf8')) as { nodes: (Older & { id: string })[] };
const older = (name: string, change: Partial<NodeDocument> = {}): Older => {
  const node = nodes.find((each) => each.name === name);
  if (!node) throw new Error(`no node ${name}`);
  return { ...node, ...change, version: 1 };
};
const decided = (...given: readonly Older[]) =>
  Object.fromEntries(
    missingClaims(given, { placeholders: new Set(), now: '2026-01-01T00:00:00.000Z' }).map(({ node, change }) => [
      node.name,
      change.last_error?.message ?? 'keeps the machine',
    ]),
  );

describe('a node without claims', () => {
  it('keeps its machine when it is the older node or has a server', () => {
    expect(decided(older('twin'), older('machine-1'))).toEqual({
      'machine-1': 'keeps the machine',
      twin: expect.stringContaining('same machine as node machine-1') as string,
    });
    expect(decided(older('machine-2'), older('other'))).toEqual({
      'machine-2': expect.stringContaining('same machine as node other') as string,
      other: 'keeps the machine',
    });
  });

  it('counts as the same machine by UUID, by location, or by serial number when a UUID is missing', () => {
    const noUuid = { ...older('machine-1').properties, system_uuid: null };
    const elsewhere = { address: 'https://elsewhere', system_id: '/redfish/v1/Systems/9' };
    for (const twin of [
      older('alias'),
      older('twin', { properties: {} }),
      older('twin', { properties: noUuid, ...elsewhere }),
    ])
      expect(decided(older('machine-1'), twin)[twin.name]).toContain('same machine as node machine-1');
    const claimed = {
      ...older('machine-1', { instance_claim: 'machine-1' }),
      ...missingClaims([older('machine-1')], { placeholders: new Set(), now: '' })[0]?.change,
    };
    expect(decided(claimed as Older, older('alias', { created_at: '2000-01-01T00:00:00.000Z' }))).toEqual({
      alias: expect.stringContaining('same machine as node machine-1') as string,
    });
  });

  it('counts as another machine when both report the same placeholder', () => {
    const uuid = older('machine-1').properties['system_uuid'] as string;
    const properties = { ...older('machine-2').properties, system_uuid: uuid };
    const two = [older('machine-1'), older('machine-2', { properties })];
    const faults = (placeholders: ReadonlySet<string>) =>
      missingClaims(two, { placeholders, now: '' }).map(({ change }) => change.fault ?? null);
    expect(faults(new Set())).toEqual([null, identityFault]);
    expect(faults(new Set([uuid]))).toEqual([null, null]);
  });
});

describe('a node without the claim of its instance', () => {
  it('gets it, and of two nodes of one server only the older', () => {
    const server = { instance_id: 's1', state: 'active' } as const;
    const two = [older('machine-2', { ...server, created_at: '2030-01-01T00:00:00.000Z' }), older('machine-1', server)];
    const changes = (given: readonly Older[]) =>
      missingClaims(given, { placeholders: new Set(), now: '' }).map(({ node, change }) => [
        node.name,
        change.instance_id,
      ]);
    expect(changes(two)).toEqual([
      ['machine-1', 's1'],
      ['machine-2', undefined],
    ]);
    const { claims } = missingClaims([older('machine-2')], { placeholders: new Set(), now: '' })[0]?.change ?? {};
    const later = { ...older('machine-2', server), ...(claims && { claims }) };
    expect(missingClaims([later], { placeholders: new Set(), now: '' })).toEqual([
      { node: later, change: { instance_id: 's1' } },
    ]);
    expect(changes([{ ...later, instance_claim: 's1' }])).toEqual([]);
  });
});

describe('nodes from an older version', () => {
  let context: TestContext;
  beforeEach(async () => {
    context = await createTestContext({ name: 'provisioning' });
    const collection = await context.store.collection<NodeDocument>(unclaimedDefinition);
    for (const { version: _, ...node } of nodes as unknown as NodeDocument[]) await collection.insert(node);
  });
  afterEach(() => context.dispose());

  it('get one node per machine when two replicas start at once, and the other nodes get a fault with the reason', async () => {
    const events: NodeEventData[] = [];
    await context.bus.subscribe([nodeEvent.faultChanged.type], ({ message }) => {
      events.push(message.data as NodeEventData);
      return Promise.resolve();
    });
    const [one] = await Promise.all([NodeRecords.open(context), NodeRecords.open(context)]);
    const all = await one.all();
    const faulty = all.filter(({ fault }) => fault === identityFault);
    expect(
      faulty.map((node) => [
        node.name,
        node.last_error?.code,
        /as (node [^ ]+)/.exec(node.last_error?.message ?? '')?.[1],
      ]),
    ).toEqual([
      ['alias', 'AlreadyExists', 'node machine-1'],
      ['machine-2', 'AlreadyExists', 'node other'],
      ['raw', 'AlreadyExists', 'node machine-3'],
      ['twin', 'AlreadyExists', 'node machine-1'],
    ]);
    expect(new Set(all.map(({ claims }) => claims.machine)).size).toBe(all.length);
    expect(all.map((node) => node.instance_claim)).toEqual(all.map((node) => node.instance_id ?? node.id));
    await eventually(() => (new Set(events.map(({ name }) => name)).size === 4 ? true : undefined));
    const again = await NodeRecords.open(context);
    expect((await again.all()).map(({ version }) => version)).toEqual((await one.all()).map(({ version }) => version));
  });

  it('block a new node only from a machine that another node has', async () => {
    const records = await NodeRecords.open(context);
    const draft = {
      ...(await records.find('machine-1')),
      id: 'new',
      name: 'new',
      outbox: [],
    } as unknown as NodeDocument;
    await expect(records.insert(draft)).rejects.toBeInstanceOf(DuplicateError);
    const free = { given: 'g', place: 'p', machine: 'm', serial: null };
    await expect(records.insert({ ...draft, claims: free })).resolves.toMatchObject({ name: 'new' });
  });
});
