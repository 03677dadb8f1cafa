/** A real machine in QEMU that cannot write its image: it says why, its server fails at once, and it becomes available again. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLab, type Lab } from '@anneal/lab/lab.ts';
import { diskOf, serialLogOf } from '@anneal/lab/qemu/qemu.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../e2e/server.ts';
import { missingForMachines, prepareMachines } from './prepare.ts';
import { reportSkipped } from '../backends/missing.ts';

const guestsView = '10.0.2.2';
/** Emulated processors: minutes on a busy computer. */
const bootMs = 900_000;
const content = randomBytes(5 * 2 ** 20);
const sum = (of: Buffer | string): string => createHash('sha256').update(of).digest('hex');

const missing = await missingForMachines();
reportSkipped('real machines', missing);

describe.skipIf(missing !== undefined)(`a real machine${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  let server: TestServer;
  let lab: Lab;
  let images: Server;
  let folder: string;
  let fetches = 0;

  beforeAll(async () => {
    const files = await prepareMachines();
    folder = await mkdtemp(join(tmpdir(), 'anneal-unwritten-'));
    images = createServer((_request, response) => {
      fetches += 1;
      response.writeHead(200, { 'content-length': content.length }).end(content);
    });
    await new Promise<void>((resolve) => void images.listen(0, '127.0.0.1', resolve));
    server = await startServer({
      lab: 0,
      gatewayHost: guestsView,
      env: { ANNEAL_GATEWAY_RAMDISK: files.ramdisk, ANNEAL_PROVISIONING_BOOT_LOAD_SECONDS: '20' },
    });
    lab = await startLab({
      machines: 2,
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
    images?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const directoryOf = (name: string): string => join(folder, 'lab', 'machines', name);
  const serial = async (name: string): Promise<string> =>
    (await readFile(serialLogOf(directoryOf(name)), 'latin1').catch(() => '')).slice(-2_000);
  const isAvailable = (name: string): Promise<unknown> => {
    let last: unknown;
    return eventually(
      async () => {
        last = await server.client.nodes.show({ node: name });
        return (last as { provision_state: string }).provision_state === 'available';
      },
      { within: bootMs, what: `${name} available`, last: () => last },
    ).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${await serial(name)}`);
    });
  };

  it(
    'blames a wrong image, and becomes available again while no second node is used',
    async () => {
      const password = join(folder, 'password');
      await writeFile(password, lab.password);
      for (const name of ['machine-1', 'machine-2']) {
        const words = ['--address', lab.url, '--system', `/redfish/v1/Systems/${name}`, '--username', lab.username];
        const enrolled = await server.anneal('node', 'enrol', name, ...words, '--password-file', password);
        expect(enrolled, enrolled.stderr).toMatchObject({ status: 0 });
        await isAvailable(name);
      }
      const url = `http://${guestsView}:${(images.address() as AddressInfo).port}/disk.img`;
      const about = ['--url', url, '--sha256', sum('another'), '--size', String(content.length)];
      const added = await server.anneal('image', 'add', 'wrong', ...about);
      expect(added, added.stderr).toMatchObject({ status: 0 });
      const template = `
heat_template_version: 2021-04-16
resources:
  server: { type: OS::Nova::Server, properties: { image: wrong, flavor: baremetal } }
`;
      await server.client.stacks.create({ name: 'wrong', bundle: { template, environmentFiles: [], files: {} } });
      let last: unknown;
      await eventually(
        async () => {
          last = await server.client.stacks.show({ stack: 'wrong' });
          return (last as { stack_status: string }).stack_status === 'CREATE_FAILED';
        },
        { within: bootMs, what: 'the failure', last: () => last },
      ).catch(async (error: unknown) => {
        throw new Error(`${String(error)}\n${await serial('machine-1')}`);
      });
      const { stdout } = await server.anneal('stack', 'failures', 'wrong');
      expect(stdout).toContain(
        `the checksum of image wrong at ${url} is ${sum(content)}, but it is registered with ${sum('another')}`,
      );
      expect(stdout).toContain('No other node is tried');
      expect(stdout).toContain('(ImageUnusable)');
      expect(fetches).toBe(2);
      await isAvailable('machine-1');
      expect((await server.anneal('node', 'history', 'machine-2')).stdout).not.toContain('deploying');
      const disk = await open(diskOf(directoryOf('machine-1')), 'r');
      try {
        const { buffer } = await disk.read(Buffer.alloc(4096), 0, 4096, 0);
        expect(buffer.equals(Buffer.alloc(4096))).toBe(true);
      } finally {
        await disk.close();
      }
    },
    2 * bootMs,
  );
});
