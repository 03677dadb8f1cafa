/** Nodes without a machine, assets and allocations, with a real bus and a real store. */
import {
  allocationCreate,
  allocationList,
  allocationRemove,
  allocationShow,
  type AllocationView,
} from '@anneal/contracts/calls/allocations.ts';
import {
  assetChange,
  assetCreate,
  assetList,
  assetRemove,
  assetShow,
  type AssetKind,
  type AssetView,
} from '@anneal/contracts/calls/assets.ts';
import {
  driverList,
  nodeEnrol,
  nodePower,
  nodeProvision,
  nodeRemove,
  nodeShow,
  nodeUpdate,
  type NodeView,
} from '@anneal/contracts/calls/nodes.ts';
import {
  nodeBootDevice,
  nodeBootDeviceSet,
  nodeLightsSet,
  nodeLights,
  nodeSensors,
} from '@anneal/contracts/calls/node-hardware.ts';
import type { ProvisionVerb } from '@anneal/contracts/node-choices.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { v7 } from 'uuid';
import { afterEach, describe, expect, it } from 'vitest';
import { ProvisioningWorld } from './provisioning-world.ts';

const allowed = { ANNEAL_PROVISIONING_TEST_DRIVER: 'true' };
let world: ProvisioningWorld | undefined;
const open = async (settings: Record<string, string> = allowed): Promise<ProvisioningWorld> =>
  (world = await ProvisioningWorld.open({ machines: 0, settings }));
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const enrol = (w: ProvisioningWorld, name: string, more: Partial<NodeView> & { at_once?: boolean } = {}) =>
  w.ask(nodeEnrol, {
    id: crypto.randomUUID(),
    name,
    driver: 'fake-hardware',
    driver_info: {},
    resource_class: 'baremetal',
    traits: more.traits ?? [],
    properties: {},
    extra: {},
    instance_info: {},
    owner: null,
    lessee: null,
    description: null,
    chassis_id: more.chassis_id ?? null,
    shard: null,
    interfaces: {},
    provide: false,
    at_once: more.at_once ?? false,
  });
const send = (w: ProvisioningWorld, node: string, target: ProvisionVerb) => w.ask(nodeProvision, { node, target });
const reach = (w: ProvisioningWorld, node: string, state: NodeView['provision_state']) =>
  eventually(
    async () => {
      const shown = await w.ask(nodeShow, { node });
      return shown.provision_state === state && shown.reservation === null ? shown : undefined;
    },
    { what: `${node} in ${state}` },
  );

describe('a node without a machine', () => {
  it('is refused unless the setting allows it', async () => {
    const w = await open({});
    expect(await w.ask(driverList, {})).toEqual({ drivers: ['redfish', 'ipmi'] });
    await expect(enrol(w, 'fake-1')).rejects.toThrow('ANNEAL_PROVISIONING_TEST_DRIVER');
  });

  it('goes through the states of a machine, and stays what it is after a restart', async () => {
    const w = await open();
    await enrol(w, 'fake-1');
    for (const [verb, state] of [
      ['manage', 'manageable'],
      ['inspect', 'manageable'],
      ['provide', 'available'],
      ['deploy', 'active'],
      ['rescue', 'rescue'],
      ['unrescue', 'active'],
    ] as const) {
      await send(w, 'fake-1', verb);
      await reach(w, 'fake-1', state);
    }
    await w.ask(nodeUpdate, { node: 'fake-1', patch: [{ op: 'add', path: '/instance_info/kept', value: 1 }] });
    await w.stop();
    await w.start();
    const active = await reach(w, 'fake-1', 'active');
    expect(active).toMatchObject({ power_state: 'power on', bmc: null, instance_info: { kept: 1 } });
    await send(w, 'fake-1', 'deleted');
    expect((await reach(w, 'fake-1', 'available')).instance_info).toEqual({});
    await w.ask(nodeRemove, { node: 'fake-1' });
    const types = () => w.events.map(({ type }) => type);
    await eventually(() => types().includes('node.removed') || undefined, { what: 'the events', last: types });
    expect([types()[0], types().at(-1)]).toEqual(['node.enrolled', 'node.removed']);
    expect(types()).toEqual(expect.arrayContaining(['node.provision.changed', 'node.power.changed']));
  });

  it('gets no server of a stack', async () => {
    const w = await open();
    await enrol(w, 'fake-1', { at_once: true });
    await w.ask(nodePower, { node: 'fake-1', target: 'power off' });
    await eventually(async () => (await w.node('fake-1')).power_state ?? undefined, { what: 'its power' });
    const id = w.context.newId();
    await w.request('create', { id, fence: 1 });
    const waiting = await eventually(() => w.responses.find(({ resource_id }) => resource_id === id), {
      what: 'the response',
    });
    expect(JSON.stringify(waiting)).toContain('with a machine 0 of 1');
  });

  it('keeps boot device, light and console, and refuses those that do not exist', async () => {
    const w = await open();
    await enrol(w, 'fake-1');
    const set = (change: object) => w.ask(nodeLightsSet, { node: 'fake-1', ...change });
    await w.ask(nodeBootDeviceSet, { node: 'fake-1', device: 'disk', persistent: true });
    expect(await w.ask(nodeBootDevice, { node: 'fake-1' })).toMatchObject({ device: 'disk', persistent: true });
    expect(await w.ask(nodeSensors, { node: 'fake-1' })).toEqual({ sensors: [] });
    await set({ indicator: { name: 'led@system', state: 'BLINKING' }, console: true });
    expect(await w.ask(nodeLights, { node: 'fake-1' })).toEqual({ indicators: { 'led@system': 'blinking' } });
    expect((await w.node('fake-1')).console_enabled).toBe(true);
    await expect(set({ indicator: { name: 'led@roof', state: 'on' } })).rejects.toThrow('There is no indicator');
    const patch = [{ op: 'replace' as const, path: '/driver', value: 'redfish' }];
    await expect(w.ask(nodeUpdate, { node: 'fake-1', patch })).rejects.toThrow(
      /fake-1 keeps the driver|redfish_address/,
    );
  });
});

