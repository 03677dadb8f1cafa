import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcp, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import {
  nodePower,
  nodeProvision,
  nodeRemove,
  nodeUpdate,
  type NodeStep,
  type NodeView,
} from '@anneal/contracts/calls/nodes.ts';
import { noOverride } from '@anneal/lab/machine-state.ts';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ProvisioningWorld, type WorldOptions } from './provisioning-world.ts';

useQuickClock({ stepMs: 20 });

describe('provisioning with faulty management controllers', () => {
  let world: ProvisioningWorld | undefined;
  const closing: (() => void)[] = [];
  const open = async (options: WorldOptions): Promise<ProvisioningWorld> => {
    world = await ProvisioningWorld.open(options);
    return world;
  };
  afterEach(async () => {
    await world?.close();
    world = undefined;
    for (const close of closing.splice(0)) close();
  });

  /** Waits until the node has ended its work with an error. */
  const failed = (w: ProvisioningWorld, name: string): Promise<NodeView> =>
    eventually(
      async () => {
        const node = await w.node(name);
        return node.last_error && node.reservation === null ? node : undefined;
      },
      { what: `node ${name} ended with an error` },
    );
  const faultIs = (w: ProvisioningWorld, name: string, fault: string | null): Promise<NodeView> => {
    let last: NodeView | undefined;
    return eventually(
      async () => {
        last = await w.node(name);
        return last.fault === fault ? last : undefined;
      },
      { what: `${name} with the fault ${fault}`, last: () => last },
    );
  };
  const otherUuid = 'c0ffee00-1111-4222-8333-444455556666';

  it('refuses a second node for a machine: by address and system, and by UUID at another address', async () => {
    const w = await open({ machines: 2 });
    await w.enrol('machine-1');
    await w.nodeIs('machine-1', 'available');
    await expect(w.enrol('again', { system: '/redfish/v1/Systems/machine-1/' })).rejects.toThrow(
      /same machine as node machine-1/,
    );
    await w.enrol('alias', { address: w.lab.url.replace('127.0.0.1', 'localhost'), system: 'machine-1' });
    const alias = await failed(w, 'alias');
    expect(alias).toMatchObject({ provision_state: 'enroll', last_error: { code: 'AlreadyExists' } });
    expect(alias.last_error?.message).toContain('node machine-1');
    // An existing node cannot be changed to this machine either.
    await w.enrol('machine-2');
    await w.nodeIs('machine-2', 'available');
    const patch = [
      { op: 'add' as const, path: '/driver_info/redfish_system_id', value: '/redfish/v1/Systems/machine-1' },
    ];
    await expect(w.ask(nodeUpdate, { node: 'machine-2', patch })).rejects.toThrow(/same machine as node machine-1/);
  });

  it('keeps one of ten nodes that are enrolled at once for one machine', async () => {
    const w = await open({ machines: 1 });
    const names = Array.from({ length: 10 }, (_, index) => `n${index}`);
    const outcomes = await Promise.allSettled(
      names.map((name) => w.enrol(name, { system: '/redfish/v1/Systems/machine-1' })),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('enrols two machines with the same placeholder UUID as two nodes', async () => {
    const w = await open({ machines: 2 });
    for (const name of ['machine-1', 'machine-2'])
      await w.fault(name, { uuid: '03000200-0400-0500-0006-000700080009', system: { SerialNumber: 'Default string' } });
    await w.enrolAll();
  });

  it('notices a change of power by the event of its controller, long before the next reading', async () => {
    const w = await open({ machines: 2, settings: { ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '3600' } });
    await w.enrolAll();
    const [machine] = w.lab.machines;
    // The stream opens while the node is enrolled. An event before that is lost, so the power changes again.
    await eventually(
      async () => {
        const isOn = machine?.power === 'On';
        await machine?.reset(isOn ? 'ForceOff' : 'On');
        const wanted = isOn ? 'power off' : 'power on';
        const shown = async (): Promise<boolean> => (await w.node('machine-1')).power_state === wanted;
        return vi.waitUntil(shown, { timeout: 5_000, interval: 20 }).catch(() => undefined);
      },
      { what: 'the power after an event' },
    );
    expect((await w.node('machine-2')).power_state).toBe('power off');
  });

  it('does not power, erase or deploy an exchanged machine until the operator accepts it', async () => {
    const w = await open({ machines: 1, settings: { ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '0.4' } });
    await w.enrolAll();
    const id = w.context.newId();
    await w.request('create', { id, fence: 1 });
    await w.answered(id, 1);
    await w.fault('machine-1', { uuid: otherUuid });
    const faulty = await faultIs(w, 'machine-1', 'identity mismatch');
    expect(faulty.last_error?.message).toContain(otherUuid);
    expect(faulty.conditions).toContainEqual(
      expect.objectContaining({ type: 'Identity', status: 'False', reason: 'AnotherMachine' }),
    );
    await expect(w.ask(nodePower, { node: 'machine-1', target: 'power off' })).rejects.toThrow('identity mismatch');
    expect(w.events).toContainEqual(expect.objectContaining({ type: 'node.fault.changed' }));

    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'failed', error: { code: 'IdentityMismatch' } });
    expect(w.lab.machines[0]?.power).toBe('On');
    expect(await w.node('machine-1')).toMatchObject({ provision_state: 'error', fault: 'identity mismatch' });

    await w.ask(nodeProvision, { node: 'machine-1', target: 'manage' });
    const accepted = await w.nodeIs('machine-1', 'manageable');
    expect(accepted).toMatchObject({ fault: null, instance_id: null });
    await w.request('delete', { id, fence: 3 });
    expect(await w.answered(id, 3)).toMatchObject({ status: 'complete' });
  });

  it('records nothing when the right machine is back before the operator accepts, or when none answers', async () => {
    const w = await open({ machines: 1, settings: { ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '3600' } });
    await w.enrolAll();
    const { system_uuid: own } = (await w.node('machine-1')).properties;
    await w.fault('machine-1', { uuid: otherUuid });
    await w.ask(nodeProvision, { node: 'machine-1', target: 'manage' });
    await w.ask(nodeProvision, { node: 'machine-1', target: 'manage' });
    await faultIs(w, 'machine-1', 'identity mismatch');
    await w.fault('machine-1', { dark: true });
    await expect(w.ask(nodeProvision, { node: 'machine-1', target: 'manage' })).rejects.toThrow(
      /BMC of node machine-1/,
    );
    await w.fault('machine-1', { dark: false, uuid: null });
    await w.ask(nodeProvision, { node: 'machine-1', target: 'manage' });
    expect(await w.nodeIs('machine-1', 'manageable')).toMatchObject({
      fault: null,
      last_error: null,
      properties: { system_uuid: own },
    });
  });

  it('detects an exchanged machine while it works, without a poll, and clears the fault when the right one is back', async () => {
    const w = await open({ machines: 1 });
    await w.enrolAll();
    await w.fault('machine-1', { uuid: otherUuid });
    const id = w.context.newId();
    await w.request('create', { id, fence: 1 });
    expect(await w.answered(id, 1)).toMatchObject({ status: 'failed', error: { code: 'IdentityMismatch' } });
    expect(w.lab.machines[0]?.power).toBe('Off');
    expect(w.lab.machines[0]?.state.boot.enabled).toBe('Disabled');
    await w.stop();
    w.settings['ANNEAL_PROVISIONING_POWER_POLL_SECONDS'] = '0.4';
    await w.fault('machine-1', undefined);
    await w.start();
    await faultIs(w, 'machine-1', null);
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete' });
  });

  it.each([
    [{ answer: 'garbage' }, 'not JSON'],
    [{ answer: 'html' }, '<!DOCTYPE html>'],
    [{ answer: 'empty' }, '@odata.type is absent'],
    [{ answer: 'deep' }, '@odata.type is absent'],
    [{ answer: 'unauthorized' }, 'refused the credentials'],
    [{ system: { PowerState: { a: 1 } } }, 'PowerState is {"a":1}'],
    [{ system: { Actions: {} } }, 'no reset action'],
    [
      {
        system: {
          Actions: { '#ComputerSystem.Reset': { target: '/x', 'ResetType@Redfish.AllowableValues': ['Nmi'] } },
        },
      },
      'none of its resets (Nmi) can turn it on',
    ],
  ])('verification refuses %j at once and says why', async (fault, reason) => {
    const w = await open({ machines: 1 });
    await w.fault('machine-1', fault);
    await w.enrol('machine-1');
    const node = await failed(w, 'machine-1');
    expect(node).toMatchObject({ provision_state: 'enroll', fault: null });
    expect(node.last_error?.message).toContain(reason);
  });

  it.each([
    [{ answer: 'hang' }, 'no complete answer'],
    [{ drip: 200 }, 'no complete answer'],
    [{ answer: 'half' }, 'does not answer'],
    [{ power: 'PoweringOn' }, 'not known yet (PowerState is "PoweringOn")'],
    [{ answer: 'error' }, 'answered 500'],
  ])('verification of %j ends at its deadline with the reason', async (fault, reason) => {
    const w = await open({ machines: 1, settings: { ANNEAL_PROVISIONING_BMC_SECONDS: '1.5' } });
    await w.fault('machine-1', fault);
    await w.enrol('machine-1');
    const node = await failed(w, 'machine-1');
    expect(node.provision_state).toBe('enroll');
    expect(node.last_error?.message).toContain(reason);
  });

  it('ends the work at a hanging controller at an abort, and starts the next work at once', async () => {
    const w = await open({ machines: 1 });
    await w.enrolAll();
    await w.fault('machine-1', { answer: 'hang' });
    await w.ask(nodeProvision, { node: 'machine-1', target: 'manage' });
    await w.ask(nodeProvision, { node: 'machine-1', target: 'inspect' });
    await w.ask(nodeProvision, { node: 'machine-1', target: 'abort' });
    await w.fault('machine-1', undefined);
    await w.ask(nodeProvision, { node: 'machine-1', target: 'inspect' });
    // Far below the 15 s limit of one call.
    await w.nodeIs('machine-1', 'manageable', 10_000);
  });

  it('sets a fault for controllers that hang, drip or are dark, without delaying the polls of others', async () => {
    const w = await open({ machines: 8, settings: { ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '1' } });
    await w.enrolAll();
    await w.fault('machine-1', { answer: 'hang' });
    await w.fault('machine-2', { drip: 500 });
    await w.fault('machine-3', { dark: true });
    for (const name of ['machine-1', 'machine-2', 'machine-3']) await faultIs(w, name, 'power failure');
    await w.lab.machines[4]?.reset('On');
    await eventually(async () => ((await w.node('machine-5')).power_state === 'power on' ? true : undefined), {
      what: 'the power of machine-5',
    });
    for (const name of ['machine-1', 'machine-2', 'machine-3']) await w.fault(name, undefined);
    for (const name of ['machine-1', 'machine-2', 'machine-3']) await faultIs(w, name, null);
  });

  it.each([
    ['refuses every tag that a change names', 'refused'],
    ['shows tags only in its documents, and requires them', 'required'],
  ])('deploys a machine whose controller %s', async (_what, etags) => {
    const w = await open({ machines: 2 });
    await w.enrolAll();
    for (const name of ['machine-1', 'machine-2']) await w.fault(name, { etags });
    const id = w.context.newId();
    await w.request('create', { id, fence: 1 });
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete' });
  });

  it('ends a step whose task never ends at its time limit, and names the task before and after', async () => {
    const settings = { ANNEAL_PROVISIONING_CLEAN_SECONDS: '1', ANNEAL_PROVISIONING_STEPS_SECONDS: '4' };
    const w = await open({ machines: 1, settings });
    await w.enrolAll();
    await w.ask(nodeProvision, { node: 'machine-1', target: 'manage' });
    await w.fault('machine-1', { endless_tasks: true });
    const volume = { size_gb: 10, raid_level: '1' };
    const steps: NodeStep[] = [{ interface: 'raid', step: 'create_configuration', args: { logical_disks: [volume] } }];
    await w.ask(nodeProvision, { node: 'machine-1', target: 'clean', steps });
    const named = /step 1 of 1 \(raid\.create_configuration, which waits for the task \S+ of its BMC\)/;
    await eventually(async () => named.test((await w.node('machine-1')).reservation ?? '') || undefined, {
      what: 'the task in the reservation',
    });
    expect((await w.nodeIs('machine-1', 'clean failed')).last_error?.message).toMatch(named);
  });

  it('asks a BMC that refuses the credentials rarely, and at once with corrected ones', async () => {
    // The next reading of a refused node would be far beyond the time of this test.
    const w = await open({ machines: 1, settings: { ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '4' } });
    await w.enrolAll();
    const set = (value: string) =>
      w.ask(nodeUpdate, { node: 'machine-1', patch: [{ op: 'add', path: '/driver_info/redfish_password', value }] });
    await set('rotated at the BMC');
    const faulty = await faultIs(w, 'machine-1', 'power failure');
    expect(faulty.conditions).toContainEqual(
      expect.objectContaining({ type: 'Reachable', status: 'False', reason: 'BmcMisconfigured' }),
    );
    expect(Date.parse(faulty.bmc?.next_try ?? '')).toBeGreaterThan(Date.now() + 25_000);
    const before = Date.now();
    await set(w.lab.password);
    await faultIs(w, 'machine-1', null);
    expect(Date.now() - before).toBeLessThan(25_000);
  });

  it('turns a machine off whose cleaning failed because it booted the system of its disk', async () => {
    const settings = { ANNEAL_PROVISIONING_CLEAN_SECONDS: '3', ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '3600' };
    const w = await open({ machines: 1, settings });
    await w.enrolAll();
    const id = w.context.newId();
    await w.request('create', { id, fence: 1 });
    await w.answered(id, 1);
    const [machine] = w.lab.machines;
    if (!machine) throw new Error('The lab has no machine.');
    // The firmware forgets what it should boot from.
    const reset = machine.reset.bind(machine);
    machine.reset = (type) => {
      if (type === 'On') machine.setBoot(noOverride);
      return reset(type);
    };
    await w.request('delete', { id, fence: 2 });
    await w.answered(id, 2);
    const node = await w.nodeIs('machine-1', 'clean failed');
    expect(node.last_error?.message).toMatch(/did not report in time that it is clean/);
    await eventually(async () => ((await w.node('machine-1')).reservation === null ? true : undefined), {
      what: 'the end of the work',
    });
    expect(machine.power).toBe('Off');
    expect(await w.node('machine-1')).toMatchObject({
      power_state: 'power off',
      fault: 'clean failure',
      last_error: node.last_error,
    });
  });

  it('survives a restart of the controller, and names a failed task', async () => {
    const w = await open({ machines: 3 });
    await w.enrolAll();
    await w.fault('machine-3', { reboot: 300 });
    await w.ask(nodePower, { node: 'machine-3', target: 'power on' });
    await eventually(async () => ((await w.node('machine-3')).power_state === 'power on' ? true : undefined));
    // Every third machine of the lab answers with a task.
    await w.fault('machine-3', { fail_resets: 100 });
    await w.ask(nodePower, { node: 'machine-3', target: 'power off' });
    const seen = await eventually(async () => (await w.node('machine-3')).last_error ?? undefined);
    expect(seen.message).toMatch(/task .* ended as Exception/);
    await w.ask(nodeProvision, { node: 'machine-3', target: 'abort' });
  });

  it('polls the power of a node from one of two replicas, and from the other when the first stops', async () => {
    const w = await open({ machines: 1, settings: { ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '0.2' } });
    await w.enrolAll();
    await w.start();
    const [machine] = w.lab.machines;
    const noticed = async (power: 'power on' | 'power off'): Promise<void> => {
      await machine?.reset(power === 'power on' ? 'On' : 'ForceOff');
      await eventually(async () => ((await w.node('machine-1')).power_state === power ? true : undefined), {
        what: `${power} noticed`,
      });
    };
    const basic = Buffer.from(`${w.lab.username}:${w.lab.password}`).toString('base64');
    const sessions = async (): Promise<unknown[]> => {
      const answer = await fetch(`${w.lab.url}/redfish/v1/SessionService/Sessions`, {
        headers: { authorization: `Basic ${basic}` },
      });
      return ((await answer.json()) as { Members: unknown[] }).Members;
    };
    for (const power of ['power on', 'power off', 'power on', 'power off'] as const) await noticed(power);
    // Each replica that polls has its own session.
    const [first, ...others] = await sessions();
    expect(others).toEqual([]);
    await w.stopFirst();
    await noticed('power on');
    expect(await sessions()).not.toContainEqual(first);
  });

  it('lets no verb except abort end a change of power', async () => {
    const w = await open({ machines: 1 });
    await w.enrolAll();
    await w.fault('machine-1', { ignore_resets: 1_000 });
    await w.ask(nodePower, { node: 'machine-1', target: 'power on' });
    for (const target of ['manage', 'inspect', 'clean'] as const) {
      await expect(w.ask(nodeProvision, { node: 'machine-1', target })).rejects.toMatchObject({
        code: 'Conflict',
        message: expect.stringContaining('"abort"') as string,
      });
    }
    expect((await w.node('machine-1')).target_power_state).toBe('power on');
    await w.ask(nodeProvision, { node: 'machine-1', target: 'abort' });
    await w.ask(nodeProvision, { node: 'machine-1', target: 'manage' });
  });

  it('does not push the power button twice when the answer is lost', async () => {
    const w = await open({ machines: 1 });
    const button = {
      '#ComputerSystem.Reset': {
        target: '/redfish/v1/Systems/machine-1/Actions/ComputerSystem.Reset',
        'ResetType@Redfish.AllowableValues': ['PushPowerButton'],
      },
    };
    await w.fault('machine-1', { system: { Actions: button } });
    await w.enrolAll();
    let pushes = 0;
    const relay = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const { host: _host, ...headers } = request.headers;
      const chunks = (await request.toArray()) as Buffer[];
      const answer = await fetch(`${w.lab.url}${request.url}`, {
        method: request.method ?? 'GET',
        headers: headers as Record<string, string>,
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      });
      const isPush = request.url?.endsWith('ComputerSystem.Reset');
      if (isPush) pushes += 1;
      // The push arrives, but its answer is lost.
      if (isPush && pushes === 1) {
        request.socket.destroy();
        return;
      }
      for (const name of ['x-auth-token', 'location', 'content-type']) {
        const value = answer.headers.get(name);
        if (value !== null) response.setHeader(name, value);
      }
      response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()));
    };
    const server = createServer((request, response) => {
      relay(request, response).catch(() => request.socket.destroy());
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    closing.push(() => {
      server.closeAllConnections();
      server.close();
    });
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await w.ask(nodeUpdate, {
      node: 'machine-1',
      patch: [{ op: 'replace', path: '/driver_info/redfish_address', value: address }],
    });
    await w.ask(nodePower, { node: 'machine-1', target: 'power on' });
    await eventually(async () => ((await w.node('machine-1')).power_state === 'power on' ? true : undefined));
    expect([pushes, w.lab.machines[0]?.power]).toEqual([1, 'On']);
  });

  it('refuses a self-signed certificate with its fingerprint, and accepts it when pinned, named or unchecked', async () => {
    const w = await open({ machines: 1, tls: true });
    await w.enrol('machine-1');
    const refused = await failed(w, 'machine-1');
    expect(refused.last_error).toMatchObject({ code: 'BmcMisconfigured' });
    expect(refused.last_error?.message).toContain(w.lab.fingerprint);
    expect(refused.last_error?.message).toContain('redfish_verify_ca');
    const set = (value: boolean | string) =>
      w.ask(nodeUpdate, {
        node: 'machine-1',
        patch: [{ op: 'add', path: '/driver_info/redfish_verify_ca', value }],
      });
    await expect(set('/no/such/file.pem')).rejects.toThrow('cannot read the file /no/such/file.pem');
    await expect(set('sha256:12')).rejects.toThrow('64 hexadecimal digits');
    for (const value of [`sha256:${'0'.repeat(64)}`, w.lab.fingerprint ?? '', false]) {
      await set(value);
      await w.ask(nodeProvision, { node: 'machine-1', target: 'manage' });
      if (String(value).endsWith('0000')) {
        const wrong = await failed(w, 'machine-1');
        expect(wrong.last_error?.message).toContain(`has the fingerprint ${w.lab.fingerprint}`);
      } else await w.nodeIs('machine-1', 'manageable');
    }
    await w.ask(nodeRemove, { node: 'machine-1' });
  });

  it('lets an operator correct the credentials of a node in enroll and make it available with `provide`', async () => {
    const w = await open({ machines: 1 });
    await w.enrol('machine-1', { password: 'wrong' });
    await failed(w, 'machine-1');
    const patch = [{ op: 'add' as const, path: '/driver_info/redfish_password', value: w.lab.password }];
    const set = await w.ask(nodeUpdate, { node: 'machine-1', patch });
    expect(JSON.stringify(set)).not.toContain(w.lab.password);
    // One verb verifies, inspects and makes available.
    await w.ask(nodeProvision, { node: 'machine-1', target: 'provide' });
    await w.nodeIs('machine-1', 'available');
  });

  it('releases a node at its deadline when its BMC accepts connections and never answers', async () => {
    const w = await open({ machines: 1, settings: { ANNEAL_PROVISIONING_BMC_SECONDS: '1' } });
    const sockets: Socket[] = [];
    const hole: TcpServer = createTcp((socket) => void sockets.push(socket.on('error', () => {})));
    await new Promise<void>((resolve) => void hole.listen(0, '127.0.0.1', resolve));
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
      hole.close();
    });
    await w.enrol('hole', { address: `http://127.0.0.1:${(hole.address() as AddressInfo).port}` });
    const node = await failed(w, 'hole');
    expect(node).toMatchObject({ provision_state: 'enroll', last_error: { code: 'BmcUnreachable' } });
  });
});
