import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { snapshotDelete } from '@anneal/contracts/calls/stack-history.ts';
import { stackAct, stackList } from '@anneal/contracts/calls/stacks.ts';
import { stackResources, stackSignal } from '@anneal/contracts/calls/resources.ts';
import { quotaSet, quotaShow } from '@anneal/contracts/calls/quotas.ts';
import { createQuotas } from './quota.ts';
import { literal, openHarness, planWith, project, resource, type Harness } from '../testing/running-service.ts';

let harness: Harness;
afterEach(() => harness.dispose());

const planOf = (count: number) =>
  planWith(Array.from({ length: count }, (_, index) => resource(`r${index}`, { value: literal(index) })));
const refusalOf = (setting: string, how: RegExp) => ({
  code: 'QuotaExceeded',
  message: expect.stringMatching(new RegExp(`${how.source}.*${setting}`)) as string,
});

describe('the quota of stacks', () => {
  it('admits as many stacks as the setting allows, also for simultaneous creates, and one more after each deletion', async () => {
    harness = await openHarness({ settings: { projectStacks: 3 } });
    const all = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => harness.create(`s${index}`, planOf(1))),
    );
    const made = all.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(made).toHaveLength(3);
    for (const each of all) {
      if (each.status === 'rejected')
        expect(each.reason).toMatchObject(
          refusalOf('ANNEAL_SCHEDULING_PROJECT_STACKS', /has 3 stacks; with 1 more it would exceed its 3/),
        );
    }
    const { stacks } = await harness.ask(stackList, { project });
    expect(stacks).toHaveLength(3);

    await harness.settled(made[0]!.id);
    await harness.remove(made[0]!.id);
    await harness.settled(made[0]!.id);
    await harness.create('another', planOf(1));
    await expect(harness.create('one more', planOf(1))).rejects.toMatchObject({ code: 'QuotaExceeded' });
  });

  it('counts stacks that existed before the process started', async () => {
    harness = await openHarness({ settings: { projectStacks: 1 } });
    const { context } = harness;
    await harness.create('first', planOf(1));
    await harness.service.stop();
    harness = await openHarness({ context, settings: { projectStacks: 1 } });
    await expect(harness.create('second', planOf(1))).rejects.toMatchObject({ code: 'QuotaExceeded' });
  });
});

describe('a quota that an administrator sets for a project', () => {
  it('replaces the setting at once, up and down, and removes nothing', async () => {
    harness = await openHarness({ settings: { projectStacks: 1 } });
    const set = (limits: Record<string, number | null>) => harness.ask(quotaSet, { project, limits });
    const { id } = await harness.create('first', planOf(2));
    await harness.settled(id);
    await expect(harness.create('second', planOf(1))).rejects.toMatchObject({ code: 'QuotaExceeded' });
    await set({ stacks: 2, hosts: 1 });
    const second = await harness.create('second', planOf(1));
    await harness.settled(second.id);
    expect((await harness.ask(quotaShow, { project })).quotas).toMatchObject([
      { name: 'stacks', limit: 2, default: 1, used: 2 },
      { name: 'resources', used: 3 },
      { name: 'stack_bytes' },
    ]);
    const refusal = refusalOf('anneal project quota', /has 2 stacks; with 1 more it would exceed its 2/);
    await expect(harness.create('third', planOf(1))).rejects.toMatchObject(refusal);

    await set({ stacks: null, resources: 3 });
    expect((await harness.ask(stackList, { project })).stacks).toHaveLength(2);
    await expect(harness.update(id, planOf(3))).rejects.toMatchObject(
      refusalOf('anneal project quota', /has 3 resources; with 1 more it would exceed its 3/),
    );
    await harness.update(id, planOf(1));
    expect(await harness.settled(id)).toMatchObject({ status: 'COMPLETE' });
    const other = (await harness.ask(quotaShow, { project: 'other' })).quotas;
    expect(other.map(({ limit, default: normal, used }) => [limit === normal, used])).toEqual(
      other.map(() => [true, 0]),
    );
  });

  it('holds for simultaneous creates', async () => {
    harness = await openHarness();
    await harness.ask(quotaSet, { project, limits: { stacks: 3 } });
    const all = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => harness.create(`s${index}`, planOf(1))),
    );
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  });
});

describe('the quota of resources', () => {
  it('refuses a create or update that would exceed it, and does not change the stack', async () => {
    harness = await openHarness({ settings: { projectResources: 10 } });
    const { id } = await harness.create('a', planOf(6));
    await harness.settled(id);
    const refusal = (count: number) =>
      refusalOf('ANNEAL_SCHEDULING_PROJECT_RESOURCES', new RegExp(`6 resources; with ${count} more .* its 10`));
    await expect(harness.create('b', planOf(5))).rejects.toMatchObject(refusal(5));
    await expect(harness.update(id, planOf(11))).rejects.toMatchObject(refusal(5));
    expect(await harness.settled(id)).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
    const { resources } = await harness.ask(stackResources, { project, stack: id, detail: false });
    expect(resources).toHaveLength(6);
    await harness.update(id, planOf(10));
    expect(await harness.settled(id)).toMatchObject({ action: 'UPDATE', status: 'COMPLETE' });
  });
});

