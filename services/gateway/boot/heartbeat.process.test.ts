/** The script that writes an image and says how far it is, under the shell and the programs of the ramdisk: those of busybox. */
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
import { DataMapper, type DataMap } from '../images/data-map.ts';
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

  const bytesOf = (sent: readonly Sent[], phase: Sent['phase']): number[] =>
    sent
      .filter((each) => each.phase === phase)
      .map(({ bytes }) => bytes)
      .toSorted((a, b) => a - b);

  /** Runs commands of the script beside a server of the image, until so many heartbeats have come. Drops each when `isLost`. */
  async function run(options: {
    image: Buffer;
    change?: Partial<BootSeed>;
    isLost?: boolean;
    commands: string;
    fails?: boolean;
    count?: number;
    checks?: number;
    data?: DataMap;
    hasParts?: boolean;
  }): Promise<{ sent: Sent[]; reports: string[]; asked: string[]; disk: Buffer }> {
    const {
      image,
      change = {},
      isLost = false,
      commands,
      fails = false,
      count = 1,
      checks = 0,
      data,
      hasParts = true,
    } = options;
    const asked: string[] = [];
    const sent: Sent[] = [];
    const reports: string[] = [];
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        if (request.method === 'GET') {
          const { range = '' } = request.headers;
          asked.push(range);
          const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(hasParts ? range : '') ?? [];
          const part = image.subarray(Number(from ?? 0), to ? Number(to) + 1 : image.length);
          return response.writeHead(from === undefined ? 200 : 206, { 'content-length': part.length }).end(part);
        }
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
      const script = bootScript(bootSeedSchema.parse({ ...seed, gateway_url, image: source, ...change }), data);
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
      const isComplete = (): boolean => sent.length >= count && bytesOf(sent, 'checking').length >= checks;
      if (!isLost) await eventually(() => isComplete() || undefined, { what: 'the heartbeats', last: () => sent });
      return { sent: sent.toSorted((a, b) => a.uptime_ms - b.uptime_ms), reports, asked, disk: readFileSync(disk) };
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  const image = randomBytes(3 * 2 ** 20 + 17);
  it('say how much of the image is written and read back', async () => {
    const { sent, disk } = await run({ image, commands: 'write_image', count: 8 });
    expect(bytesOf(sent, 'writing')).toEqual([0, 1, 2, 3].map((mib) => mib * 2 ** 20));
    expect(bytesOf(sent, 'checking')).toEqual([0, 1, 2, 3].map((mib) => mib * 2 ** 20));
    expect(new Set(sent.map(({ total }) => total))).toEqual(new Set([image.length]));
    expect(disk.subarray(0, image.length).equals(image)).toBe(true);
  });

  describe('beside an image with holes', () => {
    const mib = 2 ** 20;
    const [first, second, third] = [randomBytes(8 * mib), randomBytes(4 * mib), randomBytes(3 * mib + 17)];
    const sparse = Buffer.concat([
      Buffer.alloc(4 * mib),
      first,
      Buffer.alloc(8 * mib),
      second,
      Buffer.alloc(4 * mib),
      third,
    ]);
    const calm = 'beat_every=10; piece_mib=4; write_image';
    const mapOf = (content: Buffer): DataMap => {
      const mapper = new DataMapper();
      mapper.add(content);
      return mapper.end();
    };
    const holdsImage = (disk: Buffer, content: Buffer): boolean => disk.subarray(0, content.length).equals(content);

    it('cover the data that is fetched and read back, and zeros are written where it has holes', async () => {
      const { asked, disk, sent } = await run({
        image: sparse,
        data: mapOf(sparse),
        commands: 'piece_mib=4; write_image',
        checks: 4,
      });
      expect(holdsImage(disk, sparse)).toBe(true);
      const until = (from: number, to: number): string => `bytes=${from * mib}-${to * mib - 1}`;
      expect(asked).toEqual([until(4, 12), until(20, 24), `bytes=${28 * mib}-`]);
      const checked = bytesOf(sent, 'checking').map((bytes) => bytes / mib);
      expect(checked).toEqual([4, 8, 20, 28]);
    });

    it('write a hole at the end, and an image of zeros only', async () => {
      const ends = sparse.subarray(0, 16 * mib + 100);
      expect(holdsImage((await run({ image: ends, data: mapOf(ends), commands: calm })).disk, ends)).toBe(true);
      const empty = Buffer.alloc(5 * mib);
      const { asked, disk } = await run({ image: empty, data: mapOf(empty), commands: calm });
      expect(asked).toEqual([]);
      expect(holdsImage(disk, empty)).toBe(true);
    });

    it('write all of it when a server on the way sends no parts', async () => {
      const options = { image: sparse, data: mapOf(sparse), commands: calm };
      const { asked, disk } = await run({ ...options, hasParts: false });
      expect(asked).toEqual([`bytes=${4 * mib}-${12 * mib - 1}`, '']);
      expect(holdsImage(disk, sparse)).toBe(true);
    });

    it('fail when the data on the disk is not that of the map', async () => {
      const data = { ...mapOf(sparse), sha256: 'a'.repeat(64) };
      const { reports } = await run({ image: sparse, data, commands: calm, fails: true });
      expect(reports.join()).toMatch(
        /changed image debian while it was written: its checksum is .* on the disk, not aaaa/,
      );
    });
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
