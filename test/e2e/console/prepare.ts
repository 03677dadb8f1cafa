/** Runs once before the tests with servers: builds console, documentation and commands, so that no server of a test does it meanwhile. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** @throws Error with the output of a build that failed */
export default function prepare(): void {
  for (const name of ['console', 'docs', 'cli/bundle']) {
    const program = join(import.meta.dirname, '../../../services', name, 'build.ts');
    const { status, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
      encoding: 'utf8',
      env: { ...process.env, NODE_ENV: 'production' },
    });
    if (status !== 0) throw new Error(`The ${name} could not be built:\n${stderr}`);
  }
}