describe('what one message adds', () => {
  it('is charged once, however often its step is tried', async () => {
    const stored = { resources: 0 };
    const page = {
      find: async ({ where }: { where: object }) => ('depth' in where && where.depth === 0 ? [{ id: 's' }] : []),
    };
    const quotas = createQuotas({
      collections: {
        stacks: page,
        snapshotSizes: page,
        resources: { count: async () => stored.resources },
      } as unknown as Parameters<typeof createQuotas>[0]['collections'],
      limitOf: async () => ({ most: 10, setting: 'test' }),
      admit: async (_project, _admission, store) => store(),
    });
    const add = (by: string) =>
      quotas.within({ project: 'p', stacks: 0, resources: 6, bytes: 0, by }, async () => (stored.resources = 6));
    for (let tries = 0; tries < 3; tries += 1) expect(await add('one')).toBeUndefined();
    expect(await add('another')).toMatchObject({ code: 'QuotaExceeded' });
  });
});

describe('the quota of bytes', () => {
  const textOf = (length: number, name = 'r0') => planWith([resource(name, { value: literal('x'.repeat(length)) })]);
  const refusal = refusalOf('ANNEAL_SCHEDULING_PROJECT_BYTES', /bytes; with \d+ more it would exceed its 100000/);

  it('refuses a create or update whose contents would exceed it, and does not change the stack', async () => {
    harness = await openHarness({ settings: { projectBytes: 100_000 } });
    await expect(harness.create('large', textOf(110_000))).rejects.toMatchObject(refusal);
    const { id } = await harness.create('a', textOf(20_000));
    await harness.settled(id);
    await expect(harness.update(id, textOf(110_000))).rejects.toMatchObject(refusal);
    expect(await harness.settled(id)).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
    // A change of the same size adds nothing.
    await harness.update(id, textOf(20_000, 'r1'));
    expect(await harness.settled(id)).toMatchObject({ action: 'UPDATE', status: 'COMPLETE' });
  });

  it('counts resources too, also after a restart, and has room again after a deletion', async () => {
    const settings = { projectBytes: 100_000 };
    harness = await openHarness({ settings });
    const { context } = harness;
    // Its contents alone would leave room for the second stack.
    const first = await harness.create('a', textOf(30_000));
    await harness.settled(first.id);
    await harness.service.stop();
    harness = await openHarness({ context, settings });
    await expect(harness.create('b', textOf(50_000))).rejects.toMatchObject(refusal);
    await harness.remove(first.id);
    await harness.settled(first.id);
    // A refused project is counted again at most once a second.
    const second = await eventually(() => harness.create('b', textOf(50_000)).catch(() => undefined));
    expect(await harness.settled(second.id)).toMatchObject({ status: 'COMPLETE' });
  });

  it('refuses a snapshot that would exceed it, counts snapshots, and has room again when they are deleted', async () => {
    harness = await openHarness({ settings: { projectBytes: 100_000 } });
    const { id } = await harness.create('a', textOf(12_000));
    await harness.settled(id);
    const snapshot = (name: string) =>
      harness.ask(stackAct, { project, stack: id, action: { kind: 'snapshot', id: name, name } });
    const made: string[] = [];
    const refused = await eventually(async () => {
      const name = `snap${made.length}`;
      try {
        await snapshot(name);
        made.push(name);
        await harness.settled(id);
        return undefined;
      } catch (error) {
        return error;
      }
    });
    expect(refused).toMatchObject(refusal);
    expect(made.length).toBeGreaterThan(0);
    // All of them, because what a resource adds after its admission counts only in the next count.
    for (const name of made) await harness.ask(snapshotDelete, { project, stack: id, snapshot: name });
    await eventually(() => snapshot('again').catch(() => undefined));
    expect(await harness.settled(id)).toMatchObject({ action: 'SNAPSHOT', status: 'COMPLETE' });
  });

  it('refuses a signal whose data would exceed it, and does not change the resource', async () => {
    harness = await openHarness({ settings: { projectBytes: 100_000 } });
    const { id } = await harness.create('a', planWith([resource('h', {}, { type: 'OS::Heat::WaitConditionHandle' })]));
    await harness.settled(id);
    const signal = (data: string) => harness.ask(stackSignal, { project, stack: id, resource: 'h', signal: { data } });
    await expect(signal('x'.repeat(100_000))).rejects.toMatchObject(refusal);
    await signal('small');
  });
});
