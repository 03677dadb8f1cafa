/**
 * Real machines in QEMU, through Redfish calls only: firmware, ramdisk, disk, agent. One boots the ramdisk by UEFI HTTP boot,
 * the other by BIOS from virtual media.
 */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startLab, type Lab } from '@anneal/lab/lab.ts';
import { diskOf, serialLogOf } from '@anneal/lab/qemu/qemu.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingForMachines, prepareMachines, type MachineFiles } from './prepare.ts';
import { repository, startServer, type TestServer } from '../e2e/server.ts';
import { reportSkipped } from '../backends/missing.ts';

const guestsView = '10.0.2.2';
/** Emulated processors: a boot takes half a minute on a quiet computer and minutes on a busy one. */
const bootMs = 900_000;

/** The templates of `npm run demo -- --real`. */
const demoFile = (name: string): Promise<string> => readFile(join(repository, 'test', 'demo', name), 'utf8');

const missing = await missingForMachines();
reportSkipped('real machines', missing);

describe.skipIf(missing !== undefined)(`real machines${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  let files: MachineFiles;
  let server: TestServer;
  let lab: Lab;
  let folder: string;
  const names = ['machine-1', 'machine-4'];

  beforeAll(async () => {
    files = await prepareMachines();
    folder = await mkdtemp(join(tmpdir(), 'anneal-machines-'));
    server = await startServer({
      lab: 0,
      gatewayHost: guestsView,
      env: {
        ANNEAL_GATEWAY_RAMDISK: files.ramdisk,
        ANNEAL_PROVISIONING_CLEAN_ON_PROVIDE: 'true',
        ANNEAL_PROVISIONING_BOOT_LOAD_SECONDS: '10',
        ANNEAL_PROVISIONING_IMAGES: 'any',
      },
    });
    lab = await startLab({
      machines: 4,
      directory: join(folder, 'lab'),
      host: '127.0.0.1',
      port: 0,
      bootSeconds: 0.1,
      environment: process.env,
      startAgent: () => Promise.reject(new Error('a real machine starts its own agent')),
      log: pino({ level: 'silent' }),
      isolation: 'qemu',
    });
  }, bootMs);
  afterAll(async () => {
    await lab?.stop();
    await server?.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  const directoryOf = (name: string): string => join(folder, 'lab', 'machines', name);
  const serial = async (name: string): Promise<string> =>
    (await readFile(serialLogOf(directoryOf(name)), 'latin1').catch(() => '')).slice(-1_500);
  const node = (name: string) => server.client.nodes.show({ node: name });
  const firstBytes = async (name: string): Promise<Buffer> => {
    const disk = await open(diskOf(directoryOf(name)), 'r');
    try {
      return (await disk.read(Buffer.alloc(4096), 0, 4096, 0)).buffer;
    } finally {
      await disk.close();
    }
  };
  async function allAre(state: string): Promise<void> {
    for (const name of names) {
      let last: unknown;
      await eventually(
        async () => {
          const found = await node(name);
          const { provision_state: now, last_error: error } = found;
          last = { now, error };
          if (/failed|error/.test(String(now)))
            throw new Error(`${name} is ${now}: ${JSON.stringify(error)}\n${await serial(name)}`);
          return now === state;
        },
        { within: bootMs, what: `${name} ${state}`, last: () => last },
      ).catch(async (error: unknown) => {
        throw new Error(`${String(error)}\n${await serial(name)}`);
      });
    }
  }

  it(
    'are cleaned, deployed with a verified image, configured from their disks, released and cleaned again',
    async () => {
      const password = join(folder, 'password');
      await writeFile(password, lab.password);
      const user = randomBytes(4096);
      for (const name of names) await writeFile(diskOf(directoryOf(name)), user);
      const enrol = async (name: string): Promise<void> => {
        const words = ['--address', lab.url, '--system', `/redfish/v1/Systems/${name}`, '--username', lab.username];
        const enrolled = await server.anneal('node', 'enrol', name, ...words, '--password-file', password);
        expect(enrolled).toMatchObject({ status: 0 });
      };
      // The server dies while a firmware loads the ramdisk. The firmware gives up, and the next server resets the machine.
      await enrol('machine-1');
      await eventually(async () => /Downloading/.test(await serial('machine-1')), {
        within: bootMs,
        what: 'the firmware loading the ramdisk',
        last: () => server.output(),
      });
      await server.kill();
      await server.start();
      await enrol('machine-4');
      // The server converts it, keeps it and serves it to the machines.
      const qcow2 = join(folder, 'disk.qcow2');
      await promisify(execFile)('qemu-img', ['convert', '-O', 'qcow2', '-c', files.image, qcow2]);
      const added = await server.anneal('image', 'add', 'small-debian', '--file', qcow2);
      expect(added, added.stderr).toMatchObject({ status: 0 });
      expect(added.stdout).toContain(
        createHash('sha256')
          .update(await readFile(files.image))
          .digest('hex'),
      );
      await allAre('available');
      expect(server.output()).toContain('firmware lost its boot file');
      for (const name of names) expect((await firstBytes(name)).equals(Buffer.alloc(4096))).toBe(true);
      expect((await node('machine-1'))['driver_info']).toBeDefined();

      await server.client.stacks.create({
        name: 'real',
        bundle: {
          template: await demoFile('real.yaml'),
          environmentFiles: [],
          files: { 'real-machine.yaml': await demoFile('real-machine.yaml') },
        },
      });
      // The server dies while an image is written. The machine repeats its report, and the next server continues.
      const writing = new Set<string>();
      await eventually(
        async () => {
          for (const name of names) {
            if (/anneal: writing small-debian/.test(await serial(name))) writing.add(name);
          }
          return writing.size === names.length;
        },
        { within: bootMs, what: 'both machines writing their images', last: () => [[...writing], server.output()] },
      );
      await server.kill();
      await server.start();
      await eventually(
        async () => {
          const { stack_status: status, stack_status_reason: reason } = await server.client.stacks.show({
            stack: 'real',
          });
          if (status === 'CREATE_FAILED')
            throw new Error(`${reason}\n${await serial('machine-1')}\n${await serial('machine-4')}`);
          return status === 'CREATE_COMPLETE';
        },
        { within: bootMs, what: 'the stack' },
      ).catch(async (error: unknown) => {
        throw new Error(`${String(error)}\n${await serial('machine-1')}\n==\n${await serial('machine-4')}`);
      });
      const { outputs = [] } = await server.client.stacks.show({ stack: 'real' });
      const value = (key: string): unknown => outputs.find(({ output_key: name }) => name === key)?.output_value;
      expect(value('sums')).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)]);
      expect(value('kernels')).toEqual([expect.stringMatching(/amd64$/), expect.stringMatching(/amd64$/)]);
      // The partition table of the image.
      for (const name of names) expect((await firstBytes(name)).toString('latin1', 512, 520)).toBe('EFI PART');

      await server.client.stacks.delete({ stack: 'real' });
      await allAre('available');
      for (const name of names) expect((await firstBytes(name)).equals(Buffer.alloc(4096))).toBe(true);
      expect((await stat(diskOf(directoryOf('machine-1')))).size).toBeGreaterThan(0);
    },
    2 * bootMs,
  );
});
