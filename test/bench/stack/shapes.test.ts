import { describe, expect, it } from 'vitest';
import { randomStrings, testResources, values, valuesWithLeaf } from './shapes.ts';

describe('the templates of the bench of stacks', () => {
  it('stay below the size that a server accepts, with ten thousand resources', () => {
    const leaf = (count: number) => valuesWithLeaf(count, 'first');
    for (const shape of [values, leaf, randomStrings, testResources])
      expect(shape(10_000).length).toBeLessThan(524_288);
  });

  it('change one value only, with another default', () => {
    const [before, after] = ['first', 'second'].map((leaf) => valuesWithLeaf(3, leaf).split('\n'));
    expect(after?.filter((line, index) => line !== before?.[index])).toEqual([
      'parameters: {leaf: {type: string, default: second}}',
    ]);
    expect(after?.filter((line) => line.includes('get_param'))).toHaveLength(1);
  });
});
