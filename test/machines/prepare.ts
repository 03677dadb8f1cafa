/** The ramdisk and a disk image for tests with real machines in QEMU. Built once from packages of Debian, then kept. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { missingForQemu } from '@anneal/lab/qemu/qemu.ts';
import { cacheFolder, findProgram, isProgram } from '../backends/program.ts';

const run = promisify(execFile);
const here = import.meta.dirname;
const source = join(here, '..', '..', 'deploy', 'ramdisk');
/** Programs that the two scripts call, besides those of every Debian. */
const programs = [
  'apt-get',
  'cpio',
  'zstd',
  'depmod',
  'objcopy',
  'xorriso',
  'grub-mkimage',
  'mformat',
  'sfdisk',
  'mkfs.ext4',
];

/** The packages that have them. */
const debian = 'qemu-system-x86 ovmf cpio zstd kmod binutils xorriso grub-common mtools fdisk e2fsprogs';

export interface MachineFiles {
  /** Folder with the files that the gateway serves. */
  readonly ramdisk: string;
  /** The image of a whole disk with a small system. */
  readonly image: string;
}

/** Why this computer cannot run these tests. Undefined when it can. */
export async function missingForMachines(): Promise<string | undefined> {
  const path = process.env['PATH'] ?? '';
  const qemu = missingForQemu(path);
  if (qemu !== undefined) return `${qemu} (Debian: apt-get install ${debian})`;
  const found = await Promise.all(
    programs.map(async (name) => (await findProgram(name, ['/sbin', '/usr/sbin'])) ?? name),
  );
  const missing = found.filter((name) => !name.includes('/'));
  return missing.length === 0
    ? undefined
    : `${missing.join(', ')} are not installed (Debian: apt-get install ${debian})`;
}

/** The small kernel for virtual machines, and weak compression: the test is about the steps, not about drivers. */
const settings = { RAMDISK_KERNEL: 'linux-image-cloud-amd64', RAMDISK_LEVEL: '6', RAMDISK_MOST_MIB: '40' };

/** @throws Error with the output of the build. */
export async function prepareMachines(): Promise<MachineFiles> {
  const hash = createHash('sha256').update(JSON.stringify(settings));
  for (const name of ['build.sh', 'init', 'modules', 'udhcpc']) hash.update(await readFile(join(source, name)));
  hash.update(await readFile(join(here, 'image.sh')));
  const cache = join(cacheFolder(), '..', 'machines');
  const folder = join(cache, hash.digest('hex').slice(0, 16));
  const files = { ramdisk: join(folder, 'ramdisk'), image: join(folder, 'disk.img') };
  if (await isProgram(join(files.ramdisk, 'ramdisk.efi'))) return files;
  process.stderr.write(
    `Building the ramdisk and the disk image for the tests of machines in ${folder}; once, a minute.\n`,
  );
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, 'build-'));
  const env = {
    ...process.env,
    ...settings,
    PATH: `${process.env['PATH']}:/sbin:/usr/sbin`,
    RAMDISK_CACHE: join(work, 'cache'),
  };
  const options = { env, maxBuffer: 16 * 1024 * 1024 };
  try {
    await run(join(source, 'build.sh'), [join(work, 'done', 'ramdisk')], options);
    await run(
      join(here, 'image.sh'),
      [join(work, 'done', 'ramdisk'), join(work, 'cache'), join(work, 'done', 'disk.img')],
      options,
    );
    await rename(join(work, 'done'), folder).catch((error: NodeJS.ErrnoException) => {
      // Another test run was faster.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return files;
}
