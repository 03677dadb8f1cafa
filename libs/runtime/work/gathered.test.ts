import { expect, it } from 'vitest';
import { Gathered } from './gathered.ts';

it('gives a single item its own run at once, and those that arrive meanwhile one more, in order', async () => {
  const gathered = new Gathered<number, string>({ most: 10 });
  const groups: (readonly number[])[] = [];
  const gate = Promise.withResolvers<void>();
  const work = async (items: readonly number[]): Promise<string[]> => {
    groups.push(items);
    await gate.promise;
    return items.map((item) => `did ${item}`);
  };
  const results = [1, 2, 3, 4].map((item) => gathered.run('a', item, work));
  expect(groups).toEqual([[1]]);
  gate.resolve();
  expect(await Promise.all(results)).toEqual(['did 1', 'did 2', 'did 3', 'did 4']);
  expect(groups).toEqual([[1], [2, 3, 4]]);
});

it('bounds a group, and keeps the keys apart', async () => {
  const gathered = new Gathered<number, number>({ most: 2 });
  const groups: (readonly number[])[] = [];
  const work = (items: readonly number[]): Promise<readonly number[]> => {
    groups.push(items);
    return Promise.resolve(items);
  };
  await Promise.all([1, 2, 3, 4].map((item) => gathered.run('a', item, work)));
  expect(groups).toEqual([[1], [2, 3], [4]]);
  await Promise.all([gathered.run('a', 5, work), gathered.run('b', 6, work)]);
  expect(groups.slice(3)).toEqual([[5], [6]]);
});

it('fails the items of a failed group, and runs the next ones', async () => {
  const gathered = new Gathered<number, number>({ most: 10 });
  const work = (items: readonly number[]): Promise<readonly number[]> =>
    items.includes(2) ? Promise.reject(new Error('no')) : Promise.resolve(items);
  const outcomes = await Promise.allSettled([1, 2, 3].map((item) => gathered.run('a', item, work)));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(await gathered.run('a', 4, work)).toBe(4);
});
