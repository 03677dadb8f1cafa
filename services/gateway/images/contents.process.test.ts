import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatOf, ImageContents, type Upload } from './contents.ts';

let folder: string;
let stopping: AbortController;
let contents: ImageContents;
const path = process.env['PATH'];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-images-'));
  stopping = new AbortController();
  let count = 0;
  contents = new ImageContents({
    folder: join(folder, 'images'),
    limit: { bytes: 8 * 2 ** 20, setting: 'ANNEAL_GATEWAY_IMAGE_LIMIT' },
    newId: () => String((count += 1)),
    now: Date.now,
    stopping: stopping.signal,
  });
});
afterEach(async () => {
  process.env['PATH'] = path;
  await rm(folder, { recursive: true, force: true });
});

const sumOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const upload = (content: Readable | Buffer, more: Partial<Upload> = {}): Upload => ({
  content: Buffer.isBuffer(content) ? Readable.from([content]) : content,
  size: undefined,
  sha256: undefined,
  format: undefined,
  ...more,
});
const keep = (given: Upload): Promise<{ sha256: string; size: number }> =>
  contents.receive(given, async ({ sha256, size, keep: store }) => {
    await store();
    return { sha256, size };
  });
/** Every file of the folder. */
const files = async (): Promise<string[]> =>
  (await readdir(join(folder, 'images'), { recursive: true })).filter((name) => name !== 'incoming').toSorted();

describe('the contents of images', () => {
  it('I1: are files with their checksums as names', async () => {
    const bytes = randomBytes(300_000);
    const sha256 = sumOf(bytes);
    const parts = Readable.from([bytes.subarray(0, 100), bytes.subarray(100)]);
    expect(await keep(upload(parts, { sha256, size: bytes.length }))).toEqual({ sha256, size: bytes.length });
    expect(await files()).toEqual([sha256, `${sha256}.map`]);
    const { content, size } = await contents.read(sha256);
    expect(size).toBe(bytes.length);
    expect((await buffer(content())).equals(bytes)).toBe(true);
    const part = { start: 70, end: 200_000 };
    expect((await buffer(content(part))).equals(bytes.subarray(70, 200_000))).toBe(true);
    expect(await contents.dataOf(sha256)).toEqual({ runs: [[0, 4]], size: bytes.length, sha256 });
    await contents.remove(sha256);
    expect(await files()).toEqual([]);
    expect(await contents.dataOf(sha256)).toBeUndefined();
    await expect(contents.read(sha256)).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('I1: a broken upload leaves nothing', async () => {
    const broken = new Readable({ read: () => undefined });
    broken.push(randomBytes(1000));
    const failed = keep(upload(broken));
    broken.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
    await expect(failed).rejects.toMatchObject({ code: 'InvalidRequest' });
    await expect(contents.receive(upload(randomBytes(10)), () => Promise.reject(new Error('no')))).rejects.toThrow(
      'no',
    );
    const silent = new Readable({ read: () => undefined });
    const stopped = keep(upload(silent));
    stopping.abort();
    await expect(stopped).rejects.toMatchObject({ code: 'Unavailable' });
    expect(await files()).toEqual([]);
  });

  it('are refused with another checksum, above the limit, and empty', async () => {
    await expect(keep(upload(randomBytes(10), { sha256: 'a'.repeat(64) }))).rejects.toThrow('Send it again');
    await expect(keep(upload(randomBytes(9 * 2 ** 20)))).rejects.toMatchObject({ code: 'TooLarge' });
    await expect(keep(upload(randomBytes(10), { size: 2 ** 30 }))).rejects.toMatchObject({ code: 'TooLarge' });
    await expect(keep(upload(Readable.from([])))).rejects.toThrow('no content');
    expect(await files()).toEqual([]);
  });

  it('removes what a killed process left in an upload, and nothing that may be in progress', async () => {
    const incoming = join(folder, 'images', 'incoming');
    await mkdir(incoming, { recursive: true });
    for (const name of ['old', 'new']) await writeFile(join(incoming, name), name);
    const hoursAgo = Date.now() / 1000 - 2 * 3600;
    await utimes(join(incoming, 'old'), hoursAgo, hoursAgo);
    await contents.removeBroken();
    expect(await files()).toEqual([join('incoming', 'new')]);
  });

  it.for([
    ['gzip', Buffer.from([0x1f, 0x8b, 8])],
    ['xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0])],
    ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd])],
    ['VMDK', Buffer.from('KDMV')],
  ] as const)('no machine can write %s', ([name, start]) => {
    expect(() => formatOf(start, undefined)).toThrow(name);
  });
});

const hasTool = await promisify(execFile)('qemu-img', ['--version']).then(
  () => true,
  () => false,
);

describe.skipIf(!hasTool)(`a qcow2 image${hasTool ? '' : ' (skipped: no qemu-img)'}`, () => {
  const convert = async (from: Buffer): Promise<Buffer> => {
    await writeFile(join(folder, 'raw'), from);
    const parameters = ['convert', '-f', 'raw', '-O', 'qcow2', '-c', join(folder, 'raw'), join(folder, 'qcow2')];
    await promisify(execFile)('qemu-img', parameters);
    return readFile(join(folder, 'qcow2'));
  };

  it('is kept as raw content', async () => {
    const raw = Buffer.concat([Buffer.alloc(4 * 2 ** 20), randomBytes(65_536), Buffer.alloc(3 * 2 ** 20)]);
    const qcow2 = await convert(raw);
    expect(await keep(upload(qcow2, { sha256: sumOf(qcow2) }))).toEqual({ sha256: sumOf(raw), size: raw.length });
    expect(await files()).toEqual([sumOf(raw), `${sumOf(raw)}.map`]);
    expect(await contents.dataOf(sumOf(raw))).toMatchObject({ runs: [[4, 4]], size: raw.length - 4 * 2 ** 20 });
    await expect(keep(upload(qcow2, { format: 'raw' }))).rejects.toThrow('in the format qcow2');
  });

  it('is refused with a larger disk than the limit, when it is damaged, and without the tool', async () => {
    await promisify(execFile)('qemu-img', ['create', '-q', '-f', 'qcow2', join(folder, 'large'), '1G']);
    await expect(keep(upload(await readFile(join(folder, 'large'))))).rejects.toMatchObject({ code: 'TooLarge' });
    const qcow2 = await convert(randomBytes(65_536));
    const damaged = keep(upload(qcow2.subarray(0, -100_000)));
    await expect(damaged).rejects.toMatchObject({ code: 'InvalidRequest' });
    await expect(damaged).rejects.not.toThrow(folder);
    process.env['PATH'] = folder;
    await expect(keep(upload(qcow2))).rejects.toMatchObject({ code: 'Unavailable', message: /no qemu-img/ });
    expect(await files()).toEqual([]);
  });
});
