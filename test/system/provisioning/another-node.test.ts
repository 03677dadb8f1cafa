import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeProvision, nodeRemove } from '@anneal/contracts/calls/nodes.ts';
import { armFault, disarmFaults } from '@anneal/runtime/fault.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { ProvisioningWorld, type WorldOptions } from './provisioning-world.ts';

useQuickClock({ stepMs: 20 });

describe('a server whose deployment fails on one node', () => {
  let world: ProvisioningWorld | undefined;
  const open = async (machines: number, settings: WorldOptions['settings'] = {}): Promise<ProvisioningWorld> => {
    world = await ProvisioningWorld.open({
      machines,
      settings: { ANNEAL_PROVISIONING_BOOT_SECONDS: '3', ANNEAL_PROVISIONING_BMC_SECONDS: '2', ...settings },
    });
    await world.enrolAll();
    return world;
  };
  afterEach(async () => {
    disarmFaults();
    await world?.close();
    world = undefined;
  });
  const machine = (w: ProvisioningWorld, name: string) => {
    const found = w.lab.machines.find(({ state }) => state.name === name);
    if (!found) throw new Error(`no machine ${name}`);
    return found.state;
  };
  const muteAll = (w: ProvisioningWorld, names: readonly string[]): void => {
    for (const name of names) w.mute.add(machine(w, name).address);
  };
  const create = async (w: ProvisioningWorld): Promise<string> => {
    const id = w.context.newId();
    await w.request('create', { id, fence: 1, properties: { flavor: 'm1.small', name: 'srv' } });
    return id;
  };

  it('T1, T3: gets another node; the failed one stays deploy failed with its reason, and has no server', async () => {
    const w = await open(2);
    await w.fault('machine-1', { dark: true });
    const id = await create(w);
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete', attributes: { instance_name: 'machine-2' } });
    const failed = await w.node('machine-1');
    expect(failed).toMatchObject({
      provision_state: 'deploy failed',
      instance_id: null,
      last_error: { code: 'BmcUnreachable' },
    });
    expect(await w.node('machine-2')).toMatchObject({ instance_id: id, instance_info: { attempt: 2 } });
    const messages = w.responses.map(({ message }) => message ?? '');
    expect(messages.find((text) => /attempt 2 of 3, after node machine-1: .*BMC/.test(text))).toBeDefined();
    // An operator cleans the machine, or removes it.
    await w.fault('machine-1', undefined);
    await w.ask(nodeProvision, { node: 'machine-1', target: 'deleted' });
    await w.nodeIs('machine-1', 'available');
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete' });
  });

  it('T2: turns the failed machine off before another one gets its host, with a new token, also over a restart', async () => {
    const w = await open(2);
    muteAll(w, ['machine-1']);
    let reached = false;
    const disarm = armFault('provisioning.node.claimed', async () => {
      if ((await w.node('machine-1')).provision_state !== 'deploy failed') return;
      reached = true;
      expect(machine(w, 'machine-1').power).toBe('Off');
      throw new Error('stopped after the second claim');
    });
    const id = await create(w);
    await eventually(() => reached || undefined, { what: 'the claim of the second node' });
    await w.stop();
    disarm();
    await w.start();
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete', attributes: { instance_name: 'machine-2' } });
    expect(machine(w, 'machine-1').power).toBe('Off');
    const tokens = w.seeds.filter(({ host_id: host }) => host === id).map(({ token }) => token);
    expect(new Set(tokens).size).toBeGreaterThan(1);
    expect(w.hosts.get(id)).toBe(tokens.at(-1));
    await w.ask(nodeRemove, { node: 'machine-1' });
  });

  it('fails after the last attempt, and names each node with its error', async () => {
    const w = await open(4, { ANNEAL_PROVISIONING_DEPLOY_ATTEMPTS: '2' });
    muteAll(w, ['machine-1', 'machine-2', 'machine-3', 'machine-4']);
    const { status, error } = await w.answered(await create(w), 1);
    expect(status).toBe('failed');
    expect(error).toMatchObject({ code: 'HostSilent', details: { nodes: ['machine-1', 'machine-2'] } });
    expect(error?.message).toMatch(/failed on 2 nodes. node machine-1: Host srv .* node machine-2: Host srv/);
    expect(await w.node('machine-3')).toMatchObject({ provision_state: 'available' });
  });

  it('fails at once, with its node, when no other node fits', async () => {
    const w = await open(1);
    muteAll(w, ['machine-1']);
    const id = await create(w);
    const { error } = await w.answered(id, 1);
    expect(error?.message).toMatch(/did not ask for work .* No other node: none of 1 node fits: .* not tried before/);
    expect(await w.node('machine-1')).toMatchObject({ provision_state: 'deploy failed', instance_id: id });
  });

  /** Waits until machine-1 boots for its server, then takes its BMC away. */
  const loseBmc = async (w: ProvisioningWorld): Promise<string> => {
    muteAll(w, ['machine-1']);
    const id = await create(w);
    await w.nodeIs('machine-1', 'wait call-back');
    await w.fault('machine-1', { dark: true });
    return id;
  };

  it('F1: gets no other node while nothing proves that the failed machine is off', async () => {
    const w = await open(2);
    const { status, error } = await w.answered(await loseBmc(w), 1);
    expect(status).toBe('failed');
    expect(error?.message).toMatch(/No other node is used, because nothing proves that machine-1 is off: .*BMC/);
    expect(await w.node('machine-2')).toMatchObject({ provision_state: 'available' });
  });

  it('F2: gets another node when the fencing program confirms that the machine is off', async () => {
    const w = await open(2, { ANNEAL_PROVISIONING_BMC_SECONDS: '20' });
    const program = join(w.directory, 'fence');
    const asked = join(w.directory, 'asked');
    // It refuses the first request.
    await writeFile(
      program,
      `#!/bin/sh\ncat >> ${asked}.json\necho "$@" >> ${asked}\n[ $(wc -l < ${asked}) -ge 2 ] || { echo no such outlet >&2; exit 3; }\n`,
    );
    await chmod(program, 0o755);
    w.settings['ANNEAL_PROVISIONING_FENCE_PROGRAM'] = program;
    await w.stop();
    await w.start();
    const id = await loseBmc(w);
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete', attributes: { instance_name: 'machine-2' } });
    expect(await readFile(asked, 'utf8')).toBe('off machine-1\noff machine-1\n');
    const question = await readFile(`${asked}.json`, 'utf8');
    expect(question).toContain('"name":"machine-1"');
    expect(question).not.toContain(w.lab.password);
    const refused = w.responses.find(({ message }) => message?.includes('did not confirm'));
    expect(refused?.message).toMatch(/waits for the proof that machine-1 is off: .* exit status 3. no such outlet/);
    // The end of a server needs the same proof.
    await w.fault('machine-2', { dark: true });
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2, 60_000)).toMatchObject({ status: 'complete' });
    expect(await readFile(asked, 'utf8')).toContain('off machine-2');
  });
});
