/**
 * Before tests that need real servers: installs or builds what is missing, once, so that test files do not race for it.
 * Says what it does; what cannot be had is said by the tests that miss it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { whyNoContainers } from './containers.ts';
import { findMongodb } from './mongodb.ts';
import { findNats } from './nats.ts';
import { findRabbitmq } from './rabbitmq.ts';

/** RabbitMQ has no program in a package registry; Debian's package is installed where we may. */
async function installRabbitmq(): Promise<void> {
  const found = await findRabbitmq();
  if (!('missing' in found)) {
    await found.stop();
    return;
  }
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return;
  process.stderr.write('Installing rabbitmq-server (apt-get) for the tests that need a RabbitMQ …\n');
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const run = (...words: string[]): boolean =>
    spawnSync('apt-get', ['-q', '-y', ...words], { env: environment, stdio: ['ignore', 'ignore', 'inherit'] })
      .status === 0;
  if (!run('update') || !run('install', '--no-install-recommends', 'rabbitmq-server')) {
    process.stderr.write('That did not work; the tests say what they miss.\n');
  }
}

/** Asked once: the test files inherit the answer. */
async function askForContainers(): Promise<void> {
  const reason = await whyNoContainers();
  process.stderr.write(
    reason === undefined
      ? 'The brokers and databases of the tests run in containers.\n'
      : `The brokers and databases of the tests are programs of this machine, not containers: ${reason}.\n`,
  );
  if (reason !== undefined) process.env['ANNEAL_TEST_CONTAINERS'] = 'false';
}

export default async function prepare(): Promise<void> {
  await askForContainers();
  await installRabbitmq();
  for (const find of [findNats, findMongodb]) {
    const found = await find();
    if (!('missing' in found)) await found.stop();
  }
}
