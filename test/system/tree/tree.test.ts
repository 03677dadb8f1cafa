/** A tree of the shape of TripleO's overcloud. Its generator knows every value by construction: `test/tree/overcloud.ts`. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compare, unkept, type TreeFound } from '../../tree/compare.ts';
import type { ExpectedStack } from '../../tree/expected.ts';
import { treeComplete, ended, treeInput, readerOf } from '../../tree/in-process.ts';
import { overcloud, type Tree } from '../../tree/overcloud.ts';
import { changes, small, stateOf } from '../../tree/state.ts';
import { StackWorld } from '../stack-world.ts';

let world: StackWorld;
beforeEach(async () => {
  world = await StackWorld.open({ ANNEAL_TEMPLATING_MAX_DEPTH: '7' });
});
afterEach(() => world.close());

/** The ids of the tree's resources, after a check of all values. */
async function checked(id: string, { expected, secrets }: Tree): Promise<TreeFound & { expected: ExpectedStack }> {
  const found = await compare(readerOf(world), id, { expected, masks: secrets.length > 0 });
  expect(found.faults).toEqual([]);
  return { ...found, expected };
}

async function noSecretIsShown(id: string, secrets: readonly string[]): Promise<void> {
  const shown = JSON.stringify([await world.resources(id, 20), await world.stacks(true), await world.events(id, 20)]);
  for (const secret of secrets) expect(shown).not.toContain(secret);
  for (const name of await readdir(world.context.directory)) {
    if (!name.includes('.db')) continue;
    const content = await readFile(join(world.context.directory, name));
    for (const secret of secrets) expect(content.includes(secret), `${secret} in ${name}`).toBe(false);
  }
}

describe('a tree like an overcloud', () => {
  it(
    'has every value right after its creation, after each change and after a rollback',
    { timeout: 600_000 },
    async () => {
      let state = stateOf(small);
      let tree = overcloud(state);
      const stack = await world.create('tree', treeInput(tree), { on_failure: 'rollback' });
      await treeComplete(world, stack);
      const { id } = stack;
      let before = await checked(id, tree);
      expect(before.compared).toBeGreaterThan(100);

      const events = await world.events(id, 20);
      await world.update(id, treeInput(tree));
      await treeComplete(world, stack);
      expect((await world.events(id, 20)).slice(events.length)).toEqual([
        'tree UPDATE IN_PROGRESS',
        'tree UPDATE COMPLETE',
      ]);

      for (const { name, change } of changes) {
        state = change(state);
        tree = overcloud(state);
        await world.update(id, treeInput(tree));
        await treeComplete(world, stack);
        const after = await checked(id, tree);
        expect({ name, faults: unkept(before, after) }).toEqual({ name, faults: [] });
        before = after;
      }
      await noSecretIsShown(id, ['hush-first', 'hush-second']);

      await world.update(id, treeInput(overcloud({ ...state, domain: 'example.com', failing: 0 })));
      expect(await ended(world, stack)).toMatchObject({ action: 'ROLLBACK', status: 'COMPLETE' });
      expect(unkept(before, await checked(id, tree))).toEqual([]);

      await world.remove(id);
      await treeComplete(world, stack);
      expect(await world.stacks(true)).toEqual([]);
    },
  );

  it('shows every value when nothing is hidden', async () => {
    const tree = overcloud(stateOf(small, { hidden: false }));
    const stack = await world.create('tree', treeInput(tree));
    await treeComplete(world, stack);
    await checked(stack.id, tree);
  });
});
