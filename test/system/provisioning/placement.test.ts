import { armFault, disarmFaults } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { nodeUpdate } from '@anneal/contracts/calls/nodes.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { portId } from '@anneal/contracts/port-id.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { ProvisioningWorld, type WorldOptions } from './provisioning-world.ts';

describe('placement in the lab', () => {
  let world: ProvisioningWorld | undefined;
  /** Machines 1 to n, two in each rack: a, b, … */
  const open = async (options: WorldOptions): Promise<ProvisioningWorld> => {
    world = await ProvisioningWorld.open(options);
    const names = world.lab.machines.map(({ state }) => state.name);
    for (const [at, name] of names.entries()) await world.enrol(name, { properties: { rack: rackOf(at) } });
    for (const name of names) await world.nodeIs(name, 'available');
    return world;
  };
  const rackOf = (at: number): string => 'abcdefgh'[Math.floor(at / 2)] ?? 'z';
  afterEach(async () => {
    disarmFaults();
    await world?.close();
    world = undefined;
  });

  const group = async (w: ProvisioningWorld, properties: JsonObject): Promise<string> => {
    const id = w.context.newId();
    await w.request('create', { id, fence: 1, type: 'OS::Nova::ServerGroup', properties });
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete', physical_id: id });
    return id;
  };
  const create = async (w: ProvisioningWorld, ids: readonly string[], hint: string): Promise<void> => {
    const properties = { flavor: 'm1.small', scheduler_hints: { group: hint } };
    await Promise.all(ids.map((id) => w.request('create', { id, fence: 1, properties })));
  };
  const newIds = (w: ProvisioningWorld, count: number): string[] =>
    Array.from({ length: count }, () => w.context.newId());
  /** The racks of the servers that have a node. */
  const racks = async (w: ProvisioningWorld, ids: readonly string[]): Promise<string[]> => {
    const nodes = await Promise.all(w.lab.machines.map(({ state }) => w.node(state.name)));
    return nodes
      .filter(({ instance_id: id }) => id !== null && ids.includes(id))
      .map(({ properties }) => (properties as Record<string, string>)['rack'] ?? '')
      .toSorted();
  };
  const completed = async (w: ProvisioningWorld, ids: readonly string[]): Promise<void> => {
    const answers = await Promise.all(ids.map((id) => w.answered(id, 1)));
    expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 'complete'));
  };
  const waiting = (w: ProvisioningWorld, ids: readonly string[], pattern: RegExp): Promise<string> =>
    eventually(
      () =>
        w.responses.find(({ resource_id: id, message }) => ids.includes(id) && pattern.test(message ?? ''))
          ?.resource_id,
      { what: `a server that waits: ${pattern.source}`, last: () => w.responses.map(({ message }) => message) },
    );

  it('G1: gives servers of an anti-affinity group different racks when two replicas place them at once', async () => {
    const w = await open({ machines: 6 });
    await w.start();
    const id = await group(w, { name: 'spread', policies: ['anti-affinity'] });
    const ids = newIds(w, 4);
    await create(w, ids, id);
    const late = await waiting(
      w,
      ids,
      /server group spread \(anti-affinity, at most 1 in one rack, used: a, b, c\) 0 of 6/,
    );
    const others = ids.filter((each) => each !== late);
    await completed(w, others);
    expect(await racks(w, ids)).toEqual(['a', 'b', 'c']);

    // The end of a server frees its place for the one that waits.
    const [gone = ''] = others;
    await w.request('delete', { id: gone, fence: 2 });
    await w.answered(gone, 2);
    await completed(w, [late]);
    expect(await racks(w, ids)).toEqual(['a', 'b', 'c']);
  });

  it('G2: keeps the rule when the process dies between reservation and claim', async () => {
    const w = await open({ machines: 4 });
    const id = await group(w, { policies: ['anti-affinity'] });
    const ids = newIds(w, 2);
    let reached = 0;
    const disarm = armFault('provisioning.group.reserved', () => {
      reached += 1;
      throw new Error('stopped after the reservation');
    });
    await create(w, ids, id);
    await eventually(() => reached >= 2 || undefined, { what: 'both reservations' });
    await w.stop();
    disarm();
    await w.start();
    await completed(w, ids);
    expect(await racks(w, ids)).toEqual(['a', 'b']);
  });

  it('G3: claims one node, in the place that it holds, when two replicas work on one request at once', async () => {
    const w = await open({ machines: 4 });
    await w.start();
    const id = await group(w, { policies: ['anti-affinity'] });
    const [first = '', second = ''] = newIds(w, 2);
    const both = Promise.withResolvers<void>();
    let reached = 0;
    armFault('provisioning.group.reserved', () => {
      reached += 1;
      if (reached === 2) both.resolve();
      return both.promise;
    });
    // Each repeat goes to one of the replicas.
    await eventually(() => create(w, [first], id).then(() => reached >= 2 || undefined), { what: 'both replicas' });
    await completed(w, [first]);
    await create(w, [second], id);
    await completed(w, [second]);
    expect(await racks(w, [first])).toHaveLength(1);
    expect(await racks(w, [first, second])).toEqual(['a', 'b']);
  });

  it('keeps the servers of an affinity group in one rack, and makes those beyond its size wait', async () => {
    const w = await open({ machines: 6 });
    const id = await group(w, { policies: ['affinity'] });
    const ids = newIds(w, 3);
    await create(w, ids, id);
    const late = await waiting(w, ids, /affinity, all in one rack: [abc]\)/);
    await completed(
      w,
      ids.filter((each) => each !== late),
    );
    const [first, second, third] = await racks(w, ids);
    expect([first, third]).toEqual([second, undefined]);
  });

  it('counts what its rules name, as many as they allow', async () => {
    const w = await open({ machines: 4 });
    const patch = [{ op: 'add' as const, path: '/properties/power_domain', value: 'p' }];
    for (const { state } of w.lab.machines) await w.ask(nodeUpdate, { node: state.name, patch });
    const rules = { domain: 'power_domain', max_server_per_host: 3 };
    const ids = newIds(w, 4);
    await create(w, ids, await group(w, { name: 'few', policies: ['anti-affinity'], rules }));
    // The racks would allow two, and the power domain allows three.
    const late = await waiting(w, ids, /anti-affinity, at most 3 .*power/);
    await completed(
      w,
      ids.filter((each) => each !== late),
    );
  });

  it('spreads a soft group as far as it goes, and refuses a group that does not exist', async () => {
    const w = await open({ machines: 4 });
    const ids = newIds(w, 4);
    await create(w, ids, await group(w, { policies: ['soft-anti-affinity'] }));
    await completed(w, ids);
    expect(await racks(w, ids)).toEqual(['a', 'a', 'b', 'b']);
    const [lost = ''] = newIds(w, 1);
    await create(w, [lost], 'no-such-group');
    expect(await w.answered(lost, 1)).toMatchObject({
      status: 'failed',
      error: { code: 'NotFound', message: expect.stringContaining('no server group no-such-group') as string },
    });
  });
});

