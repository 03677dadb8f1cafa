/** `anneal image …` */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { ImageView } from '@anneal/contracts/calls/provisioning.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { confirm, yesOption } from './confirm.ts';
import { formatAge } from '@anneal/client/text/time.ts';
import { exampleText, formatOption, positiveInteger } from './options.ts';

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
        rows: await (await context.client()).images.list(),
        none: 'No images. Add one: anneal image add NAME --url URL --file FILE',
        columns: {
          name: (row) => row.name,
          size: (row) => sizeText(row.size),
          sha256: (row) => row.sha256.slice(0, 12),
          age: (row) => formatAge(row.created_at, context.now()),
          url: (row) => row.url,
        },
      });
    });
  image
    .command('show <image>')
    .description('show an image')
    .addOption(formatOption())
    .addHelpText('after', exampleText('image show debian-12', 'image show debian-12 -o yaml'))
    .action(async (name, { output: format }) => {
      const shown = await (await context.client()).images.show({ image: name });
      output.one(format, shown, () => imageFields(shown));
    });
  image
    .command('remove <image>')
    .description('remove an image; machines that have it on their disks keep it')
    .addOption(yesOption())
    .addHelpText('after', exampleText('image remove debian-12'))
    .action(async (name, { yes }) => {
      await confirm(context, { yes, what: () => [`Remove image ${name}. No further machine can be written with it.`] });
      await (await context.client()).images.remove({ image: name });
      output.line(`Removed the image ${name}.`);
    });
}

function addImageAdd(image: Command, context: CliContext): void {
  const { output } = context;
  image
    .command('add <name>')
    .description('add an image: the raw content of a whole disk, which machines fetch from an address')
    .requiredOption('--url <url>', 'where machines fetch it, over HTTP or HTTPS')
    .option('--file <file>', 'the same content on this computer, from which checksum and size are computed')
    .option('--sha256 <sum>', 'its checksum, as sha256sum prints it')
    .option('--size <bytes>', 'its size in bytes', positiveInteger)
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        'image add debian-12 --url http://10.0.0.1/debian-12.raw --file debian-12.raw',
        'image add debian-12 --url http://10.0.0.1/debian-12.raw --sha256 9f86d081… --size 3221225472',
      ),
    )
    .action(async (name, { url, file, sha256, size, output: format }) => {
      const content = await contentOf({ file, sha256, size });
      const added = await (await context.client()).images.add({ name, url, ...content });
      output.one(format, added, () => imageFields(added));
    });
}

/** @throws AnnealError InvalidRequest without a checksum and a size, or when they differ from those of the file. */
async function contentOf(given: {
  file: string | undefined;
  sha256: string | undefined;
  size: number | undefined;
}): Promise<Pick<ImageView, 'sha256' | 'size'>> {
  const { file, sha256, size } = given;
  if (file === undefined) {
    if (sha256 !== undefined && size !== undefined) return { sha256: sha256.toLowerCase(), size };
    throw new AnnealError('InvalidRequest', 'The image needs --file, or --sha256 and --size.');
  }
  const start = await startOf(file);
  if (start.toString('latin1', 0, 4) === 'QFI\u00fb') {
    throw new AnnealError(
      'InvalidRequest',
      `${file} is in the format qcow2, which machines cannot write. Convert it: qemu-img convert -O raw ${file} ${file}.raw`,
    );
  }
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  const found = { sha256: hash.digest('hex'), size: (await stat(file)).size };
  const differs =
    (sha256 !== undefined && sha256.toLowerCase() !== found.sha256) || (size !== undefined && size !== found.size);
  if (differs) {
    throw new AnnealError('InvalidRequest', `${file} has the checksum ${found.sha256} and ${found.size} bytes.`);
  }
  return found;
}

/** @throws AnnealError InvalidRequest when the file cannot be read. */
async function startOf(file: string): Promise<Buffer> {
  try {
    const parts: Buffer[] = [];
    for await (const chunk of createReadStream(file, { end: 511 })) parts.push(chunk as Buffer);
    return Buffer.concat(parts);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AnnealError('InvalidRequest', `Cannot read the image: ${reason}`, { cause: error });
  }
}

const sizeText = (bytes: number): string =>
  bytes < 2 ** 30 ? `${Math.ceil(bytes / 2 ** 20)} MiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`;

const imageFields = (image: ImageView): [string, string][] => [
  ['name', image.name],
  ['id', image.id],
  ['size', `${sizeText(image.size)} (${image.size} bytes)`],
  ['sha256', image.sha256],
  ['url', image.url],
  ['created', image.created_at],
];
