/**
 * The contents of uploaded images: files of one folder, named by the SHA-256 of their bytes.
 *
 * I1 A file with such a name is complete, durable and has that checksum. A broken upload leaves only a file in
 *    `incoming`, which is removed.
 * I2 Several gateways of one installation may share the folder: each step is a rename or a removal.
 * I3 The map of the data of a content (`data-map.ts`) is beside it, as SHA.map. Contents of older versions have none.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, type ReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { isSha256 } from '@anneal/contracts/readers/checksum.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { uploadFormats } from '@anneal/contracts/calls/images.ts';
import { DataMapper, readDataMap, writeDataMap, type DataMap } from './data-map.ts';
import { diskSizeOf, isQcow2 } from './qcow2.ts';

interface KeptContent {
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
}

interface MappedContent extends KeptContent {
  readonly map: DataMap;
}

/** Bytes from `start` to before `end`. */
interface FilePart {
  readonly start: number;
  readonly end: number;
}

/** A raw content that has arrived. */
export interface ReceivedContent extends KeptContent {
  /** Durable on return: the folder has it under its checksum (I1). */
  readonly keep: () => Promise<void>;
}

/** The content that a client sends, with the facts that it states. */
export interface Upload {
  readonly content: Readable;
  /** The length of the content in bytes, where the client states it. */
  readonly size: number | undefined;
  /** Checksum of the bytes that the client sends. */
  readonly sha256: string | undefined;
  /** Absent: as the content begins. */
  readonly format: (typeof uploadFormats)[number] | undefined;
}

export interface ContentOptions {
  readonly folder: string;
  readonly limit: { readonly bytes: number; readonly setting: string };
  readonly newId: () => string;
  readonly now: () => number;
  /** Aborted when the process has to stop. */
  readonly stopping: AbortSignal;
}

/** Long enough for a large disk on a slow device, and shorter than clients wait for an answer. */
const convertMs = 240_000;
const idleMs = 60_000;
/** Another process may still write to a younger file. */
const brokenMs = 3_600_000;
/** Bytes that stay free, so that the database beside the folder can go on. */
const spareBytes = 512 * 2 ** 20;

export class ImageContents {
  readonly #options: ContentOptions;

  constructor(options: ContentOptions) {
    this.#options = options;
  }

