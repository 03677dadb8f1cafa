import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IpmiMachine, type IpmiMachineOptions } from '@anneal/provisioning/ipmi/machine.ts';
import { IpmiTool } from '@anneal/provisioning/ipmi/tool.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keepsTheGuarantees } from '../../machines/bmc-driver.ts';
import { defaultUuid, IpmiSim, missingForIpmi } from '../../machines/ipmi-sim.ts';

useQuickClock({ stepMs: 20 });

const missing = await missingForIpmi();

describe.skipIf(missing !== undefined)(
  `the IPMI driver with ipmi_sim${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let directory: string;
    let sim: IpmiSim;
    let tool: IpmiTool;
    type Change = Partial<Omit<IpmiMachineOptions, 'access'>> & { access?: Partial<IpmiMachineOptions['access']> };
    const machine = ({ access, ...change }: Change = {}): IpmiMachine =>
      new IpmiMachine(tool, {
        access: {
          node: 'n1',
          address: `ipmi://127.0.0.1:${sim.port}`,
          username: sim.username,
          password: 'secret',
          cipherSuite: null,
          privilege: 'ADMINISTRATOR',
          ...access,
        },
        signal: new AbortController().signal,
        isUefi: true,
        expected: null,
        placeholders: new Set(),
        tries: 1,
        ...change,
      });
    const known = { uuid: defaultUuid, serial: 'SER-4711', manufacturer: 'Acme', model: 'Model 9', path: null };

    beforeEach(async () => {
      directory = await mkdtemp(join(tmpdir(), 'anneal-ipmi-'));
      sim = await IpmiSim.start({ folder: join(directory, 'sim') });
      tool = new IpmiTool();
    });
    afterEach(async () => {
      sim.wake();
      await sim.stop();
      await rm(directory, { recursive: true, force: true });
    });

    keepsTheGuarantees(() => ({
      // A simulator on a busy computer may answer late.
      machine: (options) => machine({ tries: 5, ...options }),
      powerMs: 30_000,
      forgetsPersistence: true,
    }));

    it('reads the sensors that measure', async () => {
      expect(await machine().sensors()).toEqual([
        { name: 'CPU Temp', kind: 'temperature', reading: 42, unit: '°C', state: 'ok' },
      ]);
    });

    it('reads power, identity and inventory, with the cipher suite that the BMC accepts', async () => {
      expect(await machine().verify()).toEqual({ power: 'power off', identity: known });
      expect((await machine().inventory()).inventory).toEqual({
        manufacturer: 'Acme',
        model: 'Model 9',
        serial_number: 'SER-4711',
        system_uuid: defaultUuid,
        bmc_firmware: '9.08',
        consoles: [{ kind: 'serial', protocol: 'ipmi', port: sim.port, enter: null, leave: '~.' }],
      });
    });

    it('turns the machine on, off and softly off, and sees a machine that stays on', async () => {
      const one = machine({ expected: known });
      await one.reset('power on');
      expect(await one.awaitPower('power on', 10_000)).toBe(true);
      await one.reset('power off');
      expect(await one.awaitPower('power off', 10_000)).toBe(true);
      await sim.set('power', '1');
      await sim.set('deaf', '');
      await one.reset('soft power off');
      expect(await one.awaitPower('power off', 500)).toBe(false);
      await one.reset('power off');
      expect(await one.power()).toBe('power off');
    });

    it('sets the boot device, reads it back, and refuses a BMC that keeps another one', async () => {
      expect(await machine().bootFrom()).toBe('pxe');
      expect(await sim.get('boot')).toBe('pxe');
      await machine({ isUefi: false }).bootFromDisk();
      expect(await sim.get('boot')).toBe('default');
      await sim.set('stuck', '');
      await expect(machine().bootFrom()).rejects.toMatchObject({
        code: 'BmcRefused',
        message: expect.stringContaining('options=efiboot): it accepted') as string,
      });
    });

    it('does not touch another machine at the same address', async () => {
      await sim.stop();
      await sim.run({ guid: 'ffeeddccbbaa49889988776655443322' });
      const one = machine({ expected: known });
      for (const call of [
        () => one.reset('power on'),
        () => one.bootFrom(),
        () => one.power(),
        () => one.bootFromDisk(),
      ])
        await expect(call()).rejects.toMatchObject({ code: 'IdentityMismatch', details: { node: 'n1' } });
      expect([await sim.get('power'), await sim.get('boot')]).toEqual(['0', 'none']);
    });

    it('identifies the machine by its serial number when its GUID is a placeholder, and by nothing when it has neither', async () => {
      await sim.stop();
      await sim.run({ guid: null });
      const bare = { ...known, uuid: null };
      expect((await machine().verify()).identity).toEqual(bare);
      const other = machine({ expected: { ...bare, serial: 'SER-1' } });
      await expect(other.reset('power on')).rejects.toMatchObject({ code: 'IdentityMismatch' });
      await sim.stop();
      await sim.run({ guid: null, serial: null });
      expect((await machine().verify()).identity).toMatchObject({ uuid: null, serial: null });
    });

    it.each([
      ['a wrong password', { password: 'wrong-one' }, 'ipmi_password'],
      ['a wrong user', { username: 'stranger' }, 'ipmi_username'],
      ['a cipher suite that it does not have', { cipherSuite: 17 }, 'ipmi_cipher_suite'],
    ])(
      'T1: reports %s with the machine, the command and the remedy, and without the password',
      async (_what, access, remedy) => {
        const error = await machine({ access })
          .power()
          .catch((caught: unknown) => caught);
        expect(error).toMatchObject({
          code: 'BmcMisconfigured',
          details: { node: 'n1', command: 'ipmitool raw 0x06 0x37' },
        });
        const { message } = error as Error;
        expect(message).toContain(`node n1 at ipmi://127.0.0.1:${sim.port}`);
        expect(message).toContain(remedy);
        expect(message).not.toMatch(/secret|wrong-one/);
      },
    );

    it('reports a BMC that is dark, and works again after it is back', async () => {
      const one = machine({ expected: known });
      await sim.stop();
      await expect(one.power()).rejects.toMatchObject({ code: 'BmcUnreachable', repeat: 'always' });
      await sim.run();
      expect(await one.power()).toBe('power off');
    });

    it('T2: ends at once with its signal while the BMC hangs', async () => {
      const end = new AbortController();
      sim.hang();
      const call = machine({ signal: end.signal }).power();
      end.abort(new Error('the turn is over'));
      await expect(call).rejects.toThrow('the turn is over');
      sim.wake();
      expect(await machine().power()).toBe('power off');
    });

    it('reports a program that is not installed', async () => {
      const error = await new IpmiTool('/nowhere/ipmitool')
        .run(
          {
            node: 'n1',
            address: 'ipmi://127.0.0.1:1',
            username: null,
            password: null,
            cipherSuite: 3,
            privilege: 'OPERATOR',
          },
          { what: 'read its power', words: ['raw', '0x00', '0x01'] },
          { signal: new AbortController().signal },
        )
        .catch((caught: unknown) => caught);
      expect(error).toMatchObject({
        code: 'BmcMisconfigured',
        message: expect.stringContaining('apt-get install ipmitool') as string,
      });
    });
  },
);
