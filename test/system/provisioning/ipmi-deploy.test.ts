/** A server on a machine whose BMC speaks only IPMI, which boots by PXE: ipmi_sim before a machine of the lab. */
import { join } from 'node:path';
import { nodeSensors } from '@anneal/contracts/calls/node-hardware.ts';
import { nodeUpdate } from '@anneal/contracts/calls/nodes.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guidOf, IpmiSim, missingForIpmi } from '../../machines/ipmi-sim.ts';
import { ProvisioningWorld } from './provisioning-world.ts';

const missing = await missingForIpmi();
const within = 60_000;

describe.skipIf(missing !== undefined)(
  `a node with the IPMI driver${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let w: ProvisioningWorld;
    let sim: IpmiSim;
    beforeEach(async () => {
      w = await ProvisioningWorld.open({ machines: 1 });
      const { uuid, name } = w.lab.machines[0]?.state ?? { uuid: '', name: '' };
      const lab = { ...w.lab, system: `/redfish/v1/Systems/${name}` };
      sim = await IpmiSim.start({ folder: join(w.directory, 'sim'), guid: guidOf(uuid), lab });
    });
    afterEach(async () => {
      await sim.stop();
      await w.close();
    });

    it('deploys and releases a server, after a change of the driver of the enrolled node', async () => {
      await w.enrolAll();
      const before = await w.node('machine-1');
      const info = { ipmi_address: '127.0.0.1', ipmi_port: sim.port, ipmi_username: sim.username };
      const patch = Object.entries({ ...info, ipmi_password: 'secret' }).map(([key, value]) => ({
        op: 'add' as const,
        path: `/driver_info/${key}`,
        value,
      }));
      const changed = await w.ask(nodeUpdate, {
        node: 'machine-1',
        patch: [{ op: 'replace', path: '/driver', value: 'ipmi' }, ...patch],
      });
      expect(changed).toMatchObject({
        id: before.id,
        driver: 'ipmi',
        provision_state: 'available',
        driver_info: { ...info, ipmi_password: '******' },
      });
      expect(Object.keys(changed.driver_info).some((key) => key.startsWith('redfish'))).toBe(false);

      const id = w.context.newId();
      await w.request('create', { id, fence: 1, seconds: 120 });
      expect(await w.answered(id, 1, within)).toMatchObject({ status: 'complete' });
      expect(await sim.get('log')).toMatch(/boot pxe\n(?:.*\n)*power 1\n(?:.*\n)*boot default\n/);
      expect(await w.ask(nodeSensors, { node: 'machine-1' })).toMatchObject({
        sensors: [{ name: 'CPU Temp', reading: 42 }],
      });
      await w.request('delete', { id, fence: 2, seconds: 120 });
      expect(await w.answered(id, 2, within)).toMatchObject({ status: 'complete' });
      expect(await w.nodeIs('machine-1', 'available', within)).toMatchObject({ power_state: 'power off' });
    });

    it('keeps its driver when the new access is incomplete', async () => {
      await w.enrolAll();
      const patch = [{ op: 'replace' as const, path: '/driver', value: 'ipmi' }];
      await expect(w.ask(nodeUpdate, { node: 'machine-1', patch })).rejects.toMatchObject({
        code: 'InvalidRequest',
        message: expect.stringContaining('driver_info.ipmi_address') as string,
      });
      expect(await w.node('machine-1')).toMatchObject({ driver: 'redfish' });
    });
  },
);
