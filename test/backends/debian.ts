/** Installs packages of Debian that tests need and no package registry has. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** How long to wait for another installation on this computer. */
const lockSeconds = 300;

/**
 * Installs the packages when this process may: it is root, on a Debian. Prints what it does, and the reason of a failure.
 * A package that is installed already costs only the time of apt-get.
 */
export function installDebian({ packages, reason }: { packages: readonly string[]; reason: string }): void {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return;
  process.stderr.write(`Installing ${packages.join(', ')} (apt-get) for ${reason} …\n`);
  // Level 1: the package starts no service.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const wait = ['-o', `DPkg::Lock::Timeout=${lockSeconds}`];
  const run = (...words: string[]): boolean =>
    spawnSync('apt-get', ['-q', '-y', ...wait, ...words], { env, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
  if (!run('update') || !run('install', '--no-install-recommends', ...packages)) {
    process.stderr.write('The installation failed; the tests that need it are skipped with a reason.\n');
  }
}
