import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stackEvents, stackList, stackShow } from '@anneal/contracts/calls/stacks.ts';
import { stackResources } from '@anneal/contracts/calls/resources.ts';
import { openSchedulingCollections } from './collections.ts';
import { callOf, literal, openHarness, planWith, project, resource, type Harness } from './testing/running-service.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.dispose());

const chain = (first: string, more: Parameters<typeof planWith>[1] = {}) =>
  planWith(
    [
      resource('a', { value: literal(first) }),
      resource('b', { value: callOf('get_attr', 'a', 'value') }, { requires: ['a'] }),
    ],
    { outputs: { out: { name: 'out', value: callOf('get_attr', 'b', 'value') } }, ...more },
  );

describe('a stack', () => {
  it('is created in the order of its requirements, shown, updated in place and deleted', async () => {
    const created = await harness.create('s1', chain('x'));
    expect(created).toMatchObject({ action: 'CREATE', name: 's1' });
    const done = await harness.settled(created.id);
    expect(done).toMatchObject({ status: 'COMPLETE', reason: 'Stack CREATE completed successfully' });
    expect(done.outputs).toEqual([{ key: 'out', description: '', value: 'x' }]);

    expect(await harness.update(created.id, chain('y'))).toMatchObject({ action: 'UPDATE' });
    expect(await harness.settled(created.id)).toMatchObject({ status: 'COMPLETE', outputs: [{ value: 'y' }] });

    await harness.remove(created.id);
    const gone = await harness.settled(created.id);
    expect(gone).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
    expect(gone.deleted_at).not.toBeNull();
    const { events } = await harness.ask(stackEvents, { project, stack: created.id, descending: false });
    expect(events.map(({ resource_name, action, status }) => `${resource_name} ${action} ${status}`)).toEqual([
      's1 CREATE IN_PROGRESS',
      'a CREATE IN_PROGRESS',
      'a CREATE COMPLETE',
      'b CREATE IN_PROGRESS',
      'b CREATE COMPLETE',
      's1 CREATE COMPLETE',
      's1 UPDATE IN_PROGRESS',
      'a UPDATE IN_PROGRESS',
      'a UPDATE COMPLETE',
      'b UPDATE IN_PROGRESS',
      'b UPDATE COMPLETE',
      's1 UPDATE COMPLETE',
      's1 DELETE IN_PROGRESS',
      'b DELETE IN_PROGRESS',
      'b DELETE COMPLETE',
      'a DELETE IN_PROGRESS',
      'a DELETE COMPLETE',
      's1 DELETE COMPLETE',
    ]);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  });

  it('is created once for repeated create messages, and its name is in use until it is deleted', async () => {
    const id = harness.context.newId();
    await harness.create('twice', chain('x'), { id });
    await harness.create('twice', chain('x'), { id });
    await expect(harness.create('twice', chain('x'))).rejects.toMatchObject({
      code: 'AlreadyExists',
      message: 'The Stack (twice) already exists.',
    });
    await harness.settled(id);
    const { stacks } = await harness.ask(stackList, { project });
    expect(stacks.map(({ name }) => name)).toEqual(['twice']);
    await harness.remove(id);
    await harness.settled(id);
    const again = await harness.create('twice', chain('x'));
    await harness.settled(again.id);
    expect((await harness.ask(stackList, { project })).stacks.map((stack) => stack.id)).toEqual([again.id]);
  });

  it('lists page by page, each stack once and newest first, also when many are of one moment', async () => {
    const { stacks } = await openSchedulingCollections(harness.context.store);
    const made: string[] = [];
    for (let n = 0; n < 50; n += 1) {
      const { id } = await harness.create(`page-${n}`, planWith([]));
      await harness.settled(id);
      made.push(id);
    }
    // Forty of one moment, between five newer and five older ones.
    for (const [n, id] of made.entries()) {
      const stack = await stacks.get(id);
      if (!stack) throw new Error(`The stack ${id} is missing.`);
      const hour = n < 5 ? '01' : n < 45 ? '02' : '03';
      await stacks.replace({ ...stack, created_at: `2026-01-01T${hour}:00:00.000Z` }, stack.version);
    }
    const all = (await harness.ask(stackList, { project })).stacks.filter(({ id }) => made.includes(id));
    expect(all.map(({ id }) => id).toSorted()).toEqual(made.toSorted());
    expect(all.map(({ created_at }) => created_at)).toEqual(
      all
        .map(({ created_at }) => created_at)
        .toSorted()
        .toReversed(),
    );
    for (const limit of [1, 7, 19, 20, 21, 49]) {
      const seen: string[] = [];
      for (let marker: string | undefined; ;) {
        const page = await harness.ask(stackList, { project, limit, ...(marker !== undefined && { marker }) });
        seen.push(...page.stacks.map(({ id }) => id));
        marker = seen.at(-1);
        if (page.stacks.length < limit) break;
      }
      expect(seen.filter((id) => made.includes(id))).toEqual(all.map(({ id }) => id));
    }
  });

  it('reports the root cause first, and the next update recreates the failed resource', async () => {
    const plan = (fail: boolean) =>
      planWith([resource('t', { value: literal('v'), fail: literal(fail) }, { type: 'OS::Heat::TestResource' })]);
    const { id } = await harness.create('bad', plan(true));
    const failed = await harness.settled(id);
    expect(failed).toMatchObject({
      status: 'FAILED',
      reason: 'Resource CREATE failed: ValueError: resources.t: Test Resource failed t',
      failures: [{ resource: 't', type: 'OS::Heat::TestResource', failure: { code: 'ValueError' } }],
    });
    await harness.update(id, plan(false));
    expect(await harness.settled(id)).toMatchObject({ status: 'COMPLETE', failures: [] });
    const { resources } = await harness.ask(stackResources, { project, stack: 'bad', detail: true });
    expect(resources).toHaveLength(1);
    expect(resources[0]).toMatchObject({ action: 'CREATE', status: 'COMPLETE', attributes: { output: 'v' } });
  });

  it('can be deleted while one of its resources never completes', async () => {
    const plan = planWith([resource('t', { wait_secs: literal(-1) }, { type: 'OS::Heat::TestResource' })]);
    const { id } = await harness.create('endless', plan);
    await harness.remove(id);
    // The same behaviour makes the deletion wait for ever too. The deletion has a deadline, and can be requested again.
    expect(await harness.ask(stackShow, { project, stack: id, outputs: false })).toMatchObject({ action: 'DELETE' });
  });

  it('fails, naming the announced types, when no provider serves one of its types', async () => {
    const { id } = await harness.create('lost', planWith([resource('x', {}, { type: 'OS::Nowhere::Thing' })]));
    const failed = await harness.settled(id);
    expect(failed.reason).toMatch(
      /no provider has announced type OS::Nowhere::Thing; announced types: .*OS::Heat::Delay/,
    );
  });
});
