/**
 * Real firmware that boots from the network with the DHCP configuration that Anneal writes: QEMU in a network namespace,
 * with dnsmasq. Each machine reaches the ramdisk, which asks Anneal for its work and erases the disk:
 *
 * machine-1  UEFI, PXE: OVMF loads iPXE over TFTP, and iPXE its script, kernel and initramfs over HTTP.
 * machine-2  UEFI, HTTP boot: OVMF loads the ramdisk from the address that Redfish set.
 * machine-4  BIOS, PXE: the firmware of its network card is iPXE, as of many network cards, and loads only the script.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diskOf, serialLogOf } from '@anneal/lab/qemu/qemu.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LabLogin } from '../e2e/at-lab.ts';
import { ownEnvironment, repository, startServer, type TestServer } from '../e2e/server.ts';
import { guidOf, IpmiSim, missingForIpmi } from './ipmi-sim.ts';
import { ipxeFolder, MachineNetwork, missingForNetwork } from './machine-network.ts';
import { missingForMachines, prepareMachines } from './prepare.ts';
import { reportSkipped } from '../backends/missing.ts';

/** Emulated processors: minutes on a busy computer. */
const bootMs = 900_000;
const lacking = (await missingForMachines()) ?? (await missingForIpmi());
reportSkipped('network boot', lacking);
// A container may forbid networks of its own.
const missing = lacking ?? (await missingForNetwork());

