/**
 * A backup of a distributed installation, restored after the broker and the database were lost. The backup is that of
 * docs/tasks/back-up-and-upgrade.md: the services are stopped, and the data folders of broker and database are copied.
 */
import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { freeLocalPort } from '../../backends/free-port.ts';
import { logInAsAdmin, startMachines, startTree } from '../../upgrade/installation.ts';
import {
  begun,
  beginWork,
  checkConfigs,
  checkEvents,
  openGate,
  reached,
  startGatedListener,
} from '../../upgrade/work.ts';
import { repository } from '../server.ts';
import { brokers, findBackends, type Backends } from './distributed.ts';

/** A copy of files; a socket has no content. */
const copyFolder = (from: string, to: string): Promise<void> =>
  cp(from, to, { recursive: true, preserveTimestamps: true, filter: (path) => !path.endsWith('.sock') });

/** The data folders, while the servers are stopped. */
async function copyData(from: Backends, into: string): Promise<void> {
  for (const name of ['broker', 'database'] as const) {
    await from[name].kill();
    await copyFolder(String(from[name].data), join(into, name));
    await from[name].start();
  }
}

/** The servers lose their data, and start on the copy. */
async function restoreData(to: Backends, copy: string): Promise<void> {
  for (const name of ['broker', 'database'] as const) {
    await to[name].kill();
    await rm(String(to[name].data), { recursive: true });
    await copyFolder(join(copy, name), String(to[name].data));
    await to[name].start();
  }
}

for (const { name, find } of brokers) {
  const backends = await findBackends(find);
  const hasFolders = backends?.broker.data !== undefined && backends.database.data !== undefined;
  if (backends && !hasFolders) process.stderr.write(`skipped: the data of ${name} or MongoDB is in a container\n`);
  describe.skipIf(!hasFolders)(`an installation on ${name} and MongoDB`, () => {
    const ends: (() => unknown)[] = [];
    const until = <T>(value: T, end: (value: T) => unknown): T => {
      ends.push(() => end(value));
      return value;
    };
    afterAll(async () => {
      for (const end of ends.toReversed()) await end();
      await backends?.broker.stop();
      await backends?.database.stop();
    });

    it('completes the work of the backup after it was restored, in order, with every event', async () => {
      const folder = until(await mkdtemp(join(tmpdir(), 'anneal-restore-')), (each) =>
        rm(each, { recursive: true, force: true, maxRetries: 5 }),
      );
      const port = await freeLocalPort();
      const options = {
        data: join(folder, 'data'),
        port,
        url: `http://127.0.0.1:${port}`,
        password: 'only-for-this-test',
        flags: ['--bus', backends!.broker.url, '--store', backends!.database.url],
        environment: { ANNEAL_KEYS: randomBytes(32).toString('base64') },
      };
      const start = async () => until(await startTree(repository, options), (each) => each.stop());
      const listener = until(await startGatedListener(), (each) => each.close());
      const first = await start();
      const client = await logInAsAdmin(options);
      until(await startMachines(repository, { folder: join(folder, 'lab'), client, machines: 2 }), (each) =>
        each.stop(),
      );
      const subscription = await beginWork(client, folder, listener);

      await first.stop();
      await copyData(backends!, join(folder, 'copy'));
      const second = await start();
      await openGate(folder, 3);
      // The work continues after the backup; the restored installation does not know of it.
      await begun(folder, 5);
      await second.stop();
      await restoreData(backends!, join(folder, 'copy'));
      // The files of the process itself are lost too.
      await rm(options.data, { recursive: true });

      await start();
      const after = await logInAsAdmin(options);
      await openGate(folder, 5);
      await reached(after, 'work', 'CREATE_COMPLETE');
      expect(await checkConfigs(folder)).toContain('6 configs ran, in order');
      expect(await checkEvents(after, listener, subscription)).toContain('in order');
      await after.actions.act({ stack: 'work', action: { kind: 'check' } });
      await reached(after, 'work', 'CHECK_COMPLETE');
    }, 600_000);
  });
}
