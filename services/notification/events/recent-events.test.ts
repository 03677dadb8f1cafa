import { expect, it } from 'vitest';
import { RecentEvents } from './recent-events.ts';

type Numbered = { sequence: number };
const documents = (...sequences: number[]): Numbered[] => sequences.map((sequence) => ({ sequence }));
const numbers = (recent: RecentEvents<Numbered>, after: number, upTo: number): number[] | undefined =>
  recent.between(after, upTo)?.map(({ sequence }) => sequence);

it('has the events between two numbers, or knows that it lacks one', () => {
  const recent = new RecentEvents<Numbered>();
  expect(numbers(recent, 0, 0)).toBeUndefined();
  recent.add(documents(5, 6));
  recent.add(documents(7));
  expect(numbers(recent, 4, 7)).toEqual([5, 6, 7]);
  expect(numbers(recent, 5, 6)).toEqual([6]);
  expect(numbers(recent, 7, 7)).toEqual([]);
  expect(numbers(recent, 3, 7)).toBeUndefined();
  expect(numbers(recent, 5, 8)).toBeUndefined();
});

it('takes an event that arrives twice once, and begins again behind a gap', () => {
  const recent = new RecentEvents<Numbered>();
  recent.add(documents(1, 2));
  recent.add(documents(1, 3));
  expect(numbers(recent, 0, 3)).toEqual([1, 2, 3]);
  recent.add(documents(5));
  expect(numbers(recent, 0, 5)).toBeUndefined();
  expect(numbers(recent, 4, 5)).toEqual([5]);
});

it('forgets what the log has removed, and the oldest of many', () => {
  const recent = new RecentEvents<Numbered>();
  recent.add(documents(1, 2, 3));
  recent.remove(2);
  expect(numbers(recent, 0, 3)).toBeUndefined();
  expect(numbers(recent, 2, 3)).toEqual([3]);
  for (let sequence = 4; sequence <= 5_000; sequence += 1) recent.add(documents(sequence));
  expect(numbers(recent, 2, 5_000)).toBeUndefined();
  expect(numbers(recent, 4_000, 5_000)).toHaveLength(1_000);
});
