import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLab, type Lab } from '@anneal/lab/lab.ts';
import { RedfishHttp } from '@anneal/provisioning/redfish/conversation/http.ts';
import { RedfishMachine } from '@anneal/provisioning/redfish/machine.ts';
import type { Access } from '@anneal/provisioning/redfish/conversation/transport.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keepsTheGuarantees } from '../../machines/bmc-driver.ts';
import { whenSettled } from './when-settled.ts';

useQuickClock({ stepMs: 20 });

describe('the Redfish driver with the lab', () => {
  let directory: string;
  let lab: Lab;
  let http: RedfishHttp;
  const access = (): Access => ({
    node: 'n1',
    address: lab.url,
    username: lab.username,
    password: lab.password,
    trust: true,
  });
  const machine = (name = 'machine-1'): RedfishMachine =>
    new RedfishMachine(http, { access: access(), systemId: `/redfish/v1/Systems/${name}`, signal });
  const { signal } = new AbortController();
  const sessions = async (): Promise<string[]> => {
    const authorization = `Basic ${Buffer.from(`${lab.username}:${lab.password}`).toString('base64')}`;
    const answer = await fetch(`${lab.url}/redfish/v1/SessionService/Sessions`, { headers: { authorization } });
    return ((await answer.json()) as { Members: { '@odata.id': string }[] }).Members.map(
      (member) => member['@odata.id'],
    );
  };
  const fault = async (name: string, body: object): Promise<void> => {
    const authorization = `Basic ${Buffer.from(`${lab.username}:${lab.password}`).toString('base64')}`;
    const headers = { authorization, 'content-type': 'application/json' };
    await fetch(`${lab.url}/lab/v1/machines/${name}/faults`, { method: 'POST', headers, body: JSON.stringify(body) });
  };
  const start = (sessionLimit = 16): Promise<Lab> =>
    startLab({
      machines: 4,
      directory,
      host: '127.0.0.1',
      port: 0,
      bootSeconds: 0.05,
      environment: process.env,
      startAgent: () => Promise.resolve({ stop: () => Promise.resolve(), kill: () => {} }),
      log: pino({ level: 'silent' }),
      sessionLimit,
    });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'anneal-driver-'));
    lab = await start();
    http = new RedfishHttp({ answerTimeoutMs: 2_000 });
  });
  afterEach(async () => {
    await http.close();
    await lab.stop();
    await rm(directory, { recursive: true, force: true });
  });

  // One has HTTP boot and sensors, the other the virtual drive of its manager, Thermal and Power.
  describe.each(['machine-1', 'machine-4'])('with %s', (name) => {
    keepsTheGuarantees(() => ({
      machine: (options) =>
        new RedfishMachine(http, { access: access(), systemId: `/redfish/v1/Systems/${name}`, signal, ...options }),
      powerMs: 10_000,
      interrupted: async () => {
        const lines = lab.machines.find(({ state }) => state.name === name)?.consoleLines() ?? [];
        return lines.some(({ text }) => text.includes('NMI received'));
      },
    }));

    it('names the resets of a BMC that offers no interrupt', async () => {
      const target = `/redfish/v1/Systems/${name}/Actions/ComputerSystem.Reset`;
      const reset = { target, 'ResetType@Redfish.AllowableValues': ['On', 'ForceOff'] };
      await fault(name, { system: { Actions: { '#ComputerSystem.Reset': reset } } });
      await expect(machine(name).interrupt()).rejects.toMatchObject({
        code: 'NotSupported',
        message: expect.stringContaining('It offers On, ForceOff.') as string,
      });
    });

    it('reads the BIOS settings with what their registry says', async () => {
      const { bios, biosDetails } = await machine(name).settings();
      expect(bios).toMatchObject({ BootMode: 'Uefi' });
      expect(biosDetails?.['BootMode']).toMatchObject({
        attribute_type: 'Enumeration',
        allowable_values: ['Uefi', 'Legacy'],
        read_only: false,
        reset_required: true,
      });
    });

    it('reads temperatures, fans and power', async () => {
      expect(await machine(name).sensors()).toEqual(
        expect.arrayContaining([
          { name: 'CPU 1 temperature', kind: 'temperature', reading: 21, unit: '°C', state: 'ok' },
          { name: 'Fan 1', kind: 'fan', reading: 0, unit: 'RPM', state: 'ok' },
          { name: 'Power', kind: 'power', reading: 5, unit: 'W', state: 'ok' },
        ]),
      );
    });
  });

  it('R1: shares one session for all systems of a controller, also at once, and deletes it at the end', async () => {
    await Promise.all(
      ['machine-1', 'machine-2', 'machine-3'].flatMap((name) => [machine(name).power(), machine(name).power()]),
    );
    expect(await sessions()).toHaveLength(1);
    await http.close();
    expect(await sessions()).toHaveLength(0);
  });

  it('R2: opens a new session when the controller has lost the old one', async () => {
    const one = machine();
    expect(await one.power()).toBe('power off');
    await lab.stop();
    lab = await start();
    expect(await one.power()).toBe('power off');
    expect(await sessions()).toHaveLength(1);
  });

  it('uses Basic authentication when the controller offers no session', async () => {
    await lab.stop();
    lab = await start(0);
    expect(await machine().power()).toBe('power off');
  });

  it('polls the power until it has changed, and boots once from the given source', async () => {
    const one = machine('machine-3');
    await one.reset('power on');
    expect(await one.awaitPower('power on', 5_000)).toBe(true);
    expect(await one.bootFrom('http://127.0.0.1:1/image')).toBe('http');
    expect(lab.machines[2]?.state.boot).toMatchObject({
      target: 'UefiHttp',
      enabled: 'Once',
      httpBootUri: 'http://127.0.0.1:1/image/boot.efi',
    });
    await one.bootFromDisk();
    expect(lab.machines[2]?.state.boot.enabled).toBe('Disabled');
  });

  it('boots older firmware from the virtual drive under its manager, and ejects the image', async () => {
    const one = machine('machine-4');
    expect(await one.bootFrom('http://127.0.0.1:1/image')).toBe('media');
    expect(lab.machines[3]?.state).toMatchObject({
      media: 'http://127.0.0.1:1/image/boot.iso',
      boot: { target: 'Cd', enabled: 'Once' },
    });
    await one.bootFromDisk();
    expect(lab.machines[3]?.state).toMatchObject({ media: null, boot: { enabled: 'Disabled' } });
  });

  it('resets the boot source with a value that the BMC allows, and ejects the image even when the BMC keeps its override', async () => {
    const one = machine('machine-4');
    await one.bootFrom('http://127.0.0.1:1/image');
    await fault('machine-4', {
      system: {
        Boot: {
          BootSourceOverrideEnabled: 'Continuous',
          BootSourceOverrideTarget: 'Cd',
          'BootSourceOverrideTarget@Redfish.AllowableValues': ['Pxe', 'Cd', 'Hdd'],
          'BootSourceOverrideEnabled@Redfish.AllowableValues': ['Disabled', 'Continuous'],
        },
      },
    });
    await expect(whenSettled(one.bootFromDisk())).rejects.toThrow(/the BMC accepted the boot override but reports/);
    expect(lab.machines[3]?.state).toMatchObject({ media: null, boot: { target: 'Hdd' } });
  });

  it('names node, address and answer in every refusal', async () => {
    const lost = new RedfishMachine(http, { access: access(), systemId: 'nowhere', signal });
    await expect(lost.power()).rejects.toThrow(/node n1 .*no system nowhere; it has \/redfish\/v1\/Systems\/machine-1/);
    const refused = http.send(access(), {
      method: 'PATCH',
      path: '/redfish/v1/Systems/machine-1',
      body: { Boot: { BootSourceOverrideTarget: 'Tape' } },
      signal,
    });
    await expect(refused).rejects.toThrow(/node n1: PATCH http:.* answered 400: .*Tape/);
  });
});
