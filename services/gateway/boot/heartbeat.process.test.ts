/** The heartbeats of the script that writes an image, under the shell and the programs of the ramdisk: those of busybox. */
import { execFile, execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bootSeedSchema, type BootSeed } from '@anneal/contracts/calls/boot.ts';
import { heartbeatShape } from '@anneal/contracts/node-progress.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bootScript } from './steps.ts';

const heartbeatSchema = z.strictObject(heartbeatShape);
type Sent = z.infer<typeof heartbeatSchema>;

const seed: BootSeed = {
  format: 1,
  purpose: 'deploy',
  host_id: 'h1',
  hostname: 'web1',
  gateway_url: 'http://127.0.0.1:1',
  project: 'p1',
  token: 'host-token',
  requests_queue: 'h1.requests',
  responses_queue: 'h1.responses',
  user_data: '',
  metadata: {},
  report_token: 'report-token',
  image_name: 'debian',
};

const busybox = await promisify(execFile)('busybox', ['--list']).then(
  ({ stdout }) => stdout.split('\n').filter((name) => name !== ''),
  () => undefined,
);

describe.each(busybox === undefined ? ['sh'] : ['sh', 'busybox'])('heartbeats of a machine that runs %s', (shell) => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'anneal-heartbeat-'));
    path = process.env['PATH'] ?? '';
    if (shell !== 'busybox') return;
    const programs = join(folder, 'bin');
    mkdirSync(programs);
    const where = (name: string): string =>
      execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
    const program = where('busybox');
    for (const applet of busybox ?? []) symlinkSync(program, join(programs, applet));
    symlinkSync(where('curl'), join(programs, 'curl'));
    path = programs;
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Runs commands of the script beside a server of the image, until so many heartbeats have come. Drops each when `isLost`. */
  async function run(options: {
    image: Buffer;
    change?: Partial<BootSeed>;
    isLost?: boolean;
    commands: string;
    fails?: boolean;
    count?: number;
  }): Promise<{ sent: Sent[]; reports: string[]; disk: Buffer }> {
    const { image, change = {}, isLost = false, commands, fails = false, count = 1 } = options;
    const sent: Sent[] = [];
    const reports: string[] = [];
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        if (request.method === 'GET') return response.writeHead(200, { 'content-length': image.length }).end(image);
        expect(request.headers['x-auth-token']).toBe('report-token');
        if (request.url === '/boot/v1/report') reports.push(text);
        else sent.push(heartbeatSchema.parse(JSON.parse(text)));
        return isLost ? request.socket.destroy() : response.writeHead(200).end('{}');
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    try {
      const gateway_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const sha256 = createHash('sha256').update(image).digest('hex');
      const source = { name: 'debian', url: `${gateway_url}/disk.img`, sha256, size: image.length };
      const script = bootScript(bootSeedSchema.parse({ ...seed, gateway_url, image: source, ...change }));
      const functions = script.trimEnd().split('\n').slice(0, -1).join('\n');
      const disk = join(folder, 'disk');
      writeFileSync(disk, Buffer.alloc(image.length + 2 ** 20, 1));
      const safe = 'poweroff() { :; }; sync() { :; }; sleep() { :; }';
      writeFileSync(join(folder, 'script.sh'), `${functions}\n${safe}\nbest=..${disk}\n${commands}\nwait\n`);
      const env = { PATH: path, run: folder, vm: folder, beat_every: '0', piece_mib: '1', most_tries: '2' };

      const [program, more] = shell === 'busybox' ? ['busybox', ['sh']] : ['sh', []];
      const ran = promisify(execFile)(program, [...more, join(folder, 'script.sh')], { env, cwd: folder });
      if (fails) await expect(ran).rejects.toMatchObject({ code: 1 });
      else await ran;
      // The last one may still be on its way.
      if (!isLost)
        await eventually(() => sent.length >= count || undefined, { what: `${count} heartbeats`, last: () => sent });
      return { sent: sent.toSorted((a, b) => a.uptime_ms - b.uptime_ms), reports, disk: readFileSync(disk) };
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  const image = randomBytes(3 * 2 ** 20 + 17);
  const bytesOf = (sent: readonly Sent[], phase: Sent['phase']): number[] =>
    sent
      .filter((each) => each.phase === phase)
      .map(({ bytes }) => bytes)
      .toSorted((a, b) => a - b);

  it('say how much of the image is written and read back', async () => {
    const { sent, disk } = await run({ image, commands: 'write_image', count: 8 });
    expect(bytesOf(sent, 'writing')).toEqual([0, 1, 2, 3].map((mib) => mib * 2 ** 20));
    expect(bytesOf(sent, 'checking')).toEqual([0, 1, 2, 3].map((mib) => mib * 2 ** 20));
    expect(new Set(sent.map(({ total }) => total))).toEqual(new Set([image.length]));
    expect(disk.subarray(0, image.length).equals(image)).toBe(true);
  });

  it('fail nothing when they are lost', async () => {
    const { disk } = await run({ image, commands: 'write_image', isLost: true });
    expect(disk.subarray(0, image.length).equals(image)).toBe(true);
  });

  it('are sent at most every 10 seconds in a phase', async () => {
    const { sent } = await run({ image, commands: 'beat_every=10; write_image', count: 2 });
    expect(sent.map(({ phase, bytes }) => [phase, bytes])).toEqual([
      ['writing', 0],
      ['checking', 0],
    ]);
  });

  it('name the problem of an interrupted download', async () => {
    const url = 'http://127.0.0.1:1/disk.img';
    const change = { image: { name: 'debian', url, sha256: 'a'.repeat(64), size: image.length } };
    const { sent, reports } = await run({ image, change, commands: 'write_image', fails: true, count: 2 });
    expect(sent.map(({ problem }) => problem ?? '').join('\n')).toMatch(/image interrupted: curl: \(7\) .*0 of 3 MiB/);
    expect(reports).toHaveLength(1);
  });

  it('say how much of the disks is overwritten, and overwrite all of it', async () => {
    const size = image.length + 2 ** 20;
    const part = size - (size % 512);
    const commands = `bytes_of() { echo ${part}; }; erased=1000; erase_total=9000000; overwrite ..${join(folder, 'disk')}`;
    const { sent, disk } = await run({ image, change: { purpose: 'clean', token: 'report-token' }, commands });
    expect(sent).toMatchObject([{ phase: 'erasing', bytes: 1000, total: 9_000_000 }]);
    expect(disk.subarray(0, part).equals(Buffer.alloc(part))).toBe(true);
    expect(disk.length).toBe(size);
  });
});
