import { describe, expect, it } from 'vitest';
import { randomStrings, testResources, values } from './shapes.ts';

describe('the templates of the bench of stacks', () => {
  it('stay below the size that a server accepts, with ten thousand resources', () => {
    for (const shape of [values, randomStrings, testResources]) expect(shape(10_000).length).toBeLessThan(524_288);
  });

  it('change the value of the last resource and nothing else', () => {
    const [before, after] = [values(3), values(3, { changed: '.1' })].map((text) => text.split('\n'));
    expect(after?.filter((line, index) => line !== before?.[index])).toEqual([
      ' v2: {type: *t, properties: {value: 2.1}}',
    ]);
  });
});
