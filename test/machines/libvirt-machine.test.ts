/**
 * A machine of libvirt behind OpenStack's emulator of a BMC: its whole life, with the power cut at each step. Only a start
 * from off applies what the emulator has changed, so the ramdisk must never restart into the disk by itself.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportSkipped } from '../backends/missing.ts';
import { repository, startServer, type TestServer } from '../e2e/server.ts';
import { installEmulator, LibvirtMachine, missingForLibvirt, outerAddress } from './libvirt.ts';
import { missingForMachines, prepareMachines, type MachineFiles } from './prepare.ts';

/** Emulated processors: a boot takes half a minute on a quiet computer and minutes on a busy one. */
const bootMs = 900_000;

/** One machine of `npm run demo -- --real`. */
const template = await readFile(join(repository, 'test', 'demo', 'real-machine.yaml'), 'utf8');

const kernel = /Command line: /;
/** The steps of a deployment, as the console shows them. The last two are of the disk. */
const steps = [
  kernel,
  /anneal: exchanged the boot secret/,
  /anneal: writing small-debian/,
  /anneal: the checksum on the disk is right/,
  /anneal: powering off/,
  kernel,
  /booted from the disk/,
];

const missing = (await missingForMachines()) ?? (await missingForLibvirt());
reportSkipped('a machine of libvirt', missing);

describe.skipIf(missing !== undefined)(
  `a machine of libvirt${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    let files: MachineFiles;
    let server: TestServer;
    let machine: LibvirtMachine;
    let folder: string;

    beforeAll(async () => {
      files = await prepareMachines();
      folder = await mkdtemp(join(tmpdir(), 'anneal-libvirt-'));
      const emulator = await installEmulator();
      if ('missing' in emulator) throw new Error(emulator.missing);
      machine = await LibvirtMachine.start({ folder: join(folder, 'machine'), bin: emulator.bin });
      server = await startServer({
        lab: 0,
        flags: ['--host', '0.0.0.0'],
        gatewayHost: outerAddress() ?? '',
        env: { ANNEAL_GATEWAY_RAMDISK: files.ramdisk, ANNEAL_PROVISIONING_CLEAN_ON_PROVIDE: 'true' },
      });
    }, bootMs);
    afterAll(async () => {
      await server?.dispose();
      await machine?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const node = () => server.client.nodes.show({ node: 'm1' });
    /** A failure shows the consoles of the machine and of the emulator. */
    async function waited(what: string, holds: () => Promise<boolean>, last: () => unknown): Promise<void> {
      await eventually(holds, { within: bootMs, what, last }).catch(async (error: unknown) => {
        const serial = (await machine.serial()).slice(-3_000);
        throw new Error(`${String(error)}\n${serial}\n==\n${machine.output().slice(-3_000)}\n==\n${server.output()}`);
      });
    }
    async function isAvailable(): Promise<void> {
      let last: unknown;
      const holds = async (): Promise<boolean> => {
        const { provision_state: state, last_error: error } = await node();
        last = { state, error };
        if (/failed|error/.test(String(state))) throw new Error(`m1 is ${state}: ${JSON.stringify(error)}`);
        return state === 'available';
      };
      await waited('m1 available', holds, () => last);
    }
    /** Cuts the power as soon as the console shows another line of this kind. */
    async function cutAt(line: RegExp): Promise<void> {
      const count = async (): Promise<number> => (await machine.serial()).split(line).length;
      const before = await count();
      await waited(String(line), async () => (await count()) > before, machine.output);
      await machine.cut();
    }
    async function firstBytes(): Promise<Buffer> {
      const disk = await open(machine.disk, 'r');
      try {
        return (await disk.read(Buffer.alloc(4096), 0, 4096, 0)).buffer;
      } finally {
        await disk.close();
      }
    }

    it(
      'is inspected and cleaned, though its power is cut at each step',
      async () => {
        const disk = await open(machine.disk, 'r+');
        await disk.write(randomBytes(4096), 0, 4096, 0);
        await disk.close();
        const words = ['--address', machine.url, '--system', machine.system];
        expect(await server.anneal('node', 'enrol', 'm1', ...words)).toMatchObject({ status: 0 });
        for (const line of [kernel, /anneal: network up/, /anneal: exchanged the boot secret/]) await cutAt(line);
        await isAvailable();
        expect((await node())['properties']).toMatchObject({ system_uuid: machine.id });
        expect((await firstBytes()).equals(Buffer.alloc(4096))).toBe(true);
        expect(await machine.power()).toBe('Off');
      },
      2 * bootMs,
    );

    it('has no image without content, because the ramdisk could not install it', async () => {
      const bundle = { template: template.replace('small-debian', 'debian-12'), environmentFiles: [], files: {} };
      await expect(server.client.stacks.create({ name: 'real', bundle })).rejects.toThrow(/debian-12/);
    });

    it(
      'gets its image and runs its configs from its disk, though its power is cut at each step',
      async () => {
        expect(await server.anneal('image', 'add', 'small-debian', '--file', files.image)).toMatchObject({ status: 0 });
        await server.client.stacks.create({ name: 'real', bundle: { template, environmentFiles: [], files: {} } });
        for (const line of steps) await cutAt(line);
        const stack = () => server.client.stacks.show({ stack: 'real' });
        let last: unknown;
        const holds = async (): Promise<boolean> => {
          const { stack_status: status, stack_status_reason: reason } = await stack();
          last = { status, reason };
          if (status === 'CREATE_FAILED') throw new Error(String(reason));
          return status === 'CREATE_COMPLETE';
        };
        await waited('the stack', holds, () => last);
        const { output_value: value } = await server.client.stacks.output({ stack: 'real', key: 'kernel' });
        expect(value).toMatch(/amd64$/);
        expect((await firstBytes()).toString('latin1', 512, 520)).toBe('EFI PART');
        // The machine started from its disk at each start through its BMC: no start of the ramdisk found a written disk.
        expect(server.output()).not.toMatch(/another program may have the credentials/);
      },
      2 * bootMs,
    );

    it(
      'is released and cleaned',
      async () => {
        await server.client.stacks.delete({ stack: 'real' });
        await isAvailable();
        expect((await firstBytes()).equals(Buffer.alloc(4096))).toBe(true);
      },
      bootMs,
    );
  },
);
