/** A machine that cannot write its image says whether the image, its disk or another part is at fault. Runs the script with sh. */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BootSeed } from '@anneal/contracts/calls/boot.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bootScript } from './steps.ts';

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

describe('a machine that cannot write its image', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'anneal-unwritten-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const image = randomBytes(3 * 2 ** 20);
  const sum = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

  /** Runs commands of the script beside a server of images, and gives what the machine reported and asked for. */
  async function fails(options: {
    content?: Buffer;
    image?: Partial<NonNullable<BootSeed['image']>>;
    answers?: (request: number, response: ServerResponse) => boolean;
    root_device?: BootSeed['root_device'];
    before?: string;
    commands: string;
  }): Promise<{ report: Record<string, string>; asked: number; disk: Buffer }> {
    const { content = image, answers = () => false, before = '', commands, root_device } = options;
    let asked = 0;
    let report = '';
    const server = createServer((request, response) => {
      if (request.method === 'POST') {
        const isReport = request.url === '/boot/v1/report';
        request.on('data', (chunk: Buffer) => (report += isReport ? chunk.toString() : ''));
        request.on('end', () => response.writeHead(204).end());
        return;
      }
      asked += 1;
      if (answers(asked, response)) return;
      response.writeHead(200, { 'content-length': content.length }).end(content);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    try {
      const gateway_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const url = `${gateway_url}/disk.img`;
      const script = bootScript({
        ...seed,
        gateway_url,
        ...(root_device && { root_device }),
        image: {
          name: 'debian',
          url,
          sha256: sum(image),
          size: image.length,
          ...options.image,
          ...(options.image?.url !== undefined && {
            url: options.image.url.replace('PORT', new URL(gateway_url).port),
          }),
        },
      });
      const functions = script.trimEnd().split('\n').slice(0, -1).join('\n');
      const disk = join(folder, 'disk');
      writeFileSync(disk, Buffer.alloc(8 * 2 ** 20, 1));
      const safe = 'poweroff() { :; }; sync() { :; }; sleep() { :; }';
      writeFileSync(join(folder, 'script.sh'), `${functions}\n${safe}\n${before}\nbest=..${disk}\n${commands}\n`);
      const env = { ...process.env, run: folder, caches: join(folder, 'caches'), most_tries: '3' };
      const ran = promisify(execFile)('sh', [join(folder, 'script.sh')], { env, cwd: folder });
      await expect(ran).rejects.toMatchObject({ code: 1 });
      return { report: JSON.parse(report) as Record<string, string>, asked, disk: readFileSync(disk) };
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  it('blames the image when the server sends another content, and leaves a disk that does not boot', async () => {
    const content = randomBytes(image.length);
    const { report, asked, disk } = await fails({ content, commands: 'write_image' });
    expect(report).toMatchObject({ status: 'failed', code: 'ImageUnusable' });
    expect(report['message']).toContain(`/disk.img is ${sum(content)}, but it is registered with ${sum(image)}`);
    expect(report['message']).toContain(`${image.length} bytes (the server sends ${content.length} bytes)`);
    expect(asked).toBe(2);
    expect(disk.subarray(0, 2 ** 20).equals(Buffer.alloc(2 ** 20))).toBe(true);
  });

  it('blames the image when the server sends another number of bytes', async () => {
    for (const content of [image.subarray(5), Buffer.concat([image, image])]) {
      const { report, asked } = await fails({ content, commands: 'write_image' });
      expect(report).toMatchObject({ status: 'failed', code: 'ImageUnusable' });
      expect(report['message']).toMatch(
        new RegExp(`/disk.img has ${content.length} bytes, but it is registered with ${image.length} bytes$`),
      );
      expect(asked).toBe(1);
    }
  });

  it('blames the machine when the right content arrives and the disk has another', async () => {
    const before = 'head() { command head "$@" | tr "\\000" "\\001"; }';
    const { report, asked } = await fails({ before, commands: 'write_image' });
    expect(report['code']).toBeUndefined();
    expect(report['message']).toMatch(/or the network of this machine changed image debian while it was written/);
    expect(asked).toBe(2);
  });

  it('gives up at once when the server refuses, and after some attempts when it does not answer', async () => {
    const refused = await fails({
      answers: (_asked, response) => Boolean(response.writeHead(404).end()),
      commands: 'write_image',
    });
    expect(refused).toMatchObject({ asked: 1, report: { status: 'failed', code: 'ImageUnusable' } });
    expect(refused.report['message']).toMatch(
      /cannot fetch image debian: its server refuses it with status 404: http.*disk\.img: .* \(0 of 3 MiB arrived\)/,
    );
    const busy = await fails({
      answers: (_asked, response) => Boolean(response.writeHead(503).end()),
      commands: 'write_image',
    });
    expect(busy).toMatchObject({ asked: 3, report: { status: 'failed', unreachable: true } });
    expect(busy.report['message']).toMatch(/^the server of image debian \(http.*\) answers with status 503: /);
    const away = await fails({
      answers: (asked, response) => {
        // The server ends in the third MiB.
        if (asked > 1) return Boolean(response.destroy());
        response.writeHead(200, { 'content-length': image.length });
        response.write(image.subarray(0, 2.5 * 2 ** 20), () => response.destroy());
        return true;
      },
      commands: 'write_image',
    });
    expect(away).toMatchObject({ asked: 4, report: { unreachable: true } });
    expect(away.report['message']).toMatch(
      /^the connection of this machine to .* breaks off: .*\(2 of 3 MiB arrived\)$/,
    );
  });

  it.each([
    [
      'http://user:word@no-such-name.invalid/disk.img?token=secret',
      /^this machine cannot resolve the name of .*\?\.\.\.\)/,
    ],
    [
      'http://user:word@127.0.0.1:1/disk.img',
      /^this machine cannot connect to the server of image debian \(http:\/\/127/,
    ],
    ['https://user:word@localhost:PORT/disk.img', /^this machine gets no trusted TLS connection to /],
  ])('says that it does not reach the server at %s, without its credentials', async (url, text) => {
    const { report } = await fails({ image: { url }, commands: 'write_image' });
    expect(report).toMatchObject({ status: 'failed', unreachable: true });
    expect(report['code']).toBeUndefined();
    expect(report['message']).toMatch(text);
    expect(report['message']).not.toMatch(/user|word|secret/);
  });

  it('says that it does not reach the server when the second fetch for a wrong checksum fails', async () => {
    const { report } = await fails({
      content: randomBytes(image.length),
      answers: (asked, response) => asked > 1 && Boolean(response.destroy()),
      commands: 'write_image',
    });
    expect(report).toMatchObject({ status: 'failed', unreachable: true });
    expect(report['message']).toMatch(/cannot be fetched again to find out why: curl: /);
  });

  it('blames the machine when its disk cannot be written', async () => {
    const before = 'dd() { case "$*" in *if=*) ;; *) echo "dd: error writing: I/O error" >&2; return 1 ;; esac; }';
    const { report } = await fails({ before, commands: 'write_image' });
    expect(report['code']).toBeUndefined();
    expect(report['message']).toMatch(/^cannot write image debian to .*: dd: error writing: I\/O error$/);
  });

  const disks = 'disks() { echo sda; }; wait_for_disks() { :; }; bytes_of() { echo 4294967296; }';
  it('says that the disk is too small, or that the hints fit none', async () => {
    const large = { size: 5 * 2 ** 30 };
    const small = await fails({ image: large, before: disks, commands: 'choose_disk' });
    expect(small.report).toMatchObject({
      code: 'DiskTooSmall',
      message: expect.stringMatching(
        /^no disk holds image debian of 5368709120 bytes and 64 MiB .*: \/dev\/sda \(4 GiB/,
      ),
    });
    const hinted = await fails({ root_device: { name: '/dev/sdb' }, before: disks, commands: 'choose_disk' });
    expect(hinted.report['code']).toBeUndefined();
    expect(hinted.report['message']).toMatch(
      /^no disk fits the hints of root_device \(name = \/dev\/sdb\); there are: \/dev\/sda/,
    );
  });

  it('blames an image without content', async () => {
    const { report } = await fails({ image: { url: '' }, commands: 'deploy' });
    expect(report).toMatchObject({
      code: 'ImageUnusable',
      message: 'there is no content of image debian to write: anneal image add debian',
    });
  });
});
