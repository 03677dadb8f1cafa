/** The tests of a driver of BMCs with a real BMC behind it, whatever its protocol. */
import type { BmcMachine } from '@anneal/provisioning/bmc/port.ts';
import type { Identity } from '@anneal/provisioning/documents/identity.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { expect, it } from 'vitest';

export interface DriverUnderTest {
  readonly machine: (options?: { expected?: Identity | null; signal?: AbortSignal }) => BmcMachine;
  /** The longest time from an accepted reset to the new power. */
  readonly powerMs: number;
  /** A boot address whose image a BMC can fetch. Absent: the BMC fetches nothing itself. */
  readonly bootUrl?: string;
  /** Whether the machine got the interrupt. Absent: the BMC refuses it. */
  readonly interrupted?: () => Promise<boolean>;
  /** The BMC does not keep whether a boot device is for one boot or for every boot. */
  readonly forgetsPersistence?: boolean;
}

const url = 'http://127.0.0.1:1/boot/v1/secret';

/** Registers the tests. `open` returns a machine that is off, at a BMC that only this test uses. */
export function keepsTheGuarantees(open: () => DriverUnderTest): void {
  it('verifies the machine, reads the same identity again, and an inventory that names it', async () => {
    const { machine } = open();
    const { power, identity } = await machine().verify();
    expect(power).toBe('power off');
    expect(identity.uuid).toMatch(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/);
    expect((await machine({ expected: identity }).verify()).identity).toEqual(identity);
    expect((await machine({ expected: identity }).inventory()).inventory).toMatchObject({
      manufacturer: identity.manufacturer,
      serial_number: identity.serial,
    });
  });

  it('turns the machine on and off, and again what is so already', async () => {
    const { machine, powerMs } = open();
    const { identity: expected } = await machine().verify();
    for (const wanted of ['power on', 'power off'] as const) {
      const one = machine({ expected });
      const { task } = await one.reset(wanted);
      expect(await one.awaitPower(wanted, powerMs, { task })).toBe(true);
      expect(await one.power()).toBe(wanted);
      expect((await one.bootProgress()).power).toBe(wanted);
    }
  });

  it('boots once from where the driver can, then from the disk, and both again after a repeat', async () => {
    const { machine, bootUrl = url, forgetsPersistence = false } = open();
    for (const _ of [1, 2]) {
      expect(['http', 'media', 'pxe']).toContain(await machine().bootFrom(bootUrl));
      const { device, persistent } = await machine().bootDevice();
      expect(['pxe', 'cdrom', 'uefihttp']).toContain(device);
      if (!forgetsPersistence) expect(persistent).not.toBe(true);
    }
    for (const _ of [1, 2]) {
      await machine().bootFromDisk();
      expect([null, 'disk']).toContain((await machine().bootDevice()).device);
    }
  });

  it('sets each boot device that it offers, and refuses another one with those that it offers', async () => {
    const { machine, forgetsPersistence = false } = open();
    const { supported } = await machine().bootDevice();
    expect(supported).toEqual(expect.arrayContaining(['disk', 'pxe']));
    for (const device of ['disk', 'pxe'] as const) {
      await machine().setBootDevice({ device, persistent: true });
      expect(await machine().bootDevice()).toMatchObject({
        device,
        ...(!forgetsPersistence && { persistent: true }),
      });
    }
    const lacking = (['uefihttp', 'bios', 'cdrom'] as const).find((device) => !supported.includes(device));
    if (lacking !== undefined)
      await expect(machine().setBootDevice({ device: lacking, persistent: false })).rejects.toMatchObject({
        code: 'NotSupported',
        message: expect.stringContaining('disk') as string,
      });
    await machine().bootFromDisk();
  });

  it('interrupts a machine that runs, or reports that the BMC refuses', async () => {
    const { machine, powerMs, interrupted } = open();
    const { identity: expected } = await machine().verify();
    const { task } = await machine({ expected }).reset('power on');
    expect(await machine({ expected }).awaitPower('power on', powerMs, { task })).toBe(true);
    if (interrupted) {
      await machine({ expected }).interrupt();
      await eventually(interrupted, { what: 'the interrupt' });
    } else {
      // A BMC may refuse what it lists.
      const code = expect.stringMatching(/^(?:NotSupported|BmcRefused)$/) as string;
      await expect(machine({ expected }).interrupt()).rejects.toMatchObject({ code });
    }
    expect(await machine().power()).toBe('power on');
    await machine({ expected }).reset('power off');
    expect(await machine({ expected }).awaitPower('power off', powerMs)).toBe(true);
  });

  it('reads sensors, or none', async () => {
    const { machine } = open();
    for (const sensor of await machine().sensors()) {
      expect(sensor.name).not.toBe('');
      expect(sensor.reading === null || Number.isFinite(sensor.reading)).toBe(true);
    }
  });

  it('touches no other machine that answers at the address', async () => {
    const { machine } = open();
    const { identity } = await machine().verify();
    const other = { ...identity, uuid: '4c4c4544-0000-4000-8000-000000000000' };
    const before = await machine().bootDevice();
    for (const call of [
      (one: BmcMachine) => one.reset('power on'),
      (one: BmcMachine) => one.bootFrom(url),
      (one: BmcMachine) => one.bootFromDisk(),
      (one: BmcMachine) => one.setBootDevice({ device: 'pxe', persistent: true }),
      (one: BmcMachine) => one.interrupt(),
      (one: BmcMachine) => one.power(),
    ])
      await expect(call(machine({ expected: other }))).rejects.toMatchObject({ code: 'IdentityMismatch' });
    expect(await machine().power()).toBe('power off');
    expect(await machine().bootDevice()).toEqual(before);
  });

  it('ends at once with its signal', async () => {
    const end = new AbortController();
    end.abort(new Error('the turn is over'));
    await expect(open().machine({ signal: end.signal }).power()).rejects.toThrow('the turn is over');
  });
}
