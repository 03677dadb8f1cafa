/**
 * Runs before tests that need real servers: installs or builds missing ones, once, so that test files do not do it at the
 * same time. It prints what it does. A test that misses a server prints the reason.
 */
import { whyNoContainers } from './containers.ts';
import { installDebian } from './debian.ts';
import { findMongodb } from './mongodb.ts';
import { findNats } from './nats.ts';
import { findRabbitmq } from './rabbitmq.ts';

/** Installs Debian's package when permitted, because no package registry has RabbitMQ. */
async function installRabbitmq(): Promise<void> {
  const found = await findRabbitmq();
  if (!('missing' in found)) {
    await found.stop();
    return;
  }
  installDebian({ packages: ['rabbitmq-server'], reason: 'the tests that need a RabbitMQ' });
}

/** Asks the engine once; the test files inherit the answer. */
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
