import { imageAdd } from '@anneal/contracts/calls/images.ts';
import { nodeProvision } from '@anneal/contracts/calls/nodes.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { ProvisioningWorld, type WorldOptions } from './provisioning-world.ts';

describe('limits of concurrent work', () => {
  let world: ProvisioningWorld | undefined;
  const open = async (options: WorldOptions): Promise<ProvisioningWorld> => {
    world = await ProvisioningWorld.open(options);
    for (const [at, { state }] of world.lab.machines.entries())
      await world.enrol(state.name, { properties: { rack: at < 2 ? 'a' : 'b' } });
    for (const { state } of world.lab.machines) await world.nodeIs(state.name, 'available');
    return world;
  };
  afterEach(async () => {
    await world?.close();
    world = undefined;
  });
  const newIds = (w: ProvisioningWorld, count: number): string[] =>
    Array.from({ length: count }, () => w.context.newId());
  const states = async (w: ProvisioningWorld) => Promise.all(w.lab.machines.map(({ state }) => w.node(state.name)));
  const waitingMessage = /waiting for a slot, position \d of \d: 1 of 1 deploys in rack [ab]/;
  const hasSlot = (node: Awaited<ReturnType<typeof states>>[number]): boolean =>
    !node.conditions.some(({ type }) => type === 'HasSlot');

  it('S1, S3: deploys one node of each rack at a time, shows each turn, and keeps the turns over a restart', async () => {
    const w = await open({
      machines: 4,
      silent: true,
      settings: { ANNEAL_PROVISIONING_DEPLOYS: 'rack=1', ANNEAL_PROVISIONING_BMC_SECONDS: '3' },
    });
    const ids = newIds(w, 4);
    await Promise.all(ids.map((id) => w.request('create', { id, fence: 1 })));
    const settledTurns = () =>
      eventually(
        async () => {
          const nodes = await states(w);
          const booting = nodes.filter(({ provision_state: state }) => state === 'wait call-back');
          const waiting = nodes.filter((node) => !hasSlot(node));
          return booting.length === 2 && waiting.length === 2 ? { booting, waiting } : undefined;
        },
        { what: 'two nodes that boot and two that wait', last: () => states(w) },
      );
    const { booting, waiting } = await settledTurns();
    expect(booting.map(({ properties }) => JSON.stringify(properties['rack'])).toSorted()).toEqual(['"a"', '"b"']);
    const conditions = waiting.flatMap((node) => node.conditions.filter(({ type }) => type === 'HasSlot'));
    for (const { message } of conditions) expect(message).toMatch(waitingMessage);
    await eventually(() => w.responses.find(({ message }) => waitingMessage.test(message ?? '')), {
      what: 'a server that reports its turn',
      last: () => w.responses.map(({ message }) => message),
    });

    // The time of the state (3 s) begins with the slot, so the wait fails no node.
    await w.stop();
    await w.start();
    await w.start();
    const again = await settledTurns();
    expect(again.waiting.map(({ name }) => name).toSorted()).toEqual(waiting.map(({ name }) => name).toSorted());

    // An abort ends the wait; the end of a deployment gives its slot to the next.
    const [first] = again.booting;
    const next = again.waiting.find(({ properties }) => properties['rack'] === first?.properties['rack']);
    await w.ask(nodeProvision, { node: first?.name ?? '', target: 'abort' });
    await w.nodeIs(next?.name ?? '', 'wait call-back');
    const other = again.waiting.find(({ name }) => name !== next?.name);
    await w.ask(nodeProvision, { node: other?.name ?? '', target: 'abort' });
    await w.nodeIs(other?.name ?? '', 'deploy failed');
  });

  it('S1: writes from one image server with one machine at a time, and the wait counts in no limit', async () => {
    const settings = { ANNEAL_PROVISIONING_DEPLOYS: 'total=9,image_server=1', ANNEAL_PROVISIONING_BOOT_SECONDS: '60' };
    const w = await open({ machines: 3, silent: true, settings });
    const image = { id: w.context.newId(), name: 'debian', url: 'http://user:word@images.example:81/debian.raw' };
    await w.ask(imageAdd, { ...image, sha256: 'a'.repeat(64), size: 2 ** 20 });
    const [first = '', second = '', other = ''] = newIds(w, 3);
    const create = (id: string, name: string) =>
      w.request('create', { id, fence: 1, properties: { flavor: 'baremetal', name: 'srv', image: name } });
    await create(first, 'debian');
    await eventually(async () => (await states(w)).some(({ provision_state: state }) => state === 'wait call-back'), {
      what: 'the first machine that boots',
    });
    await create(second, 'debian');
    const reason = 'waiting for a slot, position 1 of 1: 1 of 1 deploys from image server http://images.example:81';
    const isOf = (id: string) => async () => (await states(w)).find(({ instance_id: server }) => server === id);
    await eventually(async () => (await isOf(second)())?.conditions.some(({ message }) => message === reason), {
      what: 'the turn of the second',
      last: isOf(second),
    });
    // Its image has no content here, so it needs no server.
    await create(other, 'any');
    await eventually(async () => (await isOf(other)())?.provision_state === 'wait call-back', { what: 'the third' });
    expect(await isOf(second)()).toMatchObject({
      provision_state: 'deploying',
      reservation: expect.not.stringContaining('until') as string,
    });
    await w.ask(nodeProvision, { node: (await isOf(first)())?.name ?? '', target: 'abort' });
    await eventually(async () => (await isOf(second)())?.provision_state === 'wait call-back', { what: 'the second' });
  });

  it('S2: completes more servers than it has slots, and erases them one at a time', async () => {
    const w = await open({
      machines: 4,
      settings: { ANNEAL_PROVISIONING_DEPLOYS: 'total=1', ANNEAL_PROVISIONING_ERASES: 'total=1' },
    });
    const ids = newIds(w, 4);
    await Promise.all(ids.map((id) => w.request('create', { id, fence: 1 })));
    for (const id of ids) expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
    await Promise.all(ids.map((id) => w.request('delete', { id, fence: 2 })));
    for (const id of ids) expect(await w.answered(id, 2)).toMatchObject({ status: 'complete' });
    for (const { state } of w.lab.machines) await w.nodeIs(state.name, 'available');
    const seen = new Set<string>();
    // The states of all nodes, in the order of their events: never two of one kind at the same time.
    const working = new Map<string, string>();
    for (const { type, data } of w.events) {
      if (!type.startsWith('node.')) continue;
      const { name, provision_state: state, power_state: power } = data as Record<string, string>;
      working.set(name ?? '', `${state}, ${power}`);
      for (const phase of ['wait call-back, power on', 'cleaning, power on']) {
        const count = [...working.values()].filter((each) => each === phase).length;
        expect(count).toBeLessThanOrEqual(1);
        if (count === 1) seen.add(phase);
      }
    }
    expect(seen.size).toBe(2);
  });

  it('releases the node of a withdrawn server that waits for its turn, and goes on with the one that boots', async () => {
    const w = await open({ machines: 2, silent: true, settings: { ANNEAL_PROVISIONING_DEPLOYS: 'total=1' } });
    const ids = newIds(w, 2);
    await Promise.all(ids.map((id) => w.request('create', { id, fence: 1 })));
    const { booting, waiting } = await eventually(
      async () => {
        const nodes = await states(w);
        const found = nodes.find(({ provision_state: state }) => state === 'wait call-back');
        const other = nodes.find((node) => !hasSlot(node));
        return found && other ? { booting: found, waiting: other } : undefined;
      },
      { what: 'a node that boots and one that waits', last: () => states(w) },
    );
    for (const id of ids) await w.request('withdraw', { id, fence: 1 });
    const id = waiting.instance_id ?? '';
    expect(await w.answered(id, 1)).toMatchObject({ status: 'failed', error: { code: 'Cancelled' } });
    await w.nodeIs(waiting.name, 'available');
    expect(await w.node(booting.name)).toMatchObject({ provision_state: 'wait call-back' });
    expect(w.responses.filter(({ status }) => status !== 'in progress').map((each) => each.resource_id)).toEqual([id]);
  });
});
