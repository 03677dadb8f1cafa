import { afterEach, describe, expect, it } from 'vitest';
import { stackList, stackResources } from '@anneal/contracts/scheduling.ts';
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
