import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostToken } from '../testing/stand-ins.ts';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';
import { requestedPart } from '../http/requested-part.ts';
import { replaceIn } from './ramdisk.ts';

const none = { 'x-auth-token': '' };
const room = 1024;
const at = 700_000;
const names = ['vmlinuz', 'initrd.img', 'ramdisk.efi', 'ramdisk.iso'];
/** More than the buffers of a connection hold. */
const huge = 64 * 1024 * 1024;
/** Larger than one read of the file, with the area across the end of a read. */
const content = Buffer.alloc(1_000_000, 'x');
content.write('anneal.parameters'.padEnd(room), at);

describe('the files of the ramdisk', () => {
  let folder: string;
  let gateway: TestGateway;
  const writeManifest = async (sizes: Record<string, number>): Promise<void> => {
    const files: Record<string, object> = {};
    for (const name of names) {
      const area = name.startsWith('ramdisk')
        ? { parameters_at: at, parameters_size: room }
        : { parameters_at: -1, parameters_size: 0 };
      files[name] = { size: sizes[name] ?? content.length, sha256: '', ...area };
    }
    await writeFile(join(folder, 'ramdisk.json'), JSON.stringify({ format: 1, kernel: '6.1', files }));
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-ramdisk-'));
    for (const name of names) await writeFile(join(folder, name), content);
    await writeManifest({});
    gateway = await startTestGateway({ ANNEAL_GATEWAY_RAMDISK: folder });
  });
  afterAll(async () => {
    await gateway.stop();
    await rm(folder, { recursive: true });
  });
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}/boot/v1/${path}`, { headers });

  it('are followed while firmware loads them, until it has all or its connection is cut', async () => {
    const { reports: loads } = gateway.behind;
    await (await get('right-secret/boot.efi')).arrayBuffer();
    await (await get('right-secret/vmlinuz')).arrayBuffer();
    await (await get('right-secret/boot.iso')).arrayBuffer();
    const size = content.length;
    const begun = { secret: 'right-secret', sent: 0, size, done: false };
    await eventually(() => loads.length === 4, { what: 'the reports of two loads', last: () => loads });
    expect(loads).toEqual([begun, { ...begun, sent: size, done: true }, begun, { ...begun, sent: size }]);

    loads.length = 0;
    await truncate(join(folder, 'initrd.img'), huge);
    await writeManifest({ 'initrd.img': huge });
    // A reader that takes nothing fills the buffers of the connection, so the file cannot have been sent as a whole.
    const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1' });
    socket.write('GET /boot/v1/right-secret/initrd.img HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually(() => loads.length === 1, { what: 'the begin of a load', last: () => loads });
    socket.destroy();
    await eventually(() => loads.length === 2, { what: 'the cut of a load', last: () => loads });
    expect(loads[1]).toMatchObject({ done: false });
    await writeFile(join(folder, 'initrd.img'), content);
    await writeManifest({});
  });

  it.each(['boot.iso', 'boot.efi'])(
    'are the same for every machine in %s but for the address of its boot',
    async (name) => {
      const sent = Buffer.from(await (await get(`right-secret/${name}`)).arrayBuffer());
      const address = `anneal.boot=${gateway.context.gatewayUrl}/boot/v1/right-secret`;
      expect(sent.toString('latin1', at, at + room)).toBe(address.padEnd(room));
      sent.set(content.subarray(at, at + room), at);
      expect(sent.equals(content)).toBe(true);
      expect(sent.includes(hostToken)).toBe(false);
    },
  );

  it('are sent in the parts that a BMC asks for, with the area in each', async () => {
    const whole = Buffer.from(await (await get('right-secret/boot.iso')).arrayBuffer());
    for (const [from, to] of [
      [0, 0],
      [at - 10, at + 5],
      [at + 5, at + room + 5],
      [999_990, 1_000_500],
    ] as const) {
      const part = await get('right-secret/boot.iso', { range: `bytes=${from}-${to}` });
      expect(part.status).toBe(206);
      expect(part.headers.get('content-range')).toBe(`bytes ${from}-${Math.min(to, 999_999)}/1000000`);
      expect(Buffer.from(await part.arrayBuffer()).equals(whole.subarray(from, to + 1))).toBe(true);
    }
    expect((await get('right-secret/boot.iso', { range: 'bytes=1000000-' })).status).toBe(416);
    const head = await fetch(`${gateway.url}/boot/v1/right-secret/boot.iso`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), head.headers.get('accept-ranges')]).toEqual([
      200,
      '1000000',
      'bytes',
    ]);
  });

  it('are sent to no one with a wrong secret', async () => {
    expect((await get('wrong-secret/boot.iso')).status).toBe(404);
    expect((await get('wrong-secret/boot.ipxe')).status).toBe(404);
  });

  it('are named in the script that iPXE gets, which loads them', async () => {
    for (const [path, agent] of [
      ['right-secret', 'iPXE/1.21.1'],
      ['right-secret/boot.ipxe', 'curl'],
    ] as const) {
      const script = await (await get(path, { 'user-agent': agent })).text();
      expect(script).toMatch(/^#!ipxe\n/);
      expect(script).toContain(`anneal.boot=${gateway.context.gatewayUrl}/boot/v1/right-secret\n`);
    }
    for (const name of ['vmlinuz', 'initrd.img']) {
      const sent = Buffer.from(await (await get(`right-secret/${name}`)).arrayBuffer());
      expect(sent.equals(content)).toBe(true);
    }
  });

  it('are missing with the command that builds them', async () => {
    await rm(join(folder, 'ramdisk.json'));
    const { status, json } = await gateway.call('GET', '/boot/v1/right-secret/vmlinuz', undefined, none);
    expect([status, json['error']?.['message']]).toEqual([404, expect.stringContaining('npm run build:ramdisk')]);
  });
});

describe('a part of a file', () => {
  it.each([
    ['bytes=0-9', { start: 0, end: 10 }],
    ['bytes=90-', { start: 90, end: 100 }],
    ['bytes=-5', { start: 95, end: 100 }],
    ['bytes=100-', 'unsatisfiable'],
    ['bytes=9-8', 'unsatisfiable'],
    ['bytes=0-1,5-6', undefined],
    ['lines=1-2', undefined],
    [undefined, undefined],
  ])('%s is understood', (header, part) => expect(requestedPart(header, 100)).toEqual(part));

  it('has the part of the area that lies in it', () => {
    const area = { at: 10, bytes: Buffer.from('ABCDE') };
    for (const [position, text] of [
      [0, '..........ABCDE.....'],
      [12, 'CDE.................'],
      [15, '.'.repeat(20)],
    ] as const) {
      const bytes = Buffer.alloc(20, '.');
      replaceIn(bytes, position, area);
      expect(bytes.toString()).toBe(text);
    }
  });
});
