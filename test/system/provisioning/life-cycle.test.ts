import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  nodeHistory,
  nodeProvision,
  nodeUpdate,
  type NodePatch,
  type NodeStep,
  type NodeView,
} from '@anneal/contracts/calls/nodes.ts';
import { runbookList, runbookRemove, runbookSet, runbookShow } from '@anneal/contracts/calls/runbooks.ts';
import { nodeSettings } from '@anneal/contracts/calls/node-hardware.ts';
import type { ProvisionVerb } from '@anneal/contracts/node-choices.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { LabMachine } from '@anneal/lab/machine.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { ProvisioningWorld, type WorldOptions } from './provisioning-world.ts';

useQuickClock({ stepMs: 20 });

describe('the life of a node', () => {
  let world: ProvisioningWorld | undefined;
  let images: Server | undefined;
  const open = async (options: Partial<WorldOptions> = {}): Promise<ProvisioningWorld> => {
    world = await ProvisioningWorld.open({ machines: 1, ...options });
    await world.enrolAll();
    return world;
  };
  afterEach(async () => {
    await world?.close();
    world = undefined;
    images?.close();
    images = undefined;
  });

  const tell = (w: ProvisioningWorld, target: ProvisionVerb, more: object = {}): Promise<NodeView> =>
    w.ask(nodeProvision, { node: 'machine-1', target, ...more });
  const set = (w: ProvisioningWorld, path: string, value: Json): Promise<NodeView> => {
    const patch: NodePatch = [{ op: 'add', path, value }];
    return w.ask(nodeUpdate, { node: 'machine-1', patch });
  };
  const machineOf = (w: ProvisioningWorld): LabMachine => {
    const [machine] = w.lab.machines;
    if (!machine) throw new Error('The lab has no machine.');
    return machine;
  };
  const step = (name: string, args: NodeStep['args'] = {}): NodeStep => {
    const [kind, verb = ''] = name.split('.');
    return { interface: kind as NodeStep['interface'], step: verb, args };
  };
  /** A server on the machine, and a file on the disk that only an erased or installed disk loses. */
  const withServer = async (w: ProvisioningWorld): Promise<{ id: string; file: string }> => {
    const id = w.context.newId();
    await w.request('create', { id, fence: 1 });
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
    await w.nodeIs('machine-1', 'active');
    const file = join(machineOf(w).directory, 'disk', 'root', 'data');
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, 'of a user');
    return { id, file };
  };

  it('rebuilds an active server: the same host with a new token, on a new disk', async () => {
    const w = await open();
    const { id, file } = await withServer(w);
    const token = w.hosts.get(id);
    await tell(w, 'rebuild');
    await eventually(async () => (w.hosts.get(id) === token ? undefined : true), { what: 'a new token' });
    const node = await w.nodeIs('machine-1', 'active');
    expect(node).toMatchObject({ instance_id: id, power_state: 'power on' });
    expect(existsSync(file)).toBe(false);
  });

  it('rescues a machine without a change of its disk, and starts its system again', async () => {
    const w = await open();
    const { id, file } = await withServer(w);
    await tell(w, 'rescue', { rescue_password: 'open sesame' });
    await w.nodeIs('machine-1', 'rescue');
    expect(machineOf(w).progress).toEqual({ state: 'OSRunning', detail: 'rescue' });
    expect(existsSync(file)).toBe(true);
    expect(JSON.stringify(w.events)).not.toContain('open sesame');
    await tell(w, 'unrescue');
    const node = await w.nodeIs('machine-1', 'active');
    expect(node).toMatchObject({ instance_id: id, power_state: 'power on' });
    await eventually(async () => (machineOf(w).progress.state === 'OSRunning' ? true : undefined), {
      what: 'the system of the disk',
      last: () => machineOf(w).progress,
    });
    expect(machineOf(w).progress.detail).not.toBe('rescue');
    expect(existsSync(file)).toBe(true);
  });

  it('adopts a running machine without touching it, and releases it like another', async () => {
    const w = await open();
    await tell(w, 'manage');
    const before = machineOf(w).state;
    await tell(w, 'adopt');
    expect(await w.nodeIs('machine-1', 'active')).toMatchObject({ instance_id: null });
    expect(machineOf(w).state).toEqual(before);
    await expect(tell(w, 'rebuild')).rejects.toThrow('has no server');
    await tell(w, 'deleted');
    await w.nodeIs('machine-1', 'available');
  });

  it('protects a server until the operator allows its end', async () => {
    const w = await open();
    await expect(set(w, '/protected', true)).rejects.toThrow('only a node in the state active or rescue');
    const { id } = await withServer(w);
    await set(w, '/protected', true);
    await set(w, '/protected_reason', 'holds the ledger');
    await expect(tell(w, 'deleted')).rejects.toThrow('protected (holds the ledger)');
    await expect(tell(w, 'rebuild')).rejects.toThrow('is protected');
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'failed', error: { code: 'Forbidden' } });
    expect(machineOf(w).power).toBe('On');
    await set(w, '/protected', false);
    await w.request('delete', { id, fence: 3 });
    expect(await w.answered(id, 3)).toMatchObject({ status: 'complete' });
  });

  it('retires a machine: it is erased at the end of its server, and never available again', async () => {
    const w = await open();
    await expect(set(w, '/retired', true)).rejects.toThrow('a server may claim it at any time');
    const { id, file } = await withServer(w);
    await set(w, '/retired', true);
    await w.request('delete', { id, fence: 2 });
    await w.answered(id, 2);
    await w.nodeIs('machine-1', 'manageable');
    expect(existsSync(file)).toBe(false);
    await expect(tell(w, 'provide')).rejects.toThrow('is retired');
  });

  it('gives a leased node only to servers of its lessee', async () => {
    const w = await open();
    await set(w, '/lessee', 'another project');
    const id = w.context.newId();
    await w.request('create', { id, fence: 1, seconds: 3 });
    expect(await w.answered(id, 1)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('leased to no other project than p1 0 of 1') as string },
    });
  });

  it('services a machine in use: BIOS, secure boot and a pause; nothing of its disk changes', async () => {
    const w = await open();
    const { id, file } = await withServer(w);
    await expect(tell(w, 'service')).rejects.toThrow('needs steps or a runbook');
    const wrong = [step('deploy.erase_devices'), step('bios.sing'), step('power.wait', { seconds: -1 })];
    await expect(tell(w, 'service', { steps: wrong })).rejects.toThrow(
      /steps\.0: .*destroys data.*steps\.1: there is no step bios\.sing.*steps\.2\.args\.seconds/s,
    );
    const settings = [{ name: 'WorkloadProfile', value: 'Performance' }];
    const steps = [
      step('bios.apply_configuration', { settings }),
      step('power.hold'),
      step('management.set_secure_boot', { enabled: true }),
    ];
    await tell(w, 'service', { steps });
    const held = await w.nodeIs('machine-1', 'service hold');
    expect(held.step).toMatchObject({ interface: 'management', at: 3, of: 3 });
    expect(machineOf(w).state.bios).toMatchObject({ WorkloadProfile: 'Performance' });
    expect(machineOf(w).state.secureBoot.enabled).toBe(false);
    await tell(w, 'unhold');
    expect(await w.nodeIs('machine-1', 'active')).toMatchObject({ instance_id: id, step: null });
    expect(machineOf(w).state.secureBoot).toEqual({ enabled: true, current: true });
    const known = await w.ask(nodeSettings, { node: 'machine-1' });
    expect(known.bios).toMatchObject({ WorkloadProfile: 'Performance' });
    expect(existsSync(file)).toBe(true);
    await tell(w, 'service', {
      steps: [step('bios.apply_configuration', { settings: [{ name: 'Nope', value: 'x' }] })],
    });
    const failed = await w.nodeIs('machine-1', 'service failed');
    expect(failed.last_error?.message).toContain('has no setting Nope; it has BootMode');
    await tell(w, 'abort');
    await w.nodeIs('machine-1', 'active');
  });

  it('runs the steps of an operator in a cleaning: RAID, firmware, erasure, in this order', async () => {
    const w = await open();
    images = createServer((_request, response) => void response.end('firmware'));
    await new Promise<void>((resolve) => void images?.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(images.address() as AddressInfo).port}/bios-2.1.0.bin`;
    const { id, file } = await withServer(w);
    await w.request('delete', { id, fence: 2 });
    await w.answered(id, 2);
    await w.nodeIs('machine-1', 'available');
    expect(existsSync(file)).toBe(false);
    await tell(w, 'manage');
    await w.nodeIs('machine-1', 'manageable');
    const steps = [
      step('raid.delete_configuration'),
      step('raid.create_configuration', { logical_disks: [{ size_gb: 100, raid_level: '1', volume_name: 'root' }] }),
      step('firmware.update', { settings: [{ component: 'machine-1-BIOS', url }] }),
      step('deploy.erase_devices'),
      step('bios.factory_reset'),
    ];
    await tell(w, 'clean', { steps });
    await w.nodeIs('machine-1', 'cleaning');
    const node = await w.nodeIs('machine-1', 'manageable', 60_000);
    expect(node).toMatchObject({ last_error: null, power_state: 'power off', step: null });
    const { state } = machineOf(w);
    expect(state.volumes).toMatchObject([{ name: 'root', raidType: 'RAID1', bytes: 100 * 1024 ** 3 }]);
    expect(state.firmware).toMatchObject({ BIOS: '2.1.0' });
    const { firmware } = await w.ask(nodeSettings, { node: 'machine-1' });
    const bios = firmware.find(({ component }) => component === 'bios');
    expect(bios).toMatchObject({ current_version: '2.1.0', last_version_flashed: '2.1.0' });
    expect(bios?.initial_version).not.toBe('2.1.0');
    expect(machineOf(w).power).toBe('Off');
    await tell(w, 'provide');
    await w.nodeIs('machine-1', 'available');
  });

  it('continues the steps after the service stopped at each of them', async () => {
    const w = await open();
    const { id } = await withServer(w);
    const settings = [{ name: 'ProcHyperthreading', value: 'Disabled' }];
    const steps = [
      step('power.wait', { seconds: 1 }),
      step('bios.apply_configuration', { settings }),
      step('management.set_secure_boot', { enabled: true }),
      step('power.reboot'),
    ];
    await tell(w, 'service', { steps });
    for (let at = 1; at <= steps.length; at += 1) {
      await eventually(
        async () => {
          const { provision_state: state, step: present } = await w.node('machine-1');
          return state === 'active' || (present !== null && present.at >= at) ? true : undefined;
        },
        { what: `step ${at}` },
      );
      await w.stop();
      await w.start();
    }
    expect(await w.nodeIs('machine-1', 'active', 60_000)).toMatchObject({ instance_id: id });
    expect(machineOf(w).state).toMatchObject({
      bios: { ProcHyperthreading: 'Disabled' },
      secureBoot: { enabled: true, current: true },
      power: 'On',
    });
  });

  it('runs a runbook only on a node with one of its traits, and a template for a required trait', async () => {
    const w = await open();
    const fields = { traits: ['CUSTOM_FAST'], description: null, extra: {}, owner: null, public: false };
    const apply = (value: string) => ({
      ...step('bios.apply_configuration', { settings: [{ name: 'WorkloadProfile', value }] }),
      priority: 50,
    });
    const runbook = { ...fields, id: w.context.newId(), kind: 'runbook' as const, name: 'tune' };
    await w.ask(runbookSet, { ...runbook, steps: [apply('Performance')] });
    const again = { ...runbook, id: w.context.newId(), steps: [apply('General')] };
    await expect(w.ask(runbookSet, again)).rejects.toThrow('already exists');
    await tell(w, 'manage');
    await expect(tell(w, 'clean', { runbook: 'tune' })).rejects.toThrow('it is for CUSTOM_FAST');
    await set(w, '/traits', ['CUSTOM_FAST']);
    // Only a use knows the node, so only then the steps are checked, all of them before the first one runs.
    const sing = [apply('General'), { ...step('bios.sing'), priority: 1 }];
    await w.ask(runbookSet, { ...runbook, id: w.context.newId(), name: 'sing', steps: sing });
    await expect(tell(w, 'clean', { runbook: 'sing' })).rejects.toThrow('there is no step bios.sing');
    await tell(w, 'clean', { runbook: 'tune' });
    await eventually(async () => (machineOf(w).state.bios['WorkloadProfile'] === 'Performance' ? true : undefined), {
      what: 'the setting of the runbook',
    });
    await w.nodeIs('machine-1', 'manageable', 60_000);

    const template = { ...fields, id: w.context.newId(), kind: 'deploy template' as const, name: 'CUSTOM_FAST' };
    await w.ask(runbookSet, { ...template, traits: [], steps: [apply('PowerSaving')] });
    expect((await w.ask(runbookList, { kind: 'deploy template' })).runbooks).toHaveLength(1);
    await tell(w, 'provide');
    await w.nodeIs('machine-1', 'available');
    const id = w.context.newId();
    const properties = { flavor: 'm1.small', scheduler_hints: { traits: 'CUSTOM_FAST' } };
    await w.request('create', { id, fence: 1, properties });
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
    expect(machineOf(w).state.bios).toMatchObject({ WorkloadProfile: 'PowerSaving' });
    await w.ask(runbookRemove, { kind: 'runbook', runbook: 'tune' });
    await expect(w.ask(runbookShow, { kind: 'runbook', runbook: 'tune' })).rejects.toThrow('There is no runbook');
  });

  it('keeps the history of a node, newest first, with the reason and who caused it', async () => {
    const w = await open();
    await tell(w, 'manage');
    const { history } = await w.ask(nodeHistory, { node: 'machine-1' });
    expect(history.map(({ from, to }) => `${from} → ${to}`)).toEqual([
      'available → manageable',
      'inspecting → available',
      'verifying → inspecting',
      'enroll → verifying',
    ]);
    expect(history[0]).toMatchObject({ reason: 'verb "manage"', failed: false });
  });
});
