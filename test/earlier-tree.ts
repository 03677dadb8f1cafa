/** The sources of an earlier revision, in a folder of their own, with the packages that they need. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstat, mkdir, readdir, readFile, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repository } from './e2e/server.ts';

const run = promisify(execFile);
const git = async (...words: string[]): Promise<string> =>
  (await run('git', ['-C', repository, ...words], { maxBuffer: 64 << 20 })).stdout.trim();

/**
 * The commit of a revision, or the last one before a time in ISO 8601. @throws with the remedy, when this clone does not
 * have it
 */
export async function commitOf(revision: string): Promise<string> {
  try {
    if (!/^\d{4}-\d\d-\d\dT/.test(revision))
      return await git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`);
    const found = await git('rev-list', '-1', `--before=${revision}`, 'HEAD');
    if (found === '') throw new Error(`There is no commit before ${revision}.`);
    return found;
  } catch {
    const isShallow = (await git('rev-parse', '--is-shallow-repository').catch(() => 'no repository')) !== 'false';
    throw new Error(
      isShallow
        ? `This folder has not the whole history, and so no revision ${revision}: run git fetch --unshallow, or choose another one.`
        : `This folder has no revision ${revision}: choose another one.`,
    );
  }
}

/** Writes the revision into an empty folder. Installs its packages when its lock file differs from ours. */
export async function writeEarlierTree(commit: string, folder: string): Promise<void> {
  const archive = spawn('git', ['-C', repository, 'archive', commit], { stdio: ['ignore', 'pipe', 'inherit'] });
  const unpack = spawn('tar', ['-x', '-C', folder], { stdio: [archive.stdout, 'inherit', 'inherit'] });
  const [status] = (await once(unpack, 'exit')) as [number | null];
  if (status !== 0) throw new Error(`Could not unpack revision ${commit}: tar ended with ${status}.`);
  const lockOf = (tree: string): Promise<string> => readFile(join(tree, 'package-lock.json'), 'utf8');
  if ((await lockOf(folder)) === (await lockOf(repository))) return linkModules(folder);
  // Not `npm ci`, because some revisions have a lock file without the packages of every platform.
  const words = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', words, { cwd: folder, maxBuffer: 64 << 20 });
}

/** A folder of `node_modules` that each tree fills with its own builds. */
const builds = '.cache';

/** The packages of this tree, except our own, which must be those of the earlier revision. */
async function linkModules(folder: string): Promise<void> {
  const [ours, theirs] = [repository, folder].map((tree) => join(tree, 'node_modules')) as [string, string];
  await mkdir(join(theirs, '@anneal'), { recursive: true });
  for (const name of await readdir(ours))
    if (name !== '@anneal' && name !== builds) await symlink(join(ours, name), join(theirs, name));
  for (const name of await readdir(join(ours, '@anneal'))) {
    const link = join(ours, '@anneal', name);
    if (!(await lstat(link)).isSymbolicLink()) throw new Error(`${link} is no link to the sources: run npm install.`);
    // A relative link leads to the folder of the same name in the earlier tree.
    await symlink(await readlink(link), join(theirs, '@anneal', name));
  }
}
