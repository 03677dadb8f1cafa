import { imageAdd } from '@anneal/contracts/calls/images.ts';
import { armFault, disarmFaults } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { ProvisioningWorld, type WorldOptions } from './provisioning-world.ts';

describe('a machine that cannot write its image, although it is not at fault,', () => {
  let world: ProvisioningWorld | undefined;
  const open = async (machines: number, settings: WorldOptions['settings'] = {}): Promise<ProvisioningWorld> => {
    world = await ProvisioningWorld.open({ machines, silent: true, settings });
    await world.enrolAll();
    return world;
  };
  afterEach(async () => {
    disarmFaults();
    await world?.close();
    world = undefined;
  });
  const create = async (w: ProvisioningWorld, image = ''): Promise<string> => {
    const id = w.context.newId();
    await w.request('create', { id, fence: 1, properties: { flavor: 'baremetal', name: 'srv', image } });
    return id;
  };
  const fails = async (w: ProvisioningWorld, code?: 'ImageUnusable' | 'DiskTooSmall'): Promise<void> => {
    const write_fails = { message: 'the image is bad', ...(code && { code }) };
    for (const { state } of w.lab.machines) await w.fault(state.name, { write_fails });
  };
  const nodesOfEvents = (w: ProvisioningWorld): Set<unknown> =>
    new Set(w.events.filter(({ data }) => data['provision_state'] === 'deploying').map(({ data }) => data['name']));

  it('T4: fails its server at once, takes no other node, and becomes available', async () => {
    const w = await open(3);
    await fails(w, 'ImageUnusable');
    const id = await create(w);
    const { status, error } = await w.answered(id, 1);
    expect(status).toBe('failed');
    expect(error).toMatchObject({ code: 'ImageUnusable', details: { node: 'machine-1' } });
    expect(error?.message).toBe(
      'Node machine-1 could not be deployed: the image is bad. No other node is tried, because the cause is the image and not the node. Node machine-1 becomes available again.',
    );
    expect(await w.nodeIs('machine-1', 'available')).toMatchObject({ instance_id: null, last_error: null });
    for (const name of ['machine-2', 'machine-3'])
      expect(await w.node(name)).toMatchObject({ provision_state: 'available', power_state: 'power off' });
    // The next request may have the same node.
    await w.fault('machine-1', { write_fails: null });
    await w.request('create', { id, fence: 2, properties: { flavor: 'baremetal', name: 'srv' } });
    await eventually(() => w.seeds[0], { what: 'a seed' });
    expect(await w.node('machine-1')).toMatchObject({ instance_id: id });
    await w.request('delete', { id, fence: 3 });
    expect(await w.answered(id, 3)).toMatchObject({ status: 'complete' });
    expect(w.hosts.has(id)).toBe(false);
    expect(nodesOfEvents(w)).toEqual(new Set(['machine-1']));
  });

  it('T4: takes no other node after a restart between the release and the answer', async () => {
    const w = await open(2, { ANNEAL_PROVISIONING_DEPLOY_ATTEMPTS: '1' });
    let reached = false;
    const disarm = armFault('provisioning.node.left', () => {
      reached = true;
      throw new Error('stopped after the release');
    });
    await fails(w, 'ImageUnusable');
    const id = await create(w);
    await eventually(() => reached || undefined, { what: 'the release of the node' });
    await w.stop();
    disarm();
    await w.start();
    expect(await w.answered(id, 1)).toMatchObject({ status: 'failed', error: { code: 'ImageUnusable' } });
    await w.nodeIs('machine-1', 'available');
    expect(nodesOfEvents(w)).toEqual(new Set(['machine-1']));
  });

  it('T4: becomes available when its disk is too small, and its server gets another node', async () => {
    const w = await open(2);
    await fails(w, 'DiskTooSmall');
    const id = await create(w);
    await w.nodeIs('machine-1', 'available');
    const { error } = await w.answered(id, 1);
    expect(error).toMatchObject({ code: 'DiskTooSmall' });
    const both = ['machine-1', 'machine-2'].map((name) => `Node ${name} could not be deployed: the image is bad.`);
    expect(error?.message).toContain(
      `The deployment failed on 2 nodes. ${both.join(' ')} No further node: none of 2 nodes`,
    );
    expect(error?.message).toMatch(/ fits: .* not tried before by this server 0 of 2/);
    await w.nodeIs('machine-2', 'available');
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete' });
    expect(w.hosts.has(id)).toBe(false);
  });

  it('T4: becomes available when it does not reach the server of the image, and its server gets another node', async () => {
    const w = await open(2);
    const write_fails = { message: 'this machine cannot connect to the server of image debian', unreachable: true };
    await w.fault('machine-1', { write_fails });
    const id = await create(w);
    await eventually(() => w.seeds[0], { what: 'a seed of the other node' });
    expect(await w.node('machine-2')).toMatchObject({ instance_id: id });
    const reasons = w.responses.map(({ message }) => message ?? '').join('\n');
    expect(reasons).toMatch(/attempt 2 of 3, after Node machine-1 could not be deployed: this machine cannot connect/);
    await w.nodeIs('machine-1', 'available');
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete' });
  });

  it('T4: fails its server with ImageUnreachable when no machine reaches the server of the image', async () => {
    const w = await open(1, { ANNEAL_PROVISIONING_DEPLOY_ATTEMPTS: '1' });
    await w.fault('machine-1', { write_fails: { message: 'no name', unreachable: true } });
    expect(await w.answered(await create(w), 1)).toMatchObject({
      status: 'failed',
      error: { code: 'ImageUnreachable' },
    });
    await w.nodeIs('machine-1', 'available');
  });

  it('is not booted for an image that is larger than its disks', async () => {
    const w = await open(1);
    const image = { id: w.context.newId(), name: 'huge', url: 'http://127.0.0.1:1/huge.img', sha256: 'a'.repeat(64) };
    await w.ask(imageAdd, { ...image, size: 2 ** 42 });
    await create(w, 'huge');
    await eventually(
      () =>
        w.responses.some(({ message = '' }) => /with disks for the 4096.0 GiB of image huge 0 of 1/.test(message)) ||
        undefined,
      { what: 'the reason', last: () => w.responses },
    );
    expect(await w.node('machine-1')).toMatchObject({ provision_state: 'available', power_state: 'power off' });
  });

  it('stays deploy failed when it may be at fault', async () => {
    const w = await open(1);
    await fails(w);
    const id = await create(w);
    expect(await w.answered(id, 1)).toMatchObject({ error: { code: 'ResourceFailed' } });
    expect(await w.node('machine-1')).toMatchObject({ provision_state: 'deploy failed', instance_id: id });
  });
});