describe.skipIf(missing !== undefined)(`network boot${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  let server: TestServer;
  let network: MachineNetwork;
  let folder: string;
  let lab: LabLogin;
  let ipxe: string;
  const ends: (() => Promise<void>)[] = [];
  const sims: IpmiSim[] = [];

  beforeAll(async () => {
    const files = await prepareMachines();
    ipxe = await ipxeFolder();
    folder = await mkdtemp(join(tmpdir(), 'anneal-network-boot-'));
    network = await MachineNetwork.open({ machines: 4 });
    server = await startServer({
      lab: 0,
      flags: ['--host', '0.0.0.0'],
      gatewayHost: network.server,
      env: {
        ANNEAL_GATEWAY_RAMDISK: files.ramdisk,
        ANNEAL_PROVISIONING_CLEAN_ON_PROVIDE: 'true',
        ANNEAL_PROVISIONING_BOOT_RETRY_SECONDS: '600',
      },
    });
    await dnsmasq('whole', await configuration('--range', range()));
    const env = ownEnvironment();
    const words = ['--machines', '4', '--host', network.inside, '--boot-seconds', '0.1', '--isolation', 'qemu'];
    const place = ['--taps', network.taps, '--data', join(folder, 'lab')];
    network.start(process.execPath, ['deploy/lab/main.ts', ...words, ...place], { cwd: repository, env });
    lab = await eventually(
      async () => {
        const text = await readFile(join(folder, 'lab', 'lab.json'), 'utf8').catch(() => undefined);
        return text === undefined ? undefined : (JSON.parse(text) as LabLogin);
      },
      { within: 120_000, what: 'the lab', last: () => network.output() },
    );
  }, bootMs);
  afterAll(async () => {
    await server?.dispose();
    for (const sim of sims) await sim.stop();
    await network?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const range = (): string => `${network.prefix}.100,${network.prefix}.200`;
  async function configuration(...addresses: string[]): Promise<string> {
    const url = `http://${network.server}:${new URL(server.url).port}`;
    const options = ['--interface', network.bridge, '--url', url, '--ipxe', ipxe, ...addresses];
    const { status, stdout, stderr } = await server.anneal('node', 'dhcp-config', ...options);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return stdout;
  }
  /** Starts dnsmasq. The flags concern only the process: the configuration is unchanged. */
  async function dnsmasq(name: string, config: string, on?: string): Promise<void> {
    const file = join(folder, name);
    await writeFile(file, config);
    const flags = ['--keep-in-foreground', '--user=root', '--pid-file', '--log-facility=-', '--log-dhcp'];
    const words = [`--conf-file=${file}`, ...flags, `--dhcp-leasefile=${file}-leases`];
    const env = { PATH: `${process.env['PATH']}:/usr/sbin` };
    ends.push(network.start('dnsmasq', words, { cwd: folder, env, ...(on !== undefined && { on }) }));
  }

  const directoryOf = (name: string): string => join(folder, 'lab', 'machines', name);
  const serial = (name: string): Promise<string> => readFile(serialLogOf(directoryOf(name)), 'latin1').catch(() => '');
  const systemOf = (name: string): string => `/redfish/v1/Systems/${name}`;

  /** A BMC that speaks only IPMI, and so boots its machine by PXE. */
  async function behindIpmi(name: string): Promise<string[]> {
    const text = await readFile(join(directoryOf(name), 'machine.json'), 'utf8');
    const { uuid, serial: number } = JSON.parse(text) as { uuid: string; serial: string };
    const sim = await IpmiSim.start({
      folder: join(folder, `sim-${name}`),
      guid: guidOf(uuid),
      serial: number,
      lab: { ...lab, system: systemOf(name) },
    });
    sims.push(sim);
    const secret = join(folder, `password-${name}`);
    await writeFile(secret, 'secret');
    const access = ['--address', '127.0.0.1', '--ipmi-port', String(sim.port), '--username', sim.username];
    return ['--driver', 'ipmi', ...access, '--password-file', secret];
  }

  async function behindRedfish(name: string): Promise<string[]> {
    const secret = join(folder, `password-${name}`);
    await writeFile(secret, lab.password);
    const access = ['--address', lab.url, '--system', systemOf(name), '--username', lab.username];
    return [...access, '--password-file', secret];
  }

  /** The machine has booted the ramdisk, which has erased its disk. */
  async function isCleaned(name: string, asked: readonly RegExp[], console: RegExp, since: number): Promise<void> {
    let last: unknown;
    await eventually(
      async () => {
        const { provision_state: state, last_error: error } = await server.client.nodes.show({ node: name });
        last = { state, error };
        if (/failed|error/.test(String(state))) throw new Error(`${name} is ${state}: ${JSON.stringify(error)}`);
        return state === 'available';
      },
      { within: bootMs, what: `${name} available`, last: () => last },
    ).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${(await serial(name)).slice(-3_000)}\n${network.output().slice(-10_000)}`);
    });
    for (const line of asked) expect(network.output().slice(since)).toMatch(line);
    expect(await serial(name)).toMatch(console);
    expect(await serial(name)).toContain('anneal: exchanged the boot secret; running the steps');
    const disk = await open(diskOf(directoryOf(name)), 'r');
    try {
      const { buffer } = await disk.read(Buffer.alloc(4096), 0, 4096, 0);
      expect(buffer.equals(Buffer.alloc(4096))).toBe(true);
    } finally {
      await disk.close();
    }
  }

  const ofScript = /Command line: .*initrd=initrd\.img.* anneal\.boot=http/;
  const uefi = [/vendor class: PXEClient:Arch:00007/, /sent \S+snponly\.efi to/, /user class: iPXE/];
  it.each([
    { name: 'machine-1', how: 'UEFI and PXE', access: behindIpmi, more: [], asked: uefi, console: ofScript },
    {
      name: 'machine-2',
      how: 'UEFI and HTTP boot',
      access: behindRedfish,
      more: [],
      asked: [/vendor class: HTTPClient:Arch:00016/],
      console: /Command line: (?!.*initrd=).* anneal\.boot=http/,
    },
    {
      name: 'machine-4',
      how: 'BIOS and PXE',
      access: behindIpmi,
      more: ['--capability', 'boot_mode:bios'],
      asked: [/vendor class: PXEClient:Arch:00000/, /user class: iPXE/],
      console: ofScript,
    },
  ])(
    '$name boots the ramdisk by $how, and is cleaned',
    async ({ name, access, more, asked, console }) => {
      const before = network.output().length;
      await mkdir(directoryOf(name), { recursive: true });
      await writeFile(diskOf(directoryOf(name)), randomBytes(4096));
      const enrolled = await server.anneal('node', 'enrol', name, ...(await access(name)), ...more);
      expect(enrolled, enrolled.stderr).toMatchObject({ status: 0 });
      await isCleaned(name, asked, console, before);
    },
    bootMs,
  );

  describe('beside another DHCP server, which gives the addresses,', () => {
    beforeAll(async () => {
      for (const end of ends) await end();
      const other = `port=0\ninterface=eth0\ndhcp-range=${range()},12h\ndhcp-authoritative\n`;
      await dnsmasq('other', other, network.second);
      await dnsmasq('beside', await configuration('--proxy', `${network.prefix}.0`));
    });

    it.each([
      { name: 'machine-1', how: 'UEFI', asked: [/sent \S+snponly\.efi to/] },
      { name: 'machine-4', how: 'BIOS', asked: [/vendor class: PXEClient:Arch:00000/] },
    ])(
      '$name boots the ramdisk by $how and PXE',
      async ({ name, asked }) => {
        const before = network.output().length;
        const { nodes } = server.client;
        const node = { node: name };
        await nodes.provision({ ...node, target: 'manage' });
        await eventually(async () => (await nodes.show(node)).provision_state === 'manageable', {
          what: `${name} manageable`,
        });
        await writeFile(diskOf(directoryOf(name)), randomBytes(4096));
        await writeFile(serialLogOf(directoryOf(name)), '');
        await nodes.provision({ ...node, target: 'provide' });
        await eventually(async () => (await nodes.show(node)).provision_state !== 'manageable', {
          what: `${name} being cleaned`,
        });
        await isCleaned(name, [/ proxy$/m, /user class: iPXE/, ...asked], ofScript, before);
      },
      bootMs,
    );
  });
});
