/**
 * The files of the ramdisk, as `deploy/ramdisk/build.sh` wrote them. Each form is built once; what differs between boots is
 * one area of text, the parameters of the kernel, which is inserted while the file is sent. A part of a file can be asked
 * for, because BMCs read an ISO in parts.
 */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { requestedPart } from '../http/requested-part.ts';

const builtFolder = join(import.meta.dirname, '../../../deploy/ramdisk/dist');

const fileSchema = z.object({
  size: z.number().int().positive(),
  sha256: z.string(),
  parameters_at: z.number().int(),
  parameters_size: z.number().int(),
});
const manifestSchema = z.object({
  format: z.literal(1),
  files: z.object({
    vmlinuz: fileSchema,
    'initrd.img': fileSchema,
    'ramdisk.efi': fileSchema,
    'ramdisk.iso': fileSchema,
  }),
});
type RamdiskFile = keyof z.infer<typeof manifestSchema>['files'];

const types: Record<RamdiskFile, string> = {
  vmlinuz: 'application/octet-stream',
  'initrd.img': 'application/octet-stream',
  // Firmware decides by the type what it loads.
  'ramdisk.efi': 'application/efi',
  'ramdisk.iso': 'application/vnd.efi-iso',
};

interface SendOptions {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly parameters?: string;
  /** Called with the number of bytes that are sent next. */
  readonly onSend?: (size: number) => Promise<void>;
}

export class Ramdisk {
  readonly #folder: string;

  constructor(folder = builtFolder) {
    this.#folder = folder;
  }

  /**
   * Sends the file, or the part of it that the request asks for.
   * @param parameters of the kernel; ASCII without quotes and spaces at its ends. They replace the area of the file.
   * @throws AnnealError NotFound when the ramdisk is not built, or damaged.
   */
  async send(name: RamdiskFile, { request, reply, parameters = '', onSend }: SendOptions): Promise<FastifyReply> {
    const { size, parameters_at: at, parameters_size: room } = await this.#file(name);
    if (parameters.length > room || /[^\x21-\x7e]|["'\\]/.test(parameters)) {
      throw new AnnealError(
        'InvalidRequest',
        'The address of this server does not fit into the parameters of a kernel.',
      );
    }
    const part = requestedPart(request.headers.range, size);
    void reply.headers({ 'accept-ranges': 'bytes', 'content-type': types[name] });
    if (part === 'unsatisfiable') return reply.code(416).header('content-range', `bytes */${size}`).send();
    const { start, end } = part ?? { start: 0, end: size };
    if (part) void reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${size}`);
    void reply.header('content-length', end - start);
    if (request.method === 'HEAD') return reply.send();
    await onSend?.(end - start);
    const path = join(this.#folder, name);
    const area = parameters === '' ? undefined : { at, bytes: Buffer.from(parameters.padEnd(room)) };
    return reply.send(Readable.from(pieces(path, { start, end, area }), { objectMode: false }));
  }

  async #file(name: RamdiskFile): Promise<z.infer<typeof fileSchema>> {
    const missing = (why: string, cause?: unknown): AnnealError =>
      new AnnealError(
        'NotFound',
        `This server has no ramdisk in ${this.#folder}: ${why}. Run npm run build:ramdisk on the server, or set ANNEAL_GATEWAY_RAMDISK to a folder with the files of a build.`,
        { cause },
      );
    try {
      const manifest = manifestSchema.parse(JSON.parse(await readFile(join(this.#folder, 'ramdisk.json'), 'utf8')));
      const file = manifest.files[name];
      const { size } = await stat(join(this.#folder, name));
      if (size !== file.size) throw new Error(`${name} has ${size} bytes, expected ${file.size}`);
      return file;
    } catch (error) {
      throw missing(error instanceof Error ? error.message.slice(0, 300) : String(error), error);
    }
  }
}

/** The file from `start` to before `end`, with the area replaced. */
async function* pieces(
  path: string,
  { start, end, area }: { start: number; end: number; area: { at: number; bytes: Buffer } | undefined },
): AsyncGenerator<Buffer> {
  let position = start;
  for await (const chunk of createReadStream(path, { start, end: end - 1, highWaterMark: 256 * 1024 })) {
    const bytes = chunk as Buffer;
    if (area) replaceIn(bytes, position, area);
    position += bytes.length;
    yield bytes;
  }
}

/** Writes the part of the area that lies in these bytes, which begin at `position` of the file. */
export function replaceIn(bytes: Buffer, position: number, { at, bytes: wanted }: { at: number; bytes: Buffer }): void {
  const from = Math.max(position, at);
  const to = Math.min(position + bytes.length, at + wanted.length);
  if (from < to) wanted.copy(bytes, from - position, from - at, to - at);
}