  /**
   * Takes an upload as raw content, for `use`, which keeps it or not. A qcow2 image is converted by `qemu-img`.
   * @throws AnnealError InvalidRequest for content that no machine can write or that is not what the client stated,
   *   TooLarge, Unavailable without room or without `qemu-img`
   */
  async receive<T>(upload: Upload, use: (content: ReceivedContent) => Promise<T>): Promise<T> {
    // The stream may be destroyed before or after it is read.
    upload.content.on('error', () => undefined);
    const incoming = join(this.#options.folder, 'incoming');
    await mkdir(incoming, { recursive: true, mode: 0o700 });
    const file = join(incoming, this.#options.newId());
    try {
      await this.#refuseSize(upload.size ?? 0);
      const { start, ...received } = await this.#write(upload, file);
      if (received.size === 0) throw new AnnealError('InvalidRequest', 'The image has no content.');
      if (upload.sha256 !== undefined && upload.sha256 !== received.sha256) {
        const stated = `The content that arrived has the checksum ${received.sha256} and ${received.size} bytes`;
        throw new AnnealError('InvalidRequest', `${stated}, not the checksum ${upload.sha256}. Send it again.`);
      }
      const format = formatOf(start, upload.format);
      if (format === 'qcow2') await this.#convert(file, diskSizeOf(start));
      const raw = format === 'qcow2' ? `${file}.raw` : file;
      const content = format === 'qcow2' ? await summed(raw) : received;
      const { sha256, size, map } = content;
      return await use({ sha256, size, keep: () => this.#keep(raw, { sha256, map }) });
    } catch (error) {
      throw storageFailure(error, this.#options.folder);
    } finally {
      await Promise.all(['', '.map', '.raw', '.raw.map'].map((end) => rm(`${file}${end}`, { force: true })));
    }
  }

  /** @throws AnnealError NotFound when this folder does not have the content */
  async read(sha256: string): Promise<{ content: (part?: FilePart) => ReadStream; size: number }> {
    const path = this.#path(sha256);
    const found = await stat(path).catch(() => undefined);
    if (!found) {
      throw new AnnealError(
        'NotFound',
        `This server does not have the content with the checksum ${sha256} in ${this.#options.folder}. Several gateways need a shared folder: set ANNEAL_GATEWAY_IMAGES. If the file was lost, remove the image and add it again.`,
      );
    }
    const content = ({ start, end }: FilePart = { start: 0, end: found.size }): ReadStream =>
      createReadStream(path, { start, end: end - 1, highWaterMark: 1024 * 1024 });
    return { content, size: found.size };
  }

  /** I3. Undefined when the whole content counts as data. */
  async dataOf(sha256: string): Promise<DataMap | undefined> {
    const file = await readFile(`${this.#path(sha256)}.map`, 'utf8').catch(() => undefined);
    return file === undefined ? undefined : readDataMap(file);
  }

  /** Removes a content, if this folder has it. A machine that reads it now reads it to its end. */
  async remove(sha256: string): Promise<void> {
    await rm(this.#path(sha256), { force: true });
    await rm(`${this.#path(sha256)}.map`, { force: true });
  }

  /** Removes what uploads left behind whose process was killed (I1). */
  async removeBroken(): Promise<void> {
    const incoming = join(this.#options.folder, 'incoming');
    for (const name of await readdir(incoming).catch(() => [])) {
      const path = join(incoming, name);
      const { mtimeMs } = (await stat(path).catch(() => undefined)) ?? { mtimeMs: Infinity };
      if (mtimeMs < this.#options.now() - brokenMs) await rm(path, { force: true });
    }
  }

  #path(sha256: string): string {
    if (!isSha256(sha256)) throw new AnnealError('Defect', 'The name of a content must be its checksum.');
    return join(this.#options.folder, sha256);
  }

  /** Writes while it arrives, and ends an upload that pauses for a minute. */
  async #write(upload: Upload, file: string): Promise<MappedContent & { start: Buffer }> {
    const { limit, stopping } = this.#options;
    const hash = createHash('sha256');
    const mapper = new DataMapper();
    const parts: Buffer[] = [];
    let size = 0;
    const late = setTimeout(() => {
      upload.content.destroy(new AnnealError('InvalidRequest', `No byte of the image arrived for ${idleMs / 1000} s.`));
    }, idleMs);
    const stop = (): void => {
      upload.content.destroy(new AnnealError('Unavailable', 'The server stops. Send the image again.'));
    };
    stopping.addEventListener('abort', stop, { once: true });
    if (stopping.aborted) stop();
    const handle = await open(file, 'wx', 0o600);
    try {
      for await (const chunk of upload.content) {
        const bytes = chunk as Buffer;
        late.refresh();
        if (size < startBytes) parts.push(bytes);
        size += bytes.length;
        if (size > limit.bytes) throw tooLarge(limit);
        hash.update(bytes);
        mapper.add(bytes);
        await handle.writeFile(bytes);
      }
      await handle.sync();
    } finally {
      clearTimeout(late);
      stopping.removeEventListener('abort', stop);
      await handle.close();
    }
    return { sha256: hash.digest('hex'), size, map: mapper.end(), start: Buffer.concat(parts).subarray(0, startBytes) };
  }

  async #convert(file: string, diskSize: number): Promise<void> {
    const { stopping } = this.#options;
    await this.#refuseSize(diskSize);
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(convertMs)]);
    const env = { PATH: process.env['PATH'], LC_ALL: 'C' };
    const tool = (...parameters: string[]): Promise<unknown> =>
      run('qemu-img', parameters, { signal, maxBuffer: 16 * 2 ** 20, env });
    try {
      // A conversion reads what an incomplete file lacks as zeros, and reports nothing.
      await tool('check', '-q', '-f', 'qcow2', file).catch((error: unknown) => {
        if ((error as { code?: unknown }).code !== leakedClusters) throw error;
      });
      await tool('convert', '-f', 'qcow2', '-O', 'raw', file, `${file}.raw`);
    } catch (error) {
      throw conversionFailure(error as NodeJS.ErrnoException & { stderr?: string });
    }
    await makeDurable(`${file}.raw`);
  }

  /** I1, I3 */
  async #keep(file: string, { sha256, map }: Pick<MappedContent, 'sha256' | 'map'>): Promise<void> {
    const path = this.#path(sha256);
    // Each process has its own, so that none is read before it is whole.
    await writeFile(`${file}.map`, writeDataMap(map), { mode: 0o600 });
    await makeDurable(`${file}.map`);
    await rename(`${file}.map`, `${path}.map`);
    await rename(file, path);
    await makeDurable(this.#options.folder);
  }

  async #refuseSize(size: number): Promise<void> {
    const { limit, folder } = this.#options;
    if (size > limit.bytes) throw tooLarge(limit);
    const { bavail, bsize } = await statfs(folder);
    const room = bavail * bsize - spareBytes;
    if (size <= room) return;
    const has = `${folder} has room for ${Math.max(0, room)} bytes`;
    throw new AnnealError('Unavailable', `The server cannot keep ${size} bytes: ${has}. Make room there.`);
  }
}

const run = promisify(execFile);
/** The exit status of a check that finds only space that is not used. */
const leakedClusters = 3;
/** Holds the headers of the known formats. */
const startBytes = 512;

/** Formats that machines cannot write, by how they begin. */
const unwritable: readonly { readonly begins: string; readonly is: string; readonly first: string }[] = [
  { begins: '\u001f\u008b', is: 'compressed by gzip', first: 'gunzip' },
  { begins: '\u00fd7zXZ\u0000', is: 'compressed by xz', first: 'unxz' },
  { begins: 'BZh', is: 'compressed by bzip2', first: 'bunzip2' },
  { begins: '\u0028\u00b5\u002f\u00fd', is: 'compressed by zstd', first: 'unzstd' },
  { begins: 'KDMV', is: 'in the format VMDK', first: 'qemu-img convert -O raw' },
  { begins: 'vhdxfile', is: 'in the format VHDX', first: 'qemu-img convert -O raw' },
  { begins: 'conectix', is: 'in the format VHD', first: 'qemu-img convert -O raw' },
];

/**
 * The format of content by its start. The client may state it, but a machine never gets qcow2 that was stated as raw.
 * @throws AnnealError InvalidRequest
 */
export function formatOf(start: Buffer, stated: Upload['format']): (typeof uploadFormats)[number] {
  const text = start.toString('latin1', 0, 16);
  const other = unwritable.find(({ begins }) => text.startsWith(begins));
  if (other) {
    throw new AnnealError('InvalidRequest', `The image is ${other.is}, which machines cannot write: ${other.first}`);
  }
  const found = isQcow2(start) ? 'qcow2' : 'raw';
  if (stated !== undefined && stated !== found) {
    throw new AnnealError('InvalidRequest', `The content is in the format ${found}, not ${stated}.`);
  }
  return found;
}

/** Flushes a file, or the names in a folder, to the disk. */
async function makeDurable(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function summed(file: string): Promise<MappedContent> {
  const hash = createHash('sha256');
  const mapper = new DataMapper();
  let size = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
    hash.update(chunk as Buffer);
    mapper.add(chunk as Buffer);
    size += (chunk as Buffer).length;
  }
  return { sha256: hash.digest('hex'), size, map: mapper.end() };
}

const tooLarge = ({ bytes, setting }: ContentOptions['limit']): AnnealError =>
  new AnnealError('TooLarge', `The image has more than ${bytes} bytes. The limit is ${setting}.`);

function conversionFailure(error: NodeJS.ErrnoException & { stderr?: string }): AnnealError {
  if (error.code === 'ENOENT') {
    return new AnnealError(
      'Unavailable',
      'The server cannot convert qcow2, because it has no qemu-img (Debian: apt-get install qemu-utils). Install it there, or send the raw content: qemu-img convert -O raw',
      { cause: error },
    );
  }
  if (error.name === 'AbortError') {
    return new AnnealError(
      'Unavailable',
      `qemu-img did not convert the image within ${convertMs / 1000} s. Send the raw content: qemu-img convert -O raw`,
      { cause: error },
    );
  }
  // The names of files of the server stay here.
  const reason = (error.stderr ?? '')
    .replaceAll(/\S*\/incoming\/\S*/g, 'the image')
    .trim()
    .slice(0, 300);
  return new AnnealError(
    'InvalidRequest',
    `qemu-img cannot convert the image, which is damaged or incomplete: ${reason || error.message}`,
    {
      cause: error,
    },
  );
}

/** Names the cause of a failed write that an operator can remove. */
function storageFailure(error: unknown, folder: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ECONNRESET')
    return new AnnealError('InvalidRequest', 'The upload ended before its end.', { cause: error });
  if (error instanceof AnnealError || code === undefined || !/^E[A-Z]+$/.test(code)) return error;
  return new AnnealError('Unavailable', `The server cannot write to ${folder} (${code}).`, { cause: error });
}
