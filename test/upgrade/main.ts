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
import { Cleanup, finish, print, type Check } from './check.ts';
import { logInAsAdmin, startBalancer, startMachines, startTree } from './installation.ts';
import { checkServicesPage, numberRelease } from './services-page.ts';
import { upgradeRolling } from './rolling.ts';
import { begun, beginWork, openGate, reached, startGatedListener } from './work.ts';

const usage = `Usage: npm run upgrade -- [--from REV] [--embedded | --distributed | --rolling] [--broker NAME]

Upgrades an installation with work in flight from a revision to this tree.

  --from REV      revision to start with, or a time: the last one before it (default: the time in test/upgrade/from)
  --embedded      one process, which is stopped and replaced
  --distributed   on RabbitMQ and on NATS with a database: a process of each revision side by side, then only the new one
  --rolling       on RabbitMQ and on NATS with a database: two processes of each service, replaced one after the other
  --broker NAME   only on nats or on rabbitmq
  --help          show this help

Without one of the last three, it runs the first two.
`;

const password = 'only-for-this-check';

async function upgradeEmbedded(check: Check): Promise<void> {
  const { earlier, folder, cleanup } = check;
  const port = await freeLocalPort();
  const options = { data: join(folder, 'data'), port, url: `http://127.0.0.1:${port}`, password };
  const listener = cleanup.add(await startGatedListener(), (each) => each.close());
  const old = cleanup.add(await startTree(earlier, options), (each) => each.stop());
  const before = await logInAsAdmin(options);
  cleanup.add(await startMachines(earlier, { folder: join(folder, 'lab'), client: before, machines: 2 }), (each) =>
    each.stop(),
  );
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
  cleanup.add(await startMachines(earlier, { folder: join(folder, 'lab'), client, machines: 2 }), (each) =>
    each.stop(),
  );
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

interface Chosen {
  readonly embedded: boolean;
  readonly distributed: boolean;
  readonly rolling: boolean;
  readonly broker?: string | undefined;
}

/** The upgrades to check, by their titles. */
function chosenUpgrades(chosen: Chosen): [title: string, upgrade: (check: Check) => Promise<void>][] {
  const usual = !chosen.embedded && !chosen.distributed && !chosen.rolling;
  const onBrokers = brokers.filter(({ name }) => chosen.broker === undefined || name.toLowerCase() === chosen.broker);
  const onEach = (title: string, upgrade: (find: FindBackend, check: Check) => Promise<void>) =>
    onBrokers.map(({ name, find }): ReturnType<typeof chosenUpgrades>[number] => [
      `${title}, ${name} and a database`,
      (check) => upgrade(find, check),
    ]);
  return [
    ...(usual || chosen.embedded ? [['embedded', upgradeEmbedded] as [string, typeof upgradeEmbedded]] : []),
    ...(usual || chosen.distributed ? onEach('distributed', upgradeDistributed) : []),
    ...(chosen.rolling ? onEach('two replicas of each service', upgradeRolling) : []),
  ];
}

async function main(from: string | undefined, chosen: Chosen): Promise<void> {
  const revision = from ?? (await readFile(join(import.meta.dirname, 'from'), 'utf8')).trim();
  const commit = await commitOf(revision);
  const work = await mkdtemp(join(tmpdir(), 'anneal-earlier-'));
  try {
    print(`from ${commit.slice(0, 12)} to the tree in ${repository}`);
    const earlier = join(work, 'tree');
    await mkdir(earlier);
    await writeEarlierTree(commit, earlier);
    await numberRelease(earlier);
    for (const [title, upgrade] of chosenUpgrades(chosen)) await checkUpgrade(title, earlier, upgrade);
    print('The upgrade lost nothing.');
  } finally {
    await rm(work, { recursive: true, force: true, maxRetries: 5 });
  }
}

const flag = { type: 'boolean', default: false } as const;
const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: { from: text, broker: text, embedded: flag, distributed: flag, rolling: flag, help: flag },
});
if (values.help) print(usage.trimEnd());
else {
  await main(values.from, values).catch((error: unknown) => {
    process.stderr.write(`The upgrade failed: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
