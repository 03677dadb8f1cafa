/** Trees that a seed draws, each with the values that it must have: `test/tree/random.ts`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compare } from '../../tree/compare.ts';
import { treeComplete, treeInput, readerOf } from '../../tree/in-process.ts';
import { randomTree } from '../../tree/random.ts';
import { StackWorld } from '../stack-world.ts';

let world: StackWorld;
beforeAll(async () => {
  world = await StackWorld.open({ ANNEAL_TEMPLATING_MAX_DEPTH: '7' });
});
afterAll(() => world.close());

describe('a random tree', () => {
  it.each([1, 2, 3, 4, 5])('has every value right after its creation and after a change (seed %i)', async (seed) => {
    const drawn = { seed, levels: 2, width: 3, text: 'text', secret: 'hush', deep: 'first' };
    const tree = randomTree(drawn);
    const stack = await world.create(`tree-${seed}`, treeInput(tree));
    await treeComplete(world, stack);
    const { id } = stack;
    const before = await compare(readerOf(world), id, { expected: tree.expected, masks: true });
    expect(before.faults).toEqual([]);

    // A default that only the deepest stacks read changes for each seed, everything for every second one.
    const { expected, ...changed } = randomTree({
      ...drawn,
      deep: 'second',
      ...(seed % 2 === 0 && { text: 'other', secret: 'quiet' }),
    });
    await world.update(id, treeInput({ ...changed, expected }));
    await treeComplete(world, stack);
    expect((await compare(readerOf(world), id, { expected, masks: true })).faults).toEqual([]);

    await world.remove(id);
    await treeComplete(world, stack);
  });
});
