import { armFault, disarmFaults } from '@anneal/runtime/fault.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import {
  nodeList,
  nodeOverview,
  nodeMaintenance,
  nodePower,
  nodeProvision,
  nodeRemove,
  nodeUpdate,
  type NodePatch,
} from '@anneal/contracts/calls/nodes.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { steps } from '@anneal/provisioning/documents/states.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { freeLocalPort } from '../../backends/free-port.ts';
import { ProvisioningWorld, type WorldOptions } from './provisioning-world.ts';

useQuickClock({ stepMs: 20 });

describe('provisioning with the lab', () => {
  let world: ProvisioningWorld | undefined;
  const open = async (options: WorldOptions): Promise<ProvisioningWorld> => {
    world = await ProvisioningWorld.open(options);
    return world;
  };
  /** How often the work has reached this step. */
  const armedCount = (name: string): (() => number) => {
    let count = 0;
    armFault(name, () => void (count += 1));
    return () => count;
  };
  afterEach(async () => {
    disarmFaults();
    await world?.close();
    world = undefined;
  });

  it('fails a server at once when a quota refuses its host, and frees the node', async () => {
    const w = await open({ machines: 1, mostHosts: 0 });
    await w.enrolAll();
    const id = w.context.newId();
    await w.request('create', { id, fence: 1, properties: { flavor: 'm1.small', name: 'one-too-many' } });
    expect(await w.answered(id, 1)).toMatchObject({ status: 'failed', error: { code: 'QuotaExceeded' } });
    expect(w.refusedHosts).toBe(1);
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete', action: 'delete' });
    await w.nodeIs('machine-1', 'available');
  });

  it('refuses a node beyond the quota, and answers a repeated enrolment', async () => {
    const w = await open({ machines: 2, settings: { ANNEAL_PROVISIONING_NODES: '1' } });
    await w.enrol('machine-1');
    await expect(w.enrol('machine-2')).rejects.toMatchObject({
      code: 'QuotaExceeded',
      message: expect.stringMatching(/there are 1 nodes and the limit is 1 \(ANNEAL_PROVISIONING_NODES\)/) as string,
    });
    await w.nodeIs('machine-1', 'available');
    await w.ask(nodeRemove, { node: 'machine-1' });
    await w.enrol('machine-2');
  });

  it('keeps the operator’s patches when a machine is inspected again', async () => {
    const w = await open({ machines: 1 });
    await w.enrolAll();
    const before = await w.node('machine-1');
    const patch: NodePatch = [
      { op: 'add', path: '/traits', value: ['CUSTOM_A'] },
      { op: 'add', path: '/extra/rack', value: 7 },
      { op: 'add', path: '/properties/capabilities', value: 'profile:control' },
      { op: 'add', path: '/properties/interfaces/0/network', value: 'ctlplane' },
      { op: 'replace', path: '/properties/cpus', value: 1 },
    ];
    const patched = await w.ask(nodeUpdate, { node: 'machine-1', patch });
    expect(patched.properties).toMatchObject({ cpus: 1, capabilities: 'profile:control' });
    for (const target of ['manage', 'inspect'] as const) await w.ask(nodeProvision, { node: 'machine-1', target });
    await eventually(async () => (await w.node('machine-1')).properties['cpus'] === 4 || undefined, {
      what: 'the inspection',
    });
    const [first, second] = before.properties['interfaces'] as JsonObject[];
    const inspected = await w.node('machine-1');
    expect(inspected).toMatchObject({ traits: ['CUSTOM_A'], extra: { rack: 7 } });
    expect(inspected.properties).toEqual({
      ...before.properties,
      capabilities: 'profile:control',
      inspected_at: inspected.properties['inspected_at'],
      interfaces: [{ ...first, network: 'ctlplane' }, second],
    });
    const wrong: NodePatch = [{ op: 'add', path: '/properties/capabilities', value: 'no form' }];
    await expect(w.ask(nodeUpdate, { node: 'machine-1', patch: wrong })).rejects.toMatchObject({
      code: 'InvalidRequest',
      mistakes: [{ path: 'properties.capabilities' }],
    });
  });

  it('enrols a machine, makes it a server, and returns it to available, erased and powered off', async () => {
    const w = await open({ machines: 1 });
    await w.enrolAll();
    const enrolled = await w.node('machine-1');
    expect(enrolled.properties).toMatchObject({
      cpus: 4,
      memory_mb: 16_384,
      interfaces: [{ name: 'NIC1' }, { name: 'NIC2' }],
    });
    expect(JSON.stringify(enrolled)).not.toContain(w.lab.password);

    const id = w.context.newId();
    await w.request('create', {
      id,
      fence: 1,
      properties: { flavor: 'm1.small', name: 'Front End', metadata: { role: 'web' } },
    });
    const created = await w.answered(id, 1);
    const address = w.lab.machines[0]?.state.address;
    expect(created).toMatchObject({ status: 'complete', physical_id: id });
    // The server has its id during its creation.
    const building = w.responses.find(({ status }) => status === 'in progress');
    expect(building).toMatchObject({
      resource_id: id,
      physical_id: id,
      message: expect.stringMatching(/prepared|boots/),
    });
    expect(created.attributes).toMatchObject({
      name: 'Front End',
      first_address: address,
      networks: { baremetal: [address] },
      instance_name: 'machine-1',
    });
    expect(await w.node('machine-1')).toMatchObject({
      provision_state: 'active',
      power_state: 'power on',
      instance_id: id,
    });

    await w.request('update', { id, fence: 2, properties: { flavor: 'm1.small', name: 'renamed' }, changed: ['name'] });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete', attributes: { name: 'renamed' } });
    await w.request('update', { id, fence: 3, properties: { flavor: 'm1.small', image: 'other' }, changed: ['image'] });
    expect(await w.answered(id, 3)).toMatchObject({ status: 'failed', replace: true });
    const renewed = (user_data_update_policy: string) => ({
      properties: { flavor: 'm1.small', user_data: 'new', user_data_update_policy },
      changed: ['user_data', 'user_data_update_policy'],
    });
    await w.request('update', { id, fence: 4, ...renewed('IGNORE') });
    expect(await w.answered(id, 4)).toMatchObject({ status: 'complete' });
    await w.request('update', { id, fence: 5, ...renewed('REPLACE') });
    expect(await w.answered(id, 5)).toMatchObject({ status: 'failed', replace: true });

    await w.request('delete', { id, fence: 6 });
    expect(await w.answered(id, 6)).toMatchObject({ status: 'complete', action: 'delete' });
    const clean = await w.nodeIs('machine-1', 'available');
    expect(clean).toMatchObject({ power_state: 'power off', instance_id: null });
    expect(w.hosts.size).toBe(0);
    expect(w.lab.machines[0]?.power).toBe('Off');
    const passed = () =>
      w.events.filter(({ type }) => type === 'node.provision.changed').map(({ data }) => data['provision_state']);
    // The last event follows the state that was read.
    await expect.poll(passed).toHaveLength(9);
    expect(passed()).toEqual([
      'verifying',
      'inspecting',
      'available',
      'deploying',
      'wait call-back',
      'active',
      'deleting',
      'cleaning',
      'available',
    ]);
    const versions = w.events.map(({ data }) => Number(data['version']));
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
  });

  it('V1: answers a duplicate request again, and claims no second node', async () => {
    const w = await open({ machines: 2 });
    await w.enrolAll();
    const id = w.context.newId();
    for (let n = 0; n < 3; n += 1) await w.request('create', { id, fence: 1 });
    await w.answered(id, 1);
    await w.request('create', { id, fence: 1 });
    await eventually(() => (w.responses.filter(({ status }) => status === 'complete').length >= 2 ? true : undefined), {
      what: 'a second answer',
    });
    const states = await Promise.all(['machine-1', 'machine-2'].map(w.node));
    expect(states.map((node) => node.provision_state).toSorted()).toEqual(['active', 'available']);
  });

  it('never gives one node to two servers; the second waits with a reason and gets the next free node', async () => {
    const w = await open({ machines: 2 });
    await w.enrolAll();
    const ids = [1, 2, 3].map(() => w.context.newId());
    await Promise.all(ids.map((id) => w.request('create', { id, fence: 1 })));
    const first = await eventually(
      () => {
        const done = w.responses.filter(({ status }) => status === 'complete');
        const waits = w.responses.some(({ message }) =>
          message?.includes(
            'none of 2 nodes fits: resource class baremetal (flavor m1.small) 2 of 2, in the state available 0',
          ),
        );
        return done.length === 2 && waits ? done : undefined;
      },
      { what: 'two servers and a reason', last: () => w.responses },
    );
    expect(new Set(first.map(({ attributes }) => attributes?.['instance_name'])).size).toBe(2);
    const [given] = first;
    await w.request('delete', { id: given?.resource_id ?? '', fence: 2 });
    const last = ids.find((id) => !first.some(({ resource_id }) => resource_id === id)) ?? '';
    expect(await w.answered(last, 1)).toMatchObject({ status: 'complete' });
  });

  it('chooses the node by hints and capabilities, and lists addresses by the networks of the template', async () => {
    const w = await open({ machines: 2 });
    await w.enrol('machine-1', { properties: { capabilities: 'profile:compute,node:compute-0' } });
    await w.enrol('machine-2', { properties: { capabilities: { profile: 'control', node: 'controller-0' } } });
    for (const name of ['machine-1', 'machine-2']) await w.nodeIs(name, 'available');
    expect((await w.node('machine-2')).properties).toMatchObject({
      cpus: 8,
      capabilities: { profile: 'control', node: 'controller-0' },
    });
    const id = w.context.newId();
    const scheduler_hints = { 'capabilities:node': 'controller-0', profile: 'control' };
    const networks = [{ network: 'ctlplane' }, { network: 'storage', fixed_ip: '198.51.100.7' }];
    await w.request('create', { id, fence: 1, properties: { flavor: 'baremetal', scheduler_hints, networks } });
    const address = w.lab.machines[1]?.state.address;
    expect((await w.answered(id, 1)).attributes).toMatchObject({
      instance_name: 'machine-2',
      first_address: address,
      accessIPv4: address,
      networks: { ctlplane: [address], storage: ['198.51.100.7'] },
      addresses: { ctlplane: [{ addr: address, version: 4, 'OS-EXT-IPS:type': 'fixed' }] },
    });

    for (const [properties, reason] of [
      [{ scheduler_hints: { different_host: 'x' } }, /hint different_host is not supported/],
      [{ image: 'no-such-image' }, /image: no-such-image does not exist; the images are any, /],
    ] as const) {
      const refused = w.context.newId();
      await w.request('create', { id: refused, fence: 1, properties: { flavor: 'baremetal', ...properties } });
      const { error } = await w.answered(refused, 1);
      expect(error).toMatchObject({ code: 'NotSupported', message: expect.stringMatching(reason) });
    }
  });

  it('reports the missing conditions when no node fits until the deadline', async () => {
    const w = await open({ machines: 1 });
    const id = w.context.newId();
    await w.request('create', { id, fence: 1, seconds: 1.5 });
    expect(await w.answered(id, 1)).toMatchObject({
      status: 'failed',
      error: { code: 'NoNodeAvailable', message: expect.stringContaining('no node is enrolled') as string },
    });
  });

  it('retries when a BMC is busy, slow, or ignores a reset', async () => {
    const w = await open({ machines: 1 });
    await w.enrolAll();
    await w.fault('machine-1', { busy: 2, retry_after: 0, slow: 20, ignore_resets: 1 });
    const id = w.context.newId();
    await w.request('create', { id, fence: 1 });
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
  });

  it('does not power on a machine twice when it has erased itself and is off before the first poll', async () => {
    const w = await open({ machines: 1, bootSeconds: 0 });
    await w.enrolAll();
    const switchedOn = armedCount('provisioning.step.power on');
    for (let fence = 1; fence < 8; fence += 2) {
      const id = w.context.newId();
      await w.request('create', { id, fence });
      await w.answered(id, fence);
      await w.request('delete', { id, fence: fence + 1 });
      await w.nodeIs('machine-1', 'available');
    }
    // Each machine once to deploy and once to clean.
    expect(switchedOn()).toBe(8);
  });

  it('fails a server with the name and address of its unreachable BMC, and delays no other server', async () => {
    const w = await open({ machines: 2, settings: { ANNEAL_PROVISIONING_BMC_SECONDS: '4' } });
    await w.enrolAll();
    await w.fault('machine-1', { dark: true });
    const [dead, well] = [w.context.newId(), w.context.newId()];
    await w.request('create', { id: dead, fence: 1 });
    await w.nodeIs('machine-1', 'deploying');
    await w.request('create', { id: well, fence: 1 });
    expect(await w.answered(well, 1)).toMatchObject({ status: 'complete', attributes: { instance_name: 'machine-2' } });
    const failed = await w.answered(dead, 1);
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'BmcUnreachable' } });
    expect(failed.error?.message).toContain('machine-1');
    expect(failed.error?.message).toContain(w.lab.url);
    expect(await w.node('machine-1')).toMatchObject({ provision_state: 'deploy failed', instance_id: dead });
    const listed = async (question: { instance_id: string; provision_state?: 'available' }) =>
      (await w.ask(nodeList, question)).nodes.map(({ name }) => name);
    expect(await listed({ instance_id: dead })).toEqual(['machine-1']);
    expect(await listed({ instance_id: dead, provision_state: 'available' })).toEqual([]);
    expect(await listed({ instance_id: 'none' })).toEqual([]);

    await w.fault('machine-1', undefined);
    await w.request('delete', { id: dead, fence: 2 });
    expect(await w.answered(dead, 2)).toMatchObject({ status: 'complete' });
    await w.nodeIs('machine-1', 'available');
  });

  it('keeps a node in enroll, with the reason, when its BMC does not exist or refuses the password', async () => {
    const w = await open({ machines: 1, settings: { ANNEAL_PROVISIONING_BMC_SECONDS: '2' } });
    const port = await freeLocalPort();
    await w.enrol('gone', { address: `http://127.0.0.1:${port}` });
    await w.enrol('machine-1', { password: 'wrong' });
    const failed = (name: string) =>
      eventually(
        async () => {
          const node = await w.node(name);
          return node.provision_state === 'enroll' && node.last_error ? node.last_error : undefined;
        },
        { what: `${name} back to enroll` },
      );
    expect(await failed('gone')).toMatchObject({
      code: 'BmcUnreachable',
      message: expect.stringContaining(`127.0.0.1:${port}`) as string,
    });
    expect(await failed('machine-1')).toMatchObject({
      code: 'BmcMisconfigured',
      message: expect.stringContaining('credentials') as string,
    });
    const overview = await w.ask(nodeOverview, { most: 20 });
    expect(overview).toMatchObject({ counts: { enroll: 2 }, failed_count: 2 });
    expect(overview.failed.map(({ name }) => name).toSorted()).toEqual(['gone', 'machine-1']);
    expect(await w.ask(nodeOverview, { most: 1 })).toMatchObject({ failed: [{}], failed_count: 2 });
    expect(await w.ask(nodeList, { page: { find: 'fault', limit: 10 } })).toMatchObject({ found: 2 });
    await w.ask(nodeRemove, { node: 'gone' });
    await expect(w.node('gone')).rejects.toThrow('no node');
  });

  it('fails a server with HostSilent, with node and host, when its agent never asks for work', async () => {
    const w = await open({ machines: 1, silent: true, settings: { ANNEAL_PROVISIONING_BOOT_SECONDS: '2' } });
    await w.enrolAll();
    const id = w.context.newId();
    await w.request('create', { id, fence: 1, properties: { flavor: 'm1.small', name: 'mute' } });
    const failed = await w.answered(id, 1);
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'HostSilent' } });
    expect(failed.error?.message).toMatch(
      /Host mute on node machine-1 .*it wrote its image, was started from its disk at .*, then sent nothing/,
    );
  });

  it('D1: completes server and cleaning after the service stopped at any step', async () => {
    const w = await open({ machines: 1 });
    await w.enrolAll();
    const restartAt = async (step: string, act: () => Promise<void>): Promise<void> => {
      let reached = false;
      // Stop here, like a process that has died at this step.
      const disarm = armFault(`provisioning.step.${step}`, () => {
        reached = true;
        throw new Error(`stopped at ${step}`);
      });
      await act();
      await eventually(() => (reached ? true : undefined), { what: step });
      await w.stop();
      disarm();
      await w.start();
    };
    const creating = [...steps.deploying, ...steps['wait call-back']];
    const deleting = [...steps.deleting, ...steps.cleaning];
    for (const [index, step] of deleting.entries()) {
      const id = w.context.newId();
      await restartAt(creating[index % creating.length] ?? '', () => w.request('create', { id, fence: 1 }));
      expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
      await restartAt(step, () => w.request('delete', { id, fence: 2 }));
      expect(await w.answered(id, 2)).toMatchObject({ status: 'complete' });
      expect(await w.nodeIs('machine-1', 'available')).toMatchObject({ instance_id: null, power_state: 'power off' });
    }
  });

  it('N1, D3: gives each node one server and answers each request when two replicas share nodes and requests', async () => {
    const w = await open({ machines: 4 });
    await w.start();
    await w.enrolAll();
    const ids = [1, 2, 3, 4].map(() => w.context.newId());
    // Send each twice, so that both replicas receive it.
    await Promise.all([...ids, ...ids].map((id) => w.request('create', { id, fence: 1 })));
    const created = await Promise.all(ids.map((id) => w.answered(id, 1)));
    expect(created.map(({ status }) => status)).toEqual(['complete', 'complete', 'complete', 'complete']);
    expect(new Set(created.map(({ attributes }) => attributes?.['instance_name'])).size).toBe(4);
    await Promise.all([...ids, ...ids].map((id) => w.request('delete', { id, fence: 2 })));
    await Promise.all(ids.map((id) => w.answered(id, 2)));
    for (const { state } of w.lab.machines)
      expect(await w.nodeIs(state.name, 'available')).toMatchObject({ instance_id: null });
    expect(w.hosts.size).toBe(0);
  });

  it('leaves no machine claimed after a delete during a create', async () => {
    const w = await open({ machines: 1 });
    await w.enrolAll();
    const id = w.context.newId();
    await w.request('create', { id, fence: 1 });
    await w.nodeIs('machine-1', 'deploying').catch(() => undefined);
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete', action: 'delete' });
    expect(await w.nodeIs('machine-1', 'available')).toMatchObject({ instance_id: null });
  });

  it('changes power on request, and aborts work in progress', async () => {
    const w = await open({ machines: 1 });
    await w.enrolAll();
    const powerIs = (expected: string) =>
      eventually(
        async () => {
          const node = await w.node('machine-1');
          return node.power_state === expected && node.target_power_state === null ? node : undefined;
        },
        { what: expected },
      );
    expect(await w.ask(nodePower, { node: 'machine-1', target: 'power on' })).toMatchObject({
      target_power_state: 'power on',
    });
    await powerIs('power on');
    await w.ask(nodePower, { node: 'machine-1', target: 'soft power off' });
    await powerIs('power off');
    expect(w.lab.machines[0]?.power).toBe('Off');

    await w.fault('machine-1', { dark: true });
    await w.ask(nodeProvision, { node: 'machine-1', target: 'manage' });
    await w.ask(nodeProvision, { node: 'machine-1', target: 'inspect' });
    await w.ask(nodeProvision, { node: 'machine-1', target: 'abort' });
    expect(await w.node('machine-1')).toMatchObject({ provision_state: 'inspect failed', reservation: null });
    await expect(w.ask(nodeProvision, { node: 'machine-1', target: 'provide' })).rejects.toThrow(
      'possible now: inspect, manage',
    );
  });

  it('lists nodes by name, in pages, and by state', async () => {
    const w = await open({ machines: 3 });
    await w.enrolAll();
    const names = async (
      question: Partial<{ limit: number; marker: string; provision_state: 'available' | 'active' }>,
    ) => (await w.ask(nodeList, question)).nodes.map(({ name }) => name);
    expect(await names({})).toEqual(['machine-1', 'machine-2', 'machine-3']);
    expect(await names({ limit: 2 })).toEqual(['machine-1', 'machine-2']);
    expect(await names({ limit: 2, marker: 'machine-2' })).toEqual(['machine-3']);
    expect(await names({ provision_state: 'available', marker: (await w.node('machine-1')).id })).toEqual([
      'machine-2',
      'machine-3',
    ]);
    expect(await names({ provision_state: 'active' })).toEqual([]);
    await w.ask(nodeMaintenance, { node: 'machine-1', maintenance: true, reason: 'a fan is loud' });
    expect(await w.node('machine-1')).toMatchObject({ maintenance: true, maintenance_reason: 'a fan is loud' });
  });

  it('gives a deployed server its queue and sealed credentials, without a node', async () => {
    const w = await open({ machines: 1 });
    const id = w.context.newId();
    const type = 'OS::Heat::DeployedServer';
    await w.request('create', { id, fence: 1, type, properties: { name: 'given' } });
    const created = await w.answered(id, 1);
    expect(created).toMatchObject({
      status: 'complete',
      physical_id: id,
      attributes: { name: 'given', os_collect_config: { zaqar: { queue_id: id } } },
    });
    expect(JSON.stringify(created)).not.toContain(w.hosts.get(id));
    await w.request('delete', { id, fence: 2, type });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete' });
    expect(w.hosts.size).toBe(0);
  });

  it('refuses a name that is no host name and makes no host, until an update gives another name', async () => {
    const w = await open({ machines: 1 });
    const id = w.context.newId();
    const type = 'OS::Heat::DeployedServer';
    await w.request('create', { id, fence: 1, type, properties: { name: 'a b' } });
    expect(await w.answered(id, 1)).toMatchObject({
      status: 'failed',
      error: { code: 'InvalidRequest', message: expect.stringContaining('is "a b": a host name consists of parts') },
    });
    expect(w.hosts.size).toBe(0);
    await w.request('update', { id, fence: 2, type, properties: { name: 'ab' }, changed: ['name'] });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete', attributes: { name: 'ab' } });
  });

  it('makes fifty machines servers at once, within two minutes', async () => {
    const w = await open({ machines: 50 });
    await Promise.all(w.lab.machines.map(({ state }) => w.enrol(state.name)));
    for (const { state } of w.lab.machines) await w.nodeIs(state.name, 'available', 60_000);
    const ids = w.lab.machines.map(() => w.context.newId());
    await Promise.all(ids.map((id) => w.request('create', { id, fence: 1, seconds: 120 })));
    const all = await Promise.all(ids.map((id) => w.answered(id, 1, 60_000)));
    expect(new Set(all.map(({ attributes }) => attributes?.['instance_name'])).size).toBe(50);
  });
});
