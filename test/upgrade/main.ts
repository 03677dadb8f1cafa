/**
 * `npm run upgrade`: runs an installation of an earlier revision, with work in flight, and continues with this tree on the same
 * data. Checks that nothing is lost. Embedded first, then on each broker with a database, where both revisions run side by side.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { FindBackend } from '../backends/backend.ts';
import { findMongodb } from '../backends/mongodb.ts';
import { freeLocalPort } from '../backends/free-port.ts';
import { bundle, repository } from '../e2e/server.ts';
import { brokers } from '../e2e/soak/distributed.ts';
import { commitOf, writeEarlierTree } from '../earlier-tree.ts';
import { logInAsAdmin, startBalancer, startMachines, startTree } from './installation.ts';
import { checkServicesPage, numberRelease } from './services-page.ts';
import { begun, beginWork, checkConfigs, checkEvents, openGate, reached, startGatedListener } from './work.ts';

const usage = `Usage: npm run upgrade -- [--from REV] [--embedded | --distributed]

Upgrades an installation with work in flight from a revision to this tree.

  --from REV      revision to start with, or a time: the last one before it (default: the time in test/upgrade/from)
  --embedded      one process, which is stopped and replaced
  --distributed   on RabbitMQ and on NATS with a database: a process of each revision side by side, then only the new one
  --help          show this help
`;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const password = 'only-for-this-check';

/** Ends what a check has started, the latest first. */
class Cleanup {
  readonly #ends: (() => unknown)[] = [];
  add<T>(value: T, end: (value: T) => unknown): T {
    this.#ends.push(() => end(value));
    return value;
  }
  async run(): Promise<void> {
    for (const end of this.#ends.toReversed()) await end();
  }
}

interface Check {
  readonly earlier: string;
  readonly folder: string;
  readonly cleanup: Cleanup;
}

/** After the upgrade: everything completes, and the new revision works on with what the earlier one made. */
async function finish(
  { folder }: Check,
  parameters: {
    client: Awaited<ReturnType<typeof logInAsAdmin>>;
    listener: Awaited<ReturnType<typeof startGatedListener>>;
    id: string;
  },
): Promise<void> {
  const { client, listener, id } = parameters;
  await openGate(folder, 3);
  await openGate(folder, 5);
  await reached(client, 'work', 'CREATE_COMPLETE');
  print('  ✔ the stack that was being created is complete');
  print(`  ✔ ${await checkConfigs(folder)}`);
  print(`  ✔ ${await checkEvents(client, listener, id)}`);
  await client.actions.act({ stack: 'work', action: { kind: 'check' } });
  await reached(client, 'work', 'CHECK_COMPLETE');
  print('  ✔ the stack passes its check');
}

async function upgradeEmbedded(check: Check): Promise<void> {
  const { earlier, folder, cleanup } = check;
  const port = await freeLocalPort();
  const options = { data: join(folder, 'data'), port, url: `http://127.0.0.1:${port}`, password };
  const listener = cleanup.add(await startGatedListener(), (each) => each.close());
  const old = cleanup.add(await startTree(earlier, options), (each) => each.stop());
  const before = await logInAsAdmin(options);
  cleanup.add(await startMachines(earlier, join(folder, 'lab'), before), (each) => each.stop());
  const id = await beginWork(before, folder, listener);
  print('  the earlier revision creates a stack; its host runs a config and has more in its queue; events wait');
  await old.stop();
  cleanup.add(await startTree(repository, options), (each) => each.stop());
  print('  this tree runs on the same data');
  await finish(check, { client: await logInAsAdmin(options), listener, id });
}

async function upgradeDistributed(find: FindBackend, check: Check): Promise<void> {
  const { earlier, folder, cleanup } = check;
  const [broker, database] = await Promise.all([find(), findMongodb()]);
  if (!('missing' in broker)) cleanup.add(broker, (each) => each.stop());
  if (!('missing' in database)) cleanup.add(database, (each) => each.stop());
  if ('missing' in broker) throw new Error(broker.missing);
  if ('missing' in database) throw new Error(database.missing);
  const ports = [await freeLocalPort(), await freeLocalPort()] as const;
  const { url } = cleanup.add(await startBalancer(ports), (each) => each.close());
  const shared = {
    url,
    password,
    flags: ['--bus', broker.url, '--store', database.url],
    environment: { ANNEAL_KEYS: randomBytes(32).toString('base64') },
  };
  const listener = cleanup.add(await startGatedListener(), (each) => each.close());
  const options = { ...shared, data: join(folder, 'old'), port: ports[0] };
  const old = cleanup.add(await startTree(earlier, options), (each) => each.stop());
  const client = await logInAsAdmin(shared);
  cleanup.add(await startMachines(earlier, join(folder, 'lab'), client), (each) => each.stop());
  const id = await beginWork(client, folder, listener);
  print('  the earlier revision creates a stack; its host runs a config and has more in its queue; events wait');
  const next = { ...shared, data: join(folder, 'new'), port: ports[1] };
  cleanup.add(await startTree(repository, next), (each) => each.stop());
  await openGate(folder, 3);
  await begun(folder, 5);
  const values = Array.from(
    { length: 20 },
    (_, at) => `  v${at}: { type: 'OS::Heat::Value', properties: { value: ${at} } }`,
  );
  const template = ['heat_template_version: 2016-10-14', 'resources:', ...values, ''].join('\n');
  for (const name of ['side-1', 'side-2', 'side-3']) {
    await client.stacks.create({ name, bundle: bundle(template) });
    await reached(client, name, 'CREATE_COMPLETE');
  }
  print('  ✔ both revisions side by side continue the work and create three more stacks');
  const own = { url: `http://127.0.0.1:${ports[1]}`, password };
  const seen = await checkServicesPage({ ...own, client: await logInAsAdmin(own), earlier });
  print(`  ✔ the page of services says: ${seen}`);
  await old.stop();
  print('  only this tree runs');
  await finish(check, { client, listener, id });
}

async function checkUpgrade(title: string, earlier: string, upgrade: (check: Check) => Promise<void>): Promise<void> {
  print(title);
  const folder = await mkdtemp(join(tmpdir(), 'anneal-upgrade-'));
  const cleanup = new Cleanup();
  cleanup.add(folder, (each) => rm(each, { recursive: true, force: true, maxRetries: 5 }));
  try {
    await upgrade({ earlier, folder, cleanup });
  } finally {
    await cleanup.run();
  }
}

async function main(from: string | undefined, only: { embedded: boolean; distributed: boolean }): Promise<void> {
  const revision = from ?? (await readFile(join(import.meta.dirname, 'from'), 'utf8')).trim();
  const commit = await commitOf(revision);
  const work = await mkdtemp(join(tmpdir(), 'anneal-earlier-'));
  try {
    print(`from ${commit.slice(0, 12)} to the tree in ${repository}`);
    const earlier = join(work, 'tree');
    await mkdir(earlier);
    await writeEarlierTree(commit, earlier);
    await numberRelease(earlier);
    if (!only.distributed) await checkUpgrade('embedded', earlier, upgradeEmbedded);
    for (const { name, find } of only.embedded ? [] : brokers) {
      await checkUpgrade(`distributed, ${name} and a database`, earlier, (check) => upgradeDistributed(find, check));
    }
    print('The upgrade lost nothing.');
  } finally {
    await rm(work, { recursive: true, force: true, maxRetries: 5 });
  }
}

const flag = { type: 'boolean', default: false } as const;
const { values } = parseArgs({ options: { from: { type: 'string' }, embedded: flag, distributed: flag, help: flag } });
if (values.help) print(usage.trimEnd());
else {
  await main(values.from, values).catch((error: unknown) => {
    process.stderr.write(`The upgrade failed: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
