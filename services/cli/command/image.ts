/** `anneal image …` */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { Readable, Transform, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ImageView } from '@anneal/contracts/calls/images.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { readSha256 } from '@anneal/contracts/readers/checksum.ts';
import { InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { confirm, yesOption } from './confirm.ts';
import { formatSize } from '@anneal/client/text/size.ts';
import { formatAge } from '@anneal/client/text/time.ts';
import { refuseFolder } from '../options/files.ts';
import { byteCount, exampleText, formatOption } from '../options/options.ts';

export function addImageCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const image = program.command('image').description('manage the images that machines write to their disks');
  addImageAdd(image, context);
  image
    .command('list')
    .description('list images')
    .addOption(formatOption())
    .addHelpText('after', exampleText('image list', 'image list -o json'))
    .action(async ({ output: format }) => {
      output.list(format, {
        rows: await (await context.part('images')).list(),
        none: 'No images. Add one: anneal image add NAME --file FILE',
        columns: {
          name: (row) => row.name,
          size: (row) => formatSize(row.size),
          sha256: (row) => row.sha256.slice(0, 12),
          age: (row) => formatAge(row.created_at, context.now()),
          url: addressOf,
        },
      });
    });
  image
    .command('show <image>')
    .description('show an image')
    .addOption(formatOption())
    .addHelpText('after', exampleText('image show debian-12', 'image show debian-12 -o yaml'))
    .action(async (name, { output: format }) => {
      const shown = await (await context.part('images')).show({ image: name });
      output.one(format, shown, () => imageFields(shown));
    });
  addImageSave(image, context);
  image
    .command('remove <image>')
    .description('remove an image; machines that have it on their disks keep it')
    .addOption(yesOption())
    .addHelpText('after', exampleText('image remove debian-12'))
    .action(async (name, { yes }) => {
      await confirm(context, { yes, what: () => [`Remove image ${name}. No further machine can be written with it.`] });
      await (await context.part('images')).remove({ image: name });
      output.line(`Removed the image ${name}.`);
    });
}

function addImageAdd(image: Command, context: CliContext): void {
  const { output } = context;
  image
    .command('add <name>')
    .description('add an image of a whole disk: upload a file, or name the address from which machines fetch it')
    .option(
      '--file <file>',
      'the content on this computer, raw or qcow2; with --url, only its checksum and size are used',
    )
    .option('--url <url>', 'where machines fetch the raw content, over HTTP or HTTPS, instead of an upload')
    .option('--sha256 <sum>', 'the checksum, as sha256sum prints it', checksum)
    .option('--size <bytes>', 'the size in bytes', byteCount)
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        'image add debian-12 --file debian-12-generic-amd64.qcow2',
        'image add debian-12 --url http://10.0.0.1/debian-12.raw --file debian-12.raw',
        'image add debian-12 --url http://10.0.0.1/debian-12.raw --sha256 9f86d081… --size 3221225472',
      ),
    )
    .action(async (name, { url, file, sha256, size, output: format }) => {
      const content = await contentOf({ file, sha256, size, isUpload: url === undefined });
      const added =
        url === undefined
          ? await uploaded(context, { name, file: file ?? '', ...content })
          : await (await context.part('images')).add({ name, url, ...content });
      output.one(format, added, () => imageFields(added));
    });
}

function addImageSave(image: Command, context: CliContext): void {
  const { output } = context;
  image
    .command('save <image>')
    .description('download the raw content of an uploaded image, and compare its checksum')
    .requiredOption('--file <file>', 'the file to write, which must not exist')
    .addHelpText('after', exampleText('image save debian-12 --file debian-12.raw'))
    .action(async (name, { file }) => {
      const images = await context.part('images');
      const shown = await images.show({ image: name });
      const { body } = await images.content({ image: shown.id, signal: context.interrupt });
      if (!body) throw new AnnealError('Defect', `The server sent no content of image ${name}.`);
      const report = progressOf(context, { verb: 'downloaded', size: shown.size });
      const beside = `${file}.part`;
      try {
        await refuseExisting(file);
        const { sha256 } = await pumped(Readable.fromWeb(body), {
          to: createWriteStream(beside, { flags: 'wx' }),
          report,
        });
        if (sha256 !== shown.sha256) {
          throw new AnnealError(
            'Unavailable',
            `The content that arrived has the checksum ${sha256}, not ${shown.sha256}.`,
          );
        }
        await rename(beside, file);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(beside, { force: true });
        throw error;
      }
      output.line(`Saved the image ${name} as ${file} (${shown.size} bytes).`);
    });
}

