import { nodeConfirmOff, nodeMaintenance, nodePower, nodeRemove, nodeShow } from '@anneal/contracts/calls/nodes.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { ProvisioningWorld, type WorldOptions } from './provisioning-world.ts';

useQuickClock({ stepMs: 20 });

describe('a person who states that a machine is off', () => {
  let world: ProvisioningWorld | undefined;
  const open = async (machines: number, settings: WorldOptions['settings'] = {}): Promise<ProvisioningWorld> => {
    world = await ProvisioningWorld.open({
      machines,
      settings: {
        ANNEAL_PROVISIONING_BMC_SECONDS: '2',
        ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '3600',
        ...settings,
      },
    });
    await world.enrolAll();
    return world;
  };
  afterEach(async () => {
    await world?.close();
    world = undefined;
  });
  const create = async (w: ProvisioningWorld): Promise<string> => {
    const id = w.context.newId();
    await w.request('create', { id, fence: 1, properties: { flavor: 'm1.small', name: 'srv' } });
    return id;
  };
  /** A server on machine-1, whose BMC is gone. */
  const loseBmc = async (w: ProvisioningWorld): Promise<string> => {
    const id = await create(w);
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
    await w.fault('machine-1', { dark: true });
    return id;
  };
  const occasion = {
    actor: { kind: 'user' as const, id: 'u1', name: 'admin' },
    cause: { kind: 'request' as const, id: 'req-1', reason: null },
  };
  const confirm = (w: ProvisioningWorld) => w.ask(nodeConfirmOff, { node: 'machine-1', reason: 'unplugged', occasion });

  it('releases the server whose deletion failed, and says who said so, when and why', async () => {
    const w = await open(1);
    const id = await loseBmc(w);
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'failed' });
    expect((await w.node('machine-1')).provision_state).toBe('error');
    const { node, warning } = await confirm(w);
    expect(warning).toBeNull();
    expect(node.conditions.find(({ type }) => type === 'ConfirmedOff')?.message).toMatch(
      /^admin confirmed at \S+Z that it is off: unplugged$/,
    );
    await eventually(async () => (await w.node('machine-1')).instance_id === null, {
      what: 'the release of the server',
    });
    expect([...w.hosts.keys()]).not.toContain(id);
    await w.request('delete', { id, fence: 3 });
    expect(await w.answered(id, 3)).toMatchObject({ status: 'complete' });
    const event = await eventually(() => w.events.find(({ type }) => type === 'node.off.confirmed'), { what: 'event' });
    expect(event.data).toMatchObject({
      instance_id: id,
      reason: expect.stringMatching(/^admin confirmed .*: unplugged$/),
      origin: { actor: { name: 'admin' }, cause: { kind: 'request', id: 'req-1' } },
    });
    // The next work of the machine may turn it on, so that the statement ends.
    const after = await w.nodeIs('machine-1', 'cleaning');
    expect(after.conditions.map(({ type }) => type)).not.toContain('ConfirmedOff');
  });

  it('ends the wait of a deletion and of a change of power at once', async () => {
    const w = await open(1, { ANNEAL_PROVISIONING_BMC_SECONDS: '3600' });
    const id = await loseBmc(w);
    await w.ask(nodePower, { node: 'machine-1', target: 'power off' });
    await eventually(async () => (await w.node('machine-1')).last_error !== null, { what: 'a failed attempt' });
    await confirm(w);
    await eventually(async () => (await w.node('machine-1')).power_state === 'power off', { what: 'the power' });
    await w.fault('machine-1', undefined);
    await w.ask(nodePower, { node: 'machine-1', target: 'power on' });
    const on = await eventually(
      async () => {
        const node = await w.node('machine-1');
        return node.power_state === 'power on' && node.reservation === null ? node : undefined;
      },
      { what: 'the machine is on' },
    );
    expect(on.conditions.map(({ type }) => type)).not.toContain('ConfirmedOff');
    await w.fault('machine-1', { dark: true });
    await w.request('delete', { id, fence: 2 });
    await eventually(async () => (await w.node('machine-1')).last_error !== null, { what: 'a failed attempt' });
    await confirm(w);
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete' });
  });

  it('lets a server go on to another node', async () => {
    const w = await open(2, { ANNEAL_PROVISIONING_BOOT_SECONDS: '3', ANNEAL_PROVISIONING_BMC_SECONDS: '3600' });
    w.mute.add(w.lab.machines[0]?.state.address ?? '');
    const id = await create(w);
    await w.nodeIs('machine-1', 'wait call-back');
    await w.fault('machine-1', { dark: true });
    await eventually(() => w.responses.some(({ message }) => message?.includes('waits for the proof')), {
      what: 'the wait for the proof',
    });
    await confirm(w);
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete', attributes: { instance_name: 'machine-2' } });
  });

  it('is refused while the BMC says that it is on, and its statement is void then', async () => {
    const w = await open(1);
    const id = await create(w);
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
    await expect(confirm(w)).rejects.toThrow(/Cannot confirm that node machine-1 is off, because its BMC says .* on/);
    await w.fault('machine-1', { dark: true });
    await confirm(w);
    await w.fault('machine-1', { dark: false, ignore_resets: 99 });
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'failed' });
  });

  it('is warned when the host asked for work after the BMC was last heard', async () => {
    const w = await open(1);
    const id = await loseBmc(w);
    const at = w.asksForWork(id);
    const { warning } = await confirm(w);
    expect(warning).toContain(`Host ${id} asked for work at ${at}, and its BMC was last heard at `);
  });

  const isRemoved = async (w: ProvisioningWorld): Promise<boolean> =>
    w.ask(nodeShow, { node: 'machine-1' }).then(
      () => false,
      () => true,
    );
  const remove = (w: ProvisioningWorld, force = true) => w.ask(nodeRemove, { node: 'machine-1', force });
  const maintain = (w: ProvisioningWorld) => w.ask(nodeMaintenance, { node: 'machine-1', maintenance: true });

  it('removes a node with its server by force: in maintenance, and never a machine that may run', async () => {
    const w = await open(1);
    const id = await loseBmc(w);
    await expect(remove(w, false)).rejects.toThrow(/it is active and has a server; .* with --force\.$/);
    await expect(remove(w)).rejects.toThrow(/force needs maintenance. First: anneal node maintenance machine-1 on\.$/);
    await maintain(w);
    await expect(remove(w)).rejects.toThrow(/nothing proves that the machine is off. First: anneal node confirm-off/);
    await confirm(w);
    await w.fault('machine-1', { dark: false });
    await expect(remove(w)).rejects.toThrow(/its BMC says that the machine is on/);
    await w.fault('machine-1', { dark: true });
    await remove(w);
    expect(await isRemoved(w)).toBe(true);
    // The host is lost when it falls silent, which its machine does. The server ends without its machine.
    expect([...w.hosts.keys()]).toContain(id);
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete' });
    expect([...w.hosts.keys()]).not.toContain(id);
  });

  it('removes a node by force in the middle of work that does not end', async () => {
    const w = await open(1, { ANNEAL_PROVISIONING_BMC_SECONDS: '3600' });
    await loseBmc(w);
    await confirm(w);
    await w.ask(nodePower, { node: 'machine-1', target: 'rebooting' });
    await maintain(w);
    await confirm(w);
    await remove(w);
    expect(await isRemoved(w)).toBe(true);
  });
});
