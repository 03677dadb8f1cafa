import { expect, it } from 'vitest';
import { TaskLane } from './lane.ts';

it('runs at most as many tasks as it has places, in their order, also after a failure', async () => {
  const lane = new TaskLane(2);
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
  const started: number[] = [];
  const tasks = gates.map(({ promise }, index) =>
    lane.run(() => {
      started.push(index);
      return promise;
    }),
  );
  const settled = Promise.allSettled(tasks);
  expect(started).toEqual([0, 1]);
  gates[1]?.reject(new Error('failed'));
  await expect(tasks[1]).rejects.toThrow('failed');
  await expect.poll(() => started).toEqual([0, 1, 2]);
  // The failed task gave its place to the third one, so none is free.
  const last = lane.run(async () => started.push(5));
  expect(started).toEqual([0, 1, 2]);
  for (const [index, { resolve }] of gates.entries()) resolve(index);
  expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', ...Array(3).fill('fulfilled')]);
  await last;
  expect(started).toEqual([0, 1, 2, 3, 4, 5]);
});