describe('assets', () => {
  /** The ids are in the order of the calls, because a list orders what was made in one millisecond by its ids. */
  const create = (w: ProvisioningWorld, kind: AssetKind, fields: JsonObject): Promise<AssetView> =>
    w.ask(assetCreate, { id: v7(), kind, fields });

  it('are declared, listed page by page, changed and removed, each with an event', async () => {
    const w = await open();
    const made = [];
    for (const description of ['a', 'b', 'c']) made.push(await create(w, 'chassis', { description }));
    const [first, second] = made;
    const page = await w.ask(assetList, { kind: 'chassis', limit: 2 });
    expect(page.assets.map(({ id }) => id)).toEqual([first?.id, second?.id]);
    const next = await w.ask(assetList, { kind: 'chassis', marker: second?.id ?? '' });
    expect(next.assets.map(({ fields }) => fields['description'])).toEqual(['c']);
    const patch = [{ op: 'replace' as const, path: '/description', value: 'z' }];
    const changed = await w.ask(assetChange, { kind: 'chassis', asset: first?.id ?? '', patch });
    expect(changed).toMatchObject({ fields: { description: 'z', extra: {} }, updated_at: expect.any(String) });
    await w.ask(assetRemove, { kind: 'chassis', asset: first?.id ?? '' });
    await expect(w.ask(assetShow, { kind: 'chassis', asset: first?.id ?? '' })).rejects.toThrow('There is no chassis');
    const types = () => w.events.filter(({ data }) => data['asset_id'] === first?.id).map(({ type }) => type);
    await eventually(() => types().includes('asset.removed') || undefined, { what: 'the events', last: types });
    expect(types()).toEqual(['asset.created', 'asset.changed', 'asset.removed']);
  });

  it('are refused with every mistake, and when another has the address, the name or the boot index', async () => {
    const w = await open();
    const { id: node_uuid } = await enrol(w, 'fake-1');
    const wrong = create(w, 'port', { node_uuid, address: 'zz', speed: 10, pxe_enabled: 'maybe' });
    await expect(wrong).rejects.toMatchObject({
      mistakes: [{ path: 'address' }, { path: 'pxe_enabled' }, { path: '' }],
    });
    await create(w, 'port', { node_uuid, address: '52:54:00:AA:00:01', name: 'p' });
    await expect(create(w, 'port', { node_uuid, address: '52:54:00:aa:00:01' })).rejects.toThrow('MAC address');
    await expect(create(w, 'port', { node_uuid, address: '52:54:00:aa:00:02', name: 'p' })).rejects.toThrow('name p');
    const volume = { node_uuid, volume_type: 'iscsi', volume_id: 'v', boot_index: 0 };
    await create(w, 'volume target', volume);
    await expect(create(w, 'volume target', volume)).rejects.toThrow('boot index 0');
    const nowhere = { node_uuid: crypto.randomUUID(), address: '52:54:00:aa:00:03' };
    await expect(create(w, 'port', nowhere)).rejects.toThrow('could not be found');
  });

  it('stay while something is in them, and go with their node', async () => {
    const w = await open();
    const chassis = await create(w, 'chassis', {});
    const { id: node_uuid } = await enrol(w, 'fake-1', { chassis_id: chassis.id });
    const group = await create(w, 'port group', { node_uuid, name: 'bond0' });
    const port = { node_uuid, portgroup_uuid: group.id, physical_network: 'a' };
    await create(w, 'port', { ...port, address: '52:54:00:aa:00:01' });
    const other = create(w, 'port', { ...port, address: '52:54:00:aa:00:02', physical_network: 'b' });
    await expect(other).rejects.toThrow('physical network');
    await expect(w.ask(assetRemove, { kind: 'port group', asset: 'bond0' })).rejects.toThrow('contains ports');
    await expect(w.ask(assetRemove, { kind: 'chassis', asset: chassis.id })).rejects.toThrow('contains nodes');
    await w.ask(nodeRemove, { node: 'fake-1' });
    expect(await w.ask(assetList, { kind: 'port' })).toEqual({ assets: [] });
    await w.ask(assetRemove, { kind: 'chassis', asset: chassis.id });
  });
});

