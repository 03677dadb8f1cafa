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

it('gives the place of a task that takes long to the next, once', async () => {
  const lane = new TaskLane(1);
  const started: number[] = [];
  const gates = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const tasks = gates.map(({ promise }, index) =>
    lane.run(
      () => {
        started.push(index);
        return promise;
      },
      index === 0 ? { longMs: 1 } : {},
    ),
  );
  await expect.poll(() => started).toEqual([0, 1]);
  // Its place is gone already, so its end starts no further task.
  gates[0]?.resolve();
  await tasks[0];
  expect(started).toEqual([0, 1]);
  gates[1]?.resolve();
  await expect.poll(() => started).toEqual([0, 1, 2]);
  gates[2]?.resolve();
  await Promise.all(tasks);
});
