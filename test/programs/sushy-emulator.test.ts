/** OpenStack's emulator of a Redfish service, driven by the Redfish driver: alone, and as a node of a server. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeBootDevice, nodeBootDeviceSet } from '@anneal/contracts/calls/node-hardware.ts';
import { nodePower } from '@anneal/contracts/calls/nodes.ts';
import { RedfishHttp } from '@anneal/provisioning/redfish/conversation/http.ts';
import { RedfishMachine } from '@anneal/provisioning/redfish/machine.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freeLocalPort } from '../backends/free-port.ts';
import { keepsTheGuarantees } from '../machines/bmc-driver.ts';
import { installEmulator } from '../machines/libvirt.ts';
import { ProvisioningWorld } from '../system/provisioning/provisioning-world.ts';

const emulator = await installEmulator();
const missing = 'missing' in emulator ? emulator.missing : undefined;
const uuids = ['27946b59-9e44-4fa7-8e91-f3527a1ef094', '58893887-8974-2487-2389-841168418919'] as const;
/** The emulator carries out a reset within eleven seconds, and a busy computer is slow. */
const powerMs = 60_000;

describe.skipIf(missing !== undefined)(`sushy-emulator${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  let directory: string;
  let url: string;
  let process_: ChildProcess;
  let images: Server;
  let bootUrl: string;
  let http: RedfishHttp;
  const { signal } = new AbortController();

  beforeAll(async () => {
    if (!('bin' in emulator)) return;
    directory = await mkdtemp(join(tmpdir(), 'anneal-sushy-'));
    // The emulator fetches an image itself, as a BMC does.
    images = createServer((_request, response) => void response.end(Buffer.alloc(4096)));
    await new Promise<void>((resolve) => void images.listen(0, '127.0.0.1', resolve));
    bootUrl = `http://127.0.0.1:${(images.address() as AddressInfo).port}/boot/v1/secret`;
    const port = await freeLocalPort();
    url = `http://127.0.0.1:${port}`;
    const systems = uuids.map((uuid, index) => ({ uuid, name: `fake-${index}`, power_state: 'Off', nics: [] }));
    const config = join(directory, 'emulator.conf');
    await writeFile(
      config,
      `SUSHY_EMULATOR_FAKE_DRIVER = True\nSUSHY_EMULATOR_STATE_DIR = '${directory}'\nSUSHY_EMULATOR_FAKE_SYSTEMS = ${JSON.stringify(systems)}\n`,
    );
    const words = ['--fake', '--config', config, '-i', '127.0.0.1', '-p', String(port)];
    process_ = spawn(join(emulator.bin, 'sushy-emulator'), words, { stdio: 'ignore' });
    await eventually(
      () =>
        fetch(`${url}/redfish/v1/`).then(
          ({ ok }) => ok,
          () => false,
        ),
      {
        what: 'the emulator',
      },
    );
    http = new RedfishHttp();
  });
  afterAll(async () => {
    await http?.close();
    images?.close();
    if (process_?.exitCode === null) {
      const gone = once(process_, 'exit');
      process_.kill('SIGKILL');
      await gone;
    }
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });

  describe('and the driver', () => {
    const access = () => ({ node: 'n1', address: url, username: null, password: null, trust: true });
    const machine = (options = {}) =>
      new RedfishMachine(http, { access: access(), systemId: uuids[0], signal, ...options });
    beforeEach(async () => {
      if ((await machine().power()) === 'power off') return;
      await machine().reset('power off');
      expect(await machine().awaitPower('power off', powerMs)).toBe(true);
    }, powerMs);
    // The emulator shows every override as one for every boot.
    keepsTheGuarantees(() => ({ machine, powerMs, bootUrl, forgetsPersistence: true }));
  });

  it('and a server: enrolled, inspected, powered, and booted from another device', async () => {
    const w = await ProvisioningWorld.open({ machines: 1 });
    try {
      await w.enrol('fake-1', { address: url, system: uuids[1] });
      const node = await w.nodeIs('fake-1', 'available', powerMs);
      expect(node).toMatchObject({ power_state: 'power off', properties: { system_uuid: uuids[1] } });
      await w.ask(nodePower, { node: 'fake-1', target: 'power on' });
      await eventually(async () => (await w.node('fake-1')).power_state === 'power on', {
        what: 'the power',
        within: powerMs,
        last: () => w.node('fake-1'),
      });
      await w.ask(nodeBootDeviceSet, { node: 'fake-1', device: 'pxe', persistent: true });
      expect(await w.ask(nodeBootDevice, { node: 'fake-1' })).toMatchObject({ device: 'pxe', persistent: true });
    } finally {
      await w.close();
    }
  });
});
