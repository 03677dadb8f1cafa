/** A Python environment for the example provider. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repository } from '../e2e/server.ts';

const run = promisify(execFile);

/** The folder of the example. */
export const example = join(repository, 'examples', 'python-provider');

/** Creates the environment in the folder. `missing` is the reason of a failure: no Python, or no PyPI. */
export async function installPython(directory: string): Promise<{ python: string } | { missing: string }> {
  try {
    await run('python3', ['-m', 'venv', directory]);
    const pip = ['install', '--quiet', '--disable-pip-version-check', '-r', join(example, 'requirements.txt')];
    await run(join(directory, 'bin', 'pip'), pip, { timeout: 120_000 });
    return { python: join(directory, 'bin', 'python') };
  } catch (error) {
    return { missing: (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '' };
  }
}
