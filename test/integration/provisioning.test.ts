import { afterEach, describe, expect, it } from 'vitest';
import { World, type WorldOptions } from './provisioning-world.ts';

describe('provisioning with the lab', () => {
  let world: World | undefined;
  const open = async (options: WorldOptions): Promise<World> => (world = await World.open(options));
  afterEach(async () => {
    await world?.close();
    world = undefined;
  });

  it('takes a machine from enrolment through a server and back to available, erased and off', async () => {
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
    expect(created.attributes).toMatchObject({
      name: 'front-end',
      first_address: address,
      networks: { baremetal: [address] },
      instance_name: 'machine-1',
    });
    expect(await w.node('machine-1')).toMatchObject({
      provision_state: 'active',
      power_state: 'power on',
      instance_id: id,
    });

    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete', action: 'delete' });
    const clean = await w.nodeIs('machine-1', 'available');
    expect(clean).toMatchObject({ power_state: 'power off', instance_id: null });
    expect(w.hosts.size).toBe(0);
    expect(w.lab.machines[0]?.power).toBe('Off');
    const states = w.events
      .filter(({ type }) => type === 'node.provision.changed')
      .map(({ data }) => data['provision_state']);
    expect(states).toEqual([
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
  });
});