/** Sends a file. The server refuses it when another image has the name, or when the checksum differs at its end. */
async function uploaded(
  context: CliContext,
  { name, file, sha256, size }: { name: string; file: string; sha256: string; size: number },
): Promise<ImageView> {
  const images = await context.part('images');
  // Before a long upload, and with a token that is valid for it.
  if ((await images.list()).some((each) => each.name === name && each.sha256 !== sha256)) {
    throw new AnnealError(
      'AlreadyExists',
      `An image named ${name} already exists: remove it first, or choose another name.`,
    );
  }
  const report = progressOf(context, { verb: 'uploaded', size });
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      report(chunk.length);
      done(null, chunk);
    },
  });
  const source = createReadStream(file, { highWaterMark: 1024 * 1024 });
  source.once('error', (error) => counted.destroy(error));
  const content = Readable.toWeb(source.pipe(counted)) as ReadableStream<Uint8Array>;
  try {
    return await images.upload({ name, content, size, sha256, signal: context.interrupt });
  } finally {
    source.destroy();
  }
}

/** Reports the bytes of a long transfer every few seconds. */
function progressOf(
  { output, now }: CliContext,
  { verb, size }: { verb: string; size: number },
): (bytes: number) => void {
  let done = 0;
  let next = now() + progressMs;
  return (bytes) => {
    done += bytes;
    if (now() < next) return;
    next = now() + progressMs;
    output.note(`${verb} ${formatSize(done)} of ${formatSize(size)} (${Math.floor((100 * done) / size)} %)`);
  };
}
const progressMs = 3_000;

async function pumped(
  from: Readable,
  { to, report }: { to: Writable; report: (bytes: number) => void },
): Promise<{ sha256: string }> {
  const hash = createHash('sha256');
  await pipeline(
    from,
    async function* summed(chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        report(chunk.length);
        yield chunk;
      }
    },
    to,
  );
  return { sha256: hash.digest('hex') };
}

async function refuseExisting(file: string): Promise<void> {
  const exists = await stat(file).then(
    () => true,
    () => false,
  );
  if (exists) throw new AnnealError('AlreadyExists', `The file ${file} exists: choose another one.`);
}

/** @throws InvalidArgumentError */
function checksum(text: string): string {
  const read = readSha256(text);
  if (read === undefined) throw new InvalidArgumentError('Must be 64 hexadecimal digits, as sha256sum prints them.');
  return read;
}

/** @throws AnnealError InvalidRequest without a checksum and a size, or when they differ from those of the file. */
async function contentOf(given: {
  file: string | undefined;
  sha256: string | undefined;
  size: number | undefined;
  isUpload: boolean;
}): Promise<Pick<ImageView, 'sha256' | 'size'>> {
  const { file, sha256, size, isUpload } = given;
  if (file === undefined) {
    if (isUpload) throw new AnnealError('InvalidRequest', 'The image needs --file, which is uploaded, or --url.');
    if (sha256 !== undefined && size !== undefined) return { sha256, size };
    throw new AnnealError('InvalidRequest', 'The image needs --file, or --sha256 and --size.');
  }
  const start = await startOf(file);
  if (!isUpload && start.toString('latin1', 0, 4) === 'QFI\u00fb') {
    throw new AnnealError(
      'InvalidRequest',
      `${file} is in the format qcow2, which machines cannot write. Upload it without --url, or convert it: qemu-img convert -O raw ${file} ${file}.raw`,
    );
  }
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) hash.update(chunk as Buffer);
  const found = { sha256: hash.digest('hex'), size: (await stat(file)).size };
  if (found.size === 0) throw new AnnealError('InvalidRequest', `${file} is empty.`);
  const differs = (sha256 !== undefined && sha256 !== found.sha256) || (size !== undefined && size !== found.size);
  if (differs) {
    throw new AnnealError('InvalidRequest', `${file} has the checksum ${found.sha256} and ${found.size} bytes.`);
  }
  return found;
}

async function startOf(file: string): Promise<Buffer> {
  await refuseFolder(file);
  const parts: Buffer[] = [];
  for await (const chunk of createReadStream(file, { end: 511 })) parts.push(chunk as Buffer);
  return Buffer.concat(parts);
}

/** Where machines fetch it. */
const addressOf = ({ url }: ImageView): string => url ?? 'this server';

const imageFields = (image: ImageView): [string, string][] => [
  ['name', image.name],
  ['id', image.id],
  ['size', `${formatSize(image.size)} (${image.size} bytes)`],
  ['sha256', image.sha256],
  ['url', addressOf(image)],
  ['created', image.created_at],
];