describe('allocations', () => {
  const create = (w: ProvisioningWorld, fields: Partial<AllocationView> & { node?: string } = {}) =>
    w.ask(allocationCreate, {
      id: crypto.randomUUID(),
      name: null,
      resource_class: 'baremetal',
      traits: [],
      candidate_nodes: [],
      extra: {},
      owner: null,
      ...fields,
    });
  const ended = (w: ProvisioningWorld, { id }: AllocationView) =>
    eventually(
      async () => {
        const shown = await w.ask(allocationShow, { allocation: id });
        return shown.state === 'allocating' ? undefined : shown;
      },
      { what: 'the end of the allocation' },
    );
  const ready = async (w: ProvisioningWorld, name: string, more: Partial<NodeView> = {}) => {
    await enrol(w, name, { ...more, at_once: true });
    await w.ask(nodePower, { node: name, target: 'power off' });
    return eventually(async () => ((await w.node(name)).power_state ? w.node(name) : undefined), { what: 'its power' });
  };

  it('get the node that fits, and release it', async () => {
    const w = await open();
    await ready(w, 'fake-1');
    const second = await ready(w, 'fake-2', { traits: ['CUSTOM_A'] });
    await w.ask(nodeUpdate, { node: 'fake-2', patch: [{ op: 'add', path: '/instance_info/kept', value: 1 }] });
    const made = await create(w, { name: 'one', traits: ['CUSTOM_A'] });
    expect(made.state).toBe('allocating');
    expect(await ended(w, made)).toMatchObject({ state: 'active', node_id: second.id });
    const held = await w.node('fake-2');
    expect(held).toMatchObject({ allocation_id: made.id, instance_id: made.id });
    expect(held.instance_info).toEqual({ kept: 1, traits: ['CUSTOM_A'] });
    await expect(create(w, { name: 'one' })).rejects.toThrow('already exists');
    const none = await ended(w, await create(w, { traits: ['CUSTOM_A'] }));
    expect(none).toMatchObject({ state: 'error', last_error: expect.stringContaining('unclaimed') });
    await w.ask(allocationRemove, { allocation: 'one' });
    const free = await w.node('fake-2');
    expect(free).toMatchObject({ allocation_id: null, instance_id: null });
    expect(free.instance_info).toEqual({ kept: 1 });
    const types = () => w.events.filter(({ data }) => data['allocation_id'] === made.id).map(({ type }) => type);
    await eventually(() => types().includes('allocation.removed') || undefined, { what: 'the events', last: types });
    expect(types()).toEqual(['allocation.created', 'allocation.changed', 'allocation.removed']);
  });

  it('never share a node, also when many ask at once', async () => {
    const w = await open();
    for (const name of ['fake-1', 'fake-2']) await ready(w, name);
    const made = await Promise.all(Array.from({ length: 5 }, () => create(w)));
    const all = await Promise.all(made.map((each) => ended(w, each)));
    const nodes = all.flatMap(({ node_id }) => node_id ?? []);
    expect([nodes.length, new Set(nodes).size]).toEqual([2, 2]);
  });

  it('record a node in use, keep it while it is, and end with its use', async () => {
    const w = await open();
    await ready(w, 'fake-1');
    await send(w, 'fake-1', 'deploy');
    await reach(w, 'fake-1', 'active');
    const held = await create(w, { resource_class: null, node: 'fake-1' });
    expect(held).toMatchObject({ state: 'active', resource_class: 'baremetal' });
    await expect(w.ask(allocationRemove, { allocation: held.id })).rejects.toThrow('because its node fake-1 is active');
    const patch = [{ op: 'remove' as const, path: '/instance_uuid' }];
    await expect(w.ask(nodeUpdate, { node: 'fake-1', patch })).rejects.toThrow('allocation');
    await send(w, 'fake-1', 'deleted');
    await reach(w, 'fake-1', 'available');
    await eventually(async () => (await w.ask(allocationList, {})).allocations.length === 0 || undefined, {
      what: 'the end of the allocation',
    });
  });
});
