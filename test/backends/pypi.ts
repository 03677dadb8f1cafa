/** Python environments with programs from PyPI. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { repository } from '../e2e/server.ts';

const run = promisify(execFile);
/** The packages that an example in this folder needs. */
export const requirementsOf = async (folder: string): Promise<string[]> =>
  (await readFile(join(folder, 'requirements.txt'), 'utf8')).split('\n').filter((line) => /^\w/.test(line));

const cache = join(repository, 'node_modules', '.cache', 'anneal');

export interface PythonEnvironment {
  /** The folder with `python` and the programs. */
  readonly bin: string;
  /** The environment. Files that `prepare` added are below it. */
  readonly directory: string;
}

/** Why the programs are not available: no `python3`, or no access to PyPI. */
export interface NoPython {
  readonly missing: string;
}

/**
 * An environment with these packages (as `pip install` takes them). It stays between runs, because the installation takes longer than
 * the tests. Test files in several processes may ask for it at once: one installs, the others wait. `prepare` adds
 * more to a new environment, once.
 */
export async function installFromPypi(
  packages: readonly string[],
  prepare?: (environment: PythonEnvironment) => Promise<unknown>,
): Promise<PythonEnvironment | NoPython> {
  const digest = createHash('sha256').update(packages.join('\n')).digest('hex').slice(0, 16);
  const directory = join(cache, `pypi-${digest}`);
  const environment = { directory, bin: join(directory, 'bin') };
  const ready = join(directory, 'ready');
  await mkdir(cache, { recursive: true });
  // A lock of SQLite ends with its process.
  const lock = new DatabaseSync(`${directory}.lock`);
  try {
    await eventually(() => holds(lock), { within: 280_000, what: `the installation of ${packages.join(', ')}` });
    if (existsSync(ready)) return environment;
    await rm(directory, { recursive: true, force: true });
    await run('python3', ['-m', 'venv', directory]);
    await pip(environment, ['install', ...packages]);
    await prepare?.(environment);
    await writeFile(ready, '');
    return environment;
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
    return { missing: `no programs could be installed (python3 and PyPI are needed): ${reason}` };
  } finally {
    lock.close();
  }
}

/** Runs pip. */
export const pip = ({ bin }: PythonEnvironment, words: readonly string[]): Promise<unknown> =>
  run(join(bin, 'pip'), ['--quiet', '--disable-pip-version-check', ...words], { timeout: 240_000 });

function holds(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes('locked')) return false;
    throw error;
  }
}
