/** The file of a backup: a compressed tar archive with a known list of files, packed and unpacked by the program `tar`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { AnnealError } from '@anneal/contracts/errors.ts';

/** Writes the named files of a folder to a new file that only its owner can read. @throws AnnealError */
export async function pack(parameters: { folder: string; names: readonly string[]; file: string }): Promise<void> {
  const { folder, names, file } = parameters;
  const handle = await open(file, 'wx', 0o600);
  try {
    await runTar(['-cz', '-C', folder, '--', ...names], handle.fd);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The names in an archive. @throws AnnealError for a file that is not one */
export async function namesIn(file: string): Promise<string[]> {
  const listed = await runTar(['-tzf', file]);
  return listed.split('\n').filter((name) => name !== '');
}

/** Unpacks only these names, as files of this user, with the mode 0600. @throws AnnealError */
export async function unpack(parameters: { file: string; folder: string; names: readonly string[] }): Promise<void> {
  const { file, folder, names } = parameters;
  await runTar(['-xzf', file, '--no-same-owner', '-C', folder, '--', ...names]);
}

/** Resolves with the standard output, unless that goes to `output`. */
async function runTar(words: readonly string[], output?: number): Promise<string> {
  const tar = spawn('tar', [...words], {
    stdio: ['ignore', output ?? 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
  });
  const [failed, said, printed] = await Promise.all([
    Promise.race([
      once(tar, 'close').then(([status]) => status !== 0),
      once(tar, 'error').then(([error]) => error as Error),
    ]),
    tar.stderr ? text(tar.stderr) : '',
    tar.stdout ? text(tar.stdout) : '',
  ]);
  if (failed === false) return printed;
  const reason = failed instanceof Error ? failed.message : said.trim().split('\n')[0];
  throw new AnnealError('InvalidRequest', `the program tar failed: ${reason ?? ''}`, {
    details: {
      remedy: 'Check that tar and gzip are installed, that the disk has room, and that the file is a backup.',
    },
  });
}
