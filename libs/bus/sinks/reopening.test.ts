import { expect, it } from 'vitest';
import { reopening } from './broker-sink.ts';

it('a connection opens once, again after its end or a failure, and never after `end`', async () => {
  const ends: (() => void)[] = [];
  let failure: Error | undefined;
  const connection = reopening((onEnd) => {
    ends.push(onEnd);
    if (!failure) return Promise.resolve(ends.length);
    onEnd();
    return Promise.reject(failure);
  });
  expect(await Promise.all([connection.get(), connection.get()])).toEqual([1, 1]);
  ends[0]?.();
  expect(await connection.get()).toBe(2);
  ends[1]?.();
  failure = new Error('refused');
  await expect(connection.get()).rejects.toThrow('refused');
  failure = undefined;
  expect(await connection.get()).toBe(4);
  expect(await connection.end()).toBe(4);
  await expect(connection.get()).rejects.toThrow('the service stops');
});
