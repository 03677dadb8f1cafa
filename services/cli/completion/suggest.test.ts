import { expect, it } from 'vitest';
import { suggestName } from './suggest.ts';

const names = async (noun: string, before: readonly string[]): Promise<readonly string[]> => {
  if (noun === 'stack') return ['first', 'shop'];
  return noun === 'resource' && before[0] === 'first' ? ['server', 'database'] : [];
};
const suggest = (line: string, message: string) => suggestName({ words: line.split(' '), message, names });

it('suggests the nearest name of the kind that the command expects', async () => {
  expect(await suggest('stack show frist', 'The Stack (frist) could not be found.')).toBe('first');
  expect(await suggest('resource show first servr', 'The Resource (servr) could not be found.')).toBe('server');
});

it('suggests nothing when no name is near, or the name exists', async () => {
  expect(await suggest('stack show something', 'The Stack (something) could not be found.')).toBeUndefined();
  expect(await suggest('output show first nope', 'Specified output key nope not found.')).toBeUndefined();
});
