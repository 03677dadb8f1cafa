import { nodeClearSuspect, nodePower } from '@anneal/contracts/calls/nodes.ts';
import { hostEvent } from '@anneal/contracts/events.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { ProvisioningWorld } from './provisioning-world.ts';

useQuickClock({ stepMs: 20 });

describe('a machine that dies without an order', () => {
  let world: ProvisioningWorld | undefined;
  const open = async (machines: number): Promise<ProvisioningWorld> => {
    world = await ProvisioningWorld.open({
      machines,
      settings: { ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '0.4', ANNEAL_PROVISIONING_LOSSES_A_DAY: '2' },
    });
    await world.enrolAll();
    return world;
  };
  afterEach(async () => {
    await world?.close();
    world = undefined;
  });
  const request = async (w: ProvisioningWorld, hints: { node?: string } = {}): Promise<string> => {
    const id = w.context.newId();
    const properties = { flavor: 'm1.small', name: 'srv', scheduler_hints: hints };
    await w.request('create', { id, fence: 1, properties });
    return id;
  };
  const create = async (w: ProvisioningWorld, hints?: { node?: string }): Promise<string> => {
    const id = await request(w, hints);
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
    return id;
  };
  const end = async (w: ProvisioningWorld, id: string): Promise<void> => {
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete' });
  };
  /** Cuts the power of a machine behind Anneal's back. */
  const cut = async (w: ProvisioningWorld, machine: string): Promise<void> => {
    const credentials = Buffer.from(`${w.lab.username}:${w.lab.password}`).toString('base64');
    const answered = await fetch(`${w.lab.url}/redfish/v1/Systems/${machine}/Actions/ComputerSystem.Reset`, {
      method: 'POST',
      headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ResetType: 'ForceOff' }),
    });
    expect(answered.ok).toBe(true);
  };
  const suspicion = async (w: ProvisioningWorld) =>
    (await w.node('machine-1')).conditions.find(({ type }) => type === 'Suspect');
  const isSuspect = (w: ProvisioningWorld, reason: string) => {
    let last: unknown;
    return eventually(
      async () => {
        const found = await suspicion(w);
        last = found;
        return found?.reason === reason ? found : undefined;
      },
      { what: `machine-1 suspect: ${reason}`, last: () => last },
    );
  };
  const publish = (w: ProvisioningWorld, status: 'silent' | 'up', id: string): Promise<void> => {
    const data = { origin: unknownOrigin(), host_id: id, name: 'srv', status, facts: {}, version: 2 };
    return w.context.bus.publish([w.context.mint(hostEvent[status], { data, subject: id })]);
  };

  /** Reports until the node has changed: a report during work of the node, such as the end of its deployment, changes nothing. */
  const noted = async (w: ProvisioningWorld, report: () => Promise<void>): Promise<void> => {
    const { updated_at: before } = await w.node('machine-1');
    await eventually(
      async () => {
        await report();
        return (await w.node('machine-1')).updated_at !== before;
      },
      { what: 'the note of an event', last: () => w.events.at(-1) },
    );
  };

  it('is placed last, and not at all after too many losses in a day, until a person clears it', async () => {
    const w = await open(2);
    const first = await create(w, { node: 'machine-1' });
    await cut(w, 'machine-1');
    expect((await isSuspect(w, 'Lost')).message).toMatch(
      /^It died once without an order, last at \S+Z: it lost its power. .* until: anneal node clear-suspect machine-1$/,
    );
    await end(w, first);
    await w.nodeIs('machine-1', 'available');
    const second = await request(w);
    expect(await w.answered(second, 1)).toMatchObject({ attributes: { instance_name: 'machine-2' } });
    // Nothing else fits.
    const third = await create(w);
    await cut(w, 'machine-1');
    await isSuspect(w, 'TooManyLosses');
    await end(w, third);
    await w.nodeIs('machine-1', 'available');
    const fourth = await request(w);
    const message = 'not in quarantine after losses (anneal node clear-suspect NODE) 1 of 2';
    await eventually(() => w.responses.some((each) => each.message?.includes(message)), {
      what: 'a wait for the quarantine',
      last: () => w.responses.at(-1),
    });
    await w.ask(nodeClearSuspect, { node: 'machine-1' });
    expect(await w.answered(fourth, 1)).toMatchObject({ attributes: { instance_name: 'machine-1' } });
    expect(await suspicion(w)).toBeUndefined();
    const reasons = w.events.filter(({ type }) => type === 'node.suspect.changed').map(({ data }) => data['reason']);
    expect(reasons).toEqual([
      expect.stringContaining('It died once'),
      expect.stringContaining('It died 2 times'),
      'a person cleared the suspicion',
    ]);
  });

  it('is lost when its server ends while its host is silent, and not when the host is back or the power was ordered off', async () => {
    const w = await open(1);
    const back = await create(w);
    await noted(w, () => publish(w, 'silent', back));
    await noted(w, () => publish(w, 'up', back));
    await end(w, back);
    await w.nodeIs('machine-1', 'available');
    const ordered = await create(w);
    await w.ask(nodePower, { node: 'machine-1', target: 'power off' });
    await eventually(async () => (await w.node('machine-1')).power_state === 'power off', { what: 'the power' });
    await publish(w, 'silent', ordered);
    await end(w, ordered);
    await w.nodeIs('machine-1', 'available');
    expect(await suspicion(w)).toBeUndefined();
    const silent = await create(w);
    await noted(w, () => publish(w, 'silent', silent));
    await end(w, silent);
    expect((await isSuspect(w, 'Lost')).message).toContain('its host was silent since ');
  });
});
