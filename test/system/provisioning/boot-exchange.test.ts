import { addressOf } from '@anneal/lab/boot-image.ts';
import { bootLoad } from '@anneal/contracts/calls/boot.ts';
import { type NodeView } from '@anneal/contracts/calls/nodes.ts';
import { armFault, disarmFaults } from '@anneal/runtime/fault.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { ProvisioningWorld, type WorldOptions } from './provisioning-world.ts';

const key = 'the key of another program';

useQuickClock({ stepMs: 20 });

describe('the boot secret of a machine', () => {
  let world: ProvisioningWorld | undefined;
  const open = async (options: Partial<WorldOptions> = {}): Promise<ProvisioningWorld> => {
    world = await ProvisioningWorld.open({ machines: 1, ...options });
    await world.enrolAll();
    return world;
  };
  afterEach(async () => {
    disarmFaults();
    await world?.close();
    world = undefined;
  });

  const addressAtBmc = (w: ProvisioningWorld): string => {
    const { boot, media } = w.lab.machines[0]?.state ?? {};
    return addressOf(boot?.httpBootUri ?? media ?? '');
  };
  const exchange = async (url: string): Promise<{ status: number; body: string }> => {
    const answer = await fetch(`${url}/exchange`, { method: 'POST', body: JSON.stringify({ key }) });
    return { status: answer.status, body: await answer.text() };
  };
  const credentialsSafe = (node: NodeView) => node.conditions.find(({ type }) => type === 'CredentialsSafe');
  const refusals = (w: ProvisioningWorld) => w.events.filter(({ type }) => type === 'node.boot.refused');

  it('B1, B2: gives no secret, no proof and no exchange to a BMC that fetches the image before power-on', async () => {
    const w = await open();
    const reached = Promise.withResolvers<undefined>();
    const goOn = Promise.withResolvers<undefined>();
    armFault('provisioning.step.power on', async () => {
      reached.resolve(undefined);
      await goOn.promise;
    });
    const id = w.context.newId();
    const properties = { flavor: 'baremetal', user_data: 'the password is pw-canary', metadata: { m: 'md-canary' } };
    await w.request('create', { id, fence: 1, properties });
    await reached.promise;
    const url = addressAtBmc(w);
    const image = await (await fetch(url)).text();
    expect(JSON.parse(image)).toEqual({ format: 2, purpose: 'deploy', node: 'machine-1' });
    expect((await exchange(url)).status).toBe(409);
    expect(await w.node('machine-1')).toMatchObject({ provision_state: 'deploying', power_state: 'power off' });
    goOn.resolve(undefined);
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
    await eventually(() => (refusals(w).length === 1 ? true : undefined), { what: 'the event', last: () => w.events });
    expect(credentialsSafe(await w.node('machine-1'))?.message).toMatch(/not been powered on yet/);
  });

  it('B3: boots a machine again at once whose own exchange was refused', async () => {
    const w = await open();
    const id = w.context.newId();
    let isFirst = true;
    // As from a store that is slow: the exchange of the machine is there before the record of its power-on.
    armFault('provisioning.step.power on', async () => {
      if (!isFirst) return;
      isFirst = false;
      expect((await exchange(addressAtBmc(w))).status).toBe(409);
      // The firmware has nothing more to boot.
      const [machine] = w.lab.machines;
      machine?.setBoot({ ...machine.state.boot, httpBootUri: 'http://127.0.0.1:1/gone/boot.efi' });
    });
    await w.request('create', { id, fence: 1, seconds: 120 });
    expect(await w.answered(id, 1, 60_000)).toMatchObject({ status: 'complete' });
    expect(refusals(w)).toHaveLength(1);
  });

  it('B3: boots a machine again that wrote its image while its secret was renewed', async () => {
    const w = await open({ bootSeconds: 5 });
    const id = w.context.newId();
    let url = '';
    armFault('provisioning.step.power on', async () => {
      url ||= addressAtBmc(w);
      await exchange(url);
    });
    // The step has read the node, and sees only the refused exchange.
    let isFirst = true;
    armFault('provisioning.step.await host', async () => {
      if (!isFirst) return;
      isFirst = false;
      const [machine] = w.lab.machines;
      await eventually(() => (machine?.progress.detail === 'Writing the image' ? true : undefined), { what: 'a boot' });
    });
    await w.request('create', { id, fence: 1, seconds: 120 });
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
    expect(w.seeds.map(({ token }) => token)).toEqual([w.hosts.get(id)]);
    expect((await exchange(url)).status).toBe(404);
  });

  it('B2: is not proof of a boot when it is only fetched, and the failure says so', async () => {
    const w = await open({ settings: { ANNEAL_PROVISIONING_BOOT_SECONDS: '3' }, bootSeconds: 3600 });
    const id = w.context.newId();
    await w.request('create', { id, fence: 1 });
    await w.nodeIs('machine-1', 'wait call-back');
    expect((await fetch(addressAtBmc(w))).status).toBe(200);
    const failed = await w.answered(id, 1);
    expect(failed.error?.message).toMatch(
      /the machine or its BMC fetched the boot image .* but the machine did not boot it/,
    );
  });

  it('boots a machine again whose firmware lost the server while it loaded its boot file', async () => {
    const w = await open({ settings: { ANNEAL_PROVISIONING_BOOT_LOAD_SECONDS: '10' } });
    const id = w.context.newId();
    const [machine] = w.lab.machines;
    let secret = '';
    // The firmware that lost its server does not try again: the machine stays on without an exchange.
    armFault('provisioning.step.power on', () => {
      const url = addressAtBmc(w);
      secret = url.slice(url.lastIndexOf('/') + 1);
      machine?.setBoot({ ...machine.state.boot, httpBootUri: 'http://127.0.0.1:1/lost/boot.efi' });
      disarmFaults();
    });
    await w.request('create', { id, fence: 1, seconds: 120 });
    await w.nodeIs('machine-1', 'wait call-back');
    await w.ask(bootLoad, { secret, sent: 0, size: 40_000_000, done: false });
    const stopped = Date.now();
    await w.ask(bootLoad, { secret, sent: 1_000_000, size: 40_000_000, done: false });
    expect(await w.answered(id, 1, 60_000)).toMatchObject({ status: 'complete' });
    // With the default, after a minute.
    expect(Date.now() - stopped).toBeLessThan(55_000);
  });

  it('B3: is refused in a second exchange until the next boot, with an event and a condition', async () => {
    const w = await open();
    const id = w.context.newId();
    let url = '';
    armFault('provisioning.step.power on', () => {
      url ||= addressAtBmc(w);
    });
    await w.request('create', { id, fence: 1 });
    await w.answered(id, 1);
    const late = await exchange(url);
    expect(late.status).toBe(409);
    expect((await fetch(url)).status).toBe(404);
    await eventually(() => (refusals(w).length === 1 ? true : undefined), { what: 'the event', last: () => w.events });
    expect(refusals(w)[0]?.data['reason']).toMatch(/exchanged with another key/);
    expect(credentialsSafe(await w.node('machine-1'))).toMatchObject({ status: 'False', reason: 'ExchangeRefused' });
    expect((await exchange(url)).status).toBe(409);
    expect(refusals(w)).toHaveLength(1);

    await w.request('delete', { id, fence: 2 });
    await w.answered(id, 2);
    await w.nodeIs('machine-1', 'available');
    expect(credentialsSafe(await w.node('machine-1'))).toBeUndefined();
    expect((await exchange(url)).status).toBe(404);
  });

  it('can be exchanged again by a machine that lost its power between exchange and use', async () => {
    const w = await open({ silent: true });
    const id = w.context.newId();
    await w.request('create', { id, fence: 1 });
    await eventually(() => (w.lab.machines[0]?.state.bootKey ? true : undefined), { what: 'an exchange' });
    const { url, key: own } = w.lab.machines[0]?.state.bootKey ?? { url: '', key: '' };
    const again = (): Promise<Response> =>
      fetch(`${url}/exchange`, { method: 'POST', body: JSON.stringify({ key: own }) });
    const first = (await (await again()).json()) as Record<string, unknown>;
    expect(first).toMatchObject({ purpose: 'deploy', host_id: id });
    expect(await (await again()).json()).toEqual(first);
    expect(refusals(w)).toEqual([]);
  });

  it('activates a machine whose BMC keeps its boot override, and its node shows the condition', async () => {
    const w = await open();
    const id = w.context.newId();
    armFault('provisioning.step.await host', () =>
      w.fault('machine-1', {
        system: { Boot: { BootSourceOverrideEnabled: 'Continuous', BootSourceOverrideTarget: 'UefiHttp' } },
      }),
    );
    await w.request('create', { id, fence: 1 });
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
    const shown = (await w.node('machine-1')).conditions.find(({ type }) => type === 'BootsFromDisk');
    expect(shown).toMatchObject({ status: 'False', reason: 'BmcRefused' });
    expect(shown?.message).toMatch(/node machine-1 .*the BMC accepted the boot override but reports/);

    disarmFaults();
    await w.fault('machine-1', undefined);
    await w.request('delete', { id, fence: 2 });
    await w.answered(id, 2);
    const clean = await w.nodeIs('machine-1', 'available');
    expect(clean.conditions.map(({ type }) => type)).not.toContain('BootsFromDisk');
  });

  it('lets the script of an older version restart the machine once its BMC boots from the disk', async () => {
    const w = await open();
    const [machine] = w.lab.machines;
    if (!machine) throw new Error('The lab has no machine.');
    await w.fault('machine-1', { old_ramdisk: true });
    armFault('provisioning.step.await host', () => {
      machine.setMedia('http://127.0.0.1:1/boot/v1/left/boot.iso');
      disarmFaults();
    });
    const resets: string[] = [];
    const reset = machine.reset.bind(machine);
    machine.reset = (type) => {
      resets.push(type);
      return reset(type);
    };
    const id = w.context.newId();
    await w.request('create', { id, fence: 1 });
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
    expect(machine.state).toMatchObject({ media: null, boot: { enabled: 'Disabled' } });
    expect(resets).toEqual(['On']);
  });

  it('fails a server at once with the words of the machine that could not write its image', async () => {
    const w = await open();
    const id = w.context.newId();
    const message = 'the checksum of image debian is wrong';
    await w.fault('machine-1', { write_fails: { message } });
    await w.request('create', { id, fence: 1 });
    expect((await w.answered(id, 1)).error?.message).toContain(message);
    await w.nodeIs('machine-1', 'deploy failed');
  });
});