describe('a port of a node', () => {
  let world: ProvisioningWorld | undefined;
  afterEach(async () => {
    await world?.close();
    world = undefined;
  });

  it('is declared, changed and removed by its resource; the project must own the node', async () => {
    const w = await ProvisioningWorld.open({ machines: 1 });
    world = w;
    await w.enrolAll();
    const before = (await w.node('machine-1')).properties['interfaces'] as JsonObject[];
    const id = w.context.newId();
    const type = 'OS::Ironic::Port';
    const shown = { local_link_connection: { port_id: 'eth1' }, is_smartnic: true, extra: { a: 'b' } };
    const place = { node: 'machine-1', address: '52:54:00:AA:BB:CC', physical_network: 'storage' };
    const properties = { ...place, ...shown };
    await w.request('create', { id, fence: 1, type, properties });
    expect(await w.answered(id, 1)).toMatchObject({
      status: 'failed',
      error: { code: 'Forbidden', message: expect.stringContaining('--owner p1') as string },
    });
    await w.ask(nodeUpdate, { node: 'machine-1', patch: [{ op: 'add', path: '/owner', value: 'p1' }] });
    await w.request('create', { id, fence: 2, type, properties });
    const created = await w.answered(id, 2);
    const { id: node } = await w.node('machine-1');
    expect(created).toMatchObject({
      status: 'complete',
      physical_id: portId(node, '52:54:00:aa:bb:cc'),
      attributes: {
        address: '52:54:00:aa:bb:cc',
        node_uuid: node,
        physical_network: 'storage',
        pxe_enabled: true,
        ...shown,
      },
    });
    const declared = { mac_address: '52:54:00:aa:bb:cc', network: 'storage', port: shown };
    expect((await w.node('machine-1')).properties['interfaces']).toMatchObject([...before, declared]);

    // An interface that the BMC reports keeps what the BMC says of it.
    const { mac_address: mac = '' } = (before[0] ?? {}) as Record<string, string>;
    const changed = { ...properties, address: mac, pxe_enabled: false };
    await w.request('update', { id, fence: 3, type, properties: changed, changed: ['address', 'pxe_enabled'] });
    expect(await w.answered(id, 3)).toMatchObject({ status: 'complete', attributes: { pxe_enabled: false } });
    const [first, ...rest] = (await w.node('machine-1')).properties['interfaces'] as JsonObject[];
    expect(first).toMatchObject({ ...before[0], network: 'storage', port: { resource: id, pxe_enabled: false } });
    expect(rest).toEqual(before.slice(1));

    await w.request('delete', { id, fence: 4, type, properties: changed });
    expect(await w.answered(id, 4)).toMatchObject({ status: 'complete' });
    expect((await w.node('machine-1')).properties['interfaces']).toEqual(before);
  });
});
