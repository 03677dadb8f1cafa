import { expect, it } from 'vitest';
import { ratesOf } from './queue.ts';

const row = (name: string, depth: number, received: number | null) => ({
  name,
  kind: 'user',
  depth,
  in_flight: 1,
  consumers: null,
  oldest_age_ms: null,
  received,
});

it('the rates of a queue are what came and what left; the queue of a service has none', () => {
  const rates = ratesOf(
    [row('a', 4, 10), row('b', 1, null)],
    [row('a', 2, 30), row('b', 5, null), row('new', 1, 2)],
    2,
  );
  expect([...rates]).toEqual([['a', { in: 10, out: 11 }]]);
});
