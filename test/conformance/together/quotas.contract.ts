/** Replicas that admit at the same time exceed no quota (Q3), and the announcement of a dead one blocks no other (Q4). */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { ProjectQuotas, type Admission } from '@anneal/runtime/service/project-quotas.ts';
import { dropDatabase } from '@anneal/store/mongodb/drop.ts';
import { openStore } from '@anneal/store/open.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { databaseUrl, findMongodb } from '../../backends/mongodb.ts';

interface Thing extends Document {
  readonly project: string;
}
interface Replica {
  readonly store: Store;
  readonly quotas: ProjectQuotas<'alarms'>;
  readonly things: Collection<Thing>;
}

const mongodb = await findMongodb();
const missing = 'missing' in mongodb ? mongodb.missing : undefined;
if (missing !== undefined) process.stderr.write(`Skipped: MongoDB. ${missing}\n`);
const directory = await mkdtemp(join(tmpdir(), 'anneal-quotas-'));
const name = randomBytes(6).toString('hex');
const mongodbUrl = 'missing' in mongodb ? '' : databaseUrl(mongodb.url, `anneal_test_${name}`);
afterAll(async () => {
  if (!('missing' in mongodb)) {
    await dropDatabase(mongodbUrl);
    await mongodb.stop();
  }
  await rm(directory, { recursive: true, force: true });
});

const limit = 60;

describe.each([
  { on: 'SQLite', url: `sqlite:${join(directory, 'store.db')}`, absent: false },
  { on: 'MongoDB', url: mongodbUrl, absent: missing !== undefined },
])('the quotas of projects on $on', ({ url, absent }) => {
  let replicas: Replica[] = [];
  let project = '';
  beforeEach(async ({ skip }) => {
    skip(absent, missing);
    project = `p-${randomBytes(4).toString('hex')}`;
    replicas = await Promise.all(
      [0, 1].map(async () => {
        const store = await openStore({ url });
        const quotas = await ProjectQuotas.open(store, 'test', { alarms: { most: limit, setting: 'A' } });
        const indexes = [{ fields: ['project'] }];
        return { store, quotas, things: await store.collection<Thing>({ name: 'test_things', indexes }) };
      }),
    );
  });
  afterEach(() => Promise.all(replicas.map(({ store }) => store.close())));

  const asked = ({ things }: Replica, wanted = 1): Admission => ({
    wanted,
    count: () => things.count({ project }),
    refusal: ({ there }) => new AnnealError('QuotaExceeded', `there are ${there}`),
  });
  const add = (replica: Replica, id: string): Promise<unknown> =>
    replica.quotas.admit({ name: 'alarms', project }, asked(replica), () => replica.things.insert({ id, project }));
  const fill = async (count: number): Promise<void> => {
    const ids = Array.from({ length: count }, (_, index) => `${project}-${index}`);
    await replicas[0]?.things.bulk(ids.map((id) => ({ kind: 'insert', document: { id, project } })));
  };

  it('Q3: admit one of 50 simultaneous creates at two replicas when one is left', async () => {
    await fill(limit - 1);
    const all = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) => add(replicas[index % 2]!, `${project}-new-${index}`)),
    );
    const refused = all.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    expect(refused).toHaveLength(49);
    for (const reason of refused) expect(reason).toMatchObject({ code: 'QuotaExceeded', message: 'there are 60' });
    expect(await replicas[1]?.things.count({ project })).toBe(limit);
  });

  it('Q3: admit exactly what is left when several have room', async () => {
    await fill(limit - 7);
    const all = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => add(replicas[index % 2]!, `${project}-new-${index}`)),
    );
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
    expect(await replicas[1]?.things.count({ project })).toBe(limit);
  });

  it('Q3: an admission that fails to store leaves its place to another', async () => {
    await fill(limit - 1);
    const [first, second] = replicas as [Replica, Replica];
    const failing = first.quotas.admit({ name: 'alarms', project }, asked(first), () =>
      Promise.reject(new Error('no store')),
    );
    const [failed, made] = await Promise.allSettled([failing, add(second, `${project}-new`)]);
    expect([failed.status, made.status]).toEqual(['rejected', 'fulfilled']);
  });

  it('Q4: the announcement of a replica that died blocks no other for ever', async () => {
    await fill(limit - 1);
    const [first, second] = replicas as [Replica, Replica];
    // This one never ends, as after a kill.
    const announced = new Promise<void>((resolve) => {
      void first.quotas.admit({ name: 'alarms', project }, asked(first), () => {
        resolve();
        return new Promise(() => undefined);
      });
    });
    await announced;
    await add(second, `${project}-new`);
    expect(await second.things.count({ project })).toBe(limit);
  });
});
