import { expect, it } from 'vitest';
import { createIds } from './new-id.ts';

it('each id is a UUID of version 7 that is greater than the one before, also within one millisecond', () => {
  const times = [1_700_000_000_000, 1_700_000_000_000, 1_700_000_000_001, 1_600_000_000_000];
  let call = 0;
  const newId = createIds(() => times[Math.floor(call++ / 500)] ?? 1_700_000_000_002);
  const ids = Array.from({ length: 2500 }, newId);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  // The last 60 bits are random: names of stacks are made of them.
  expect(new Set(ids.map((id) => id.slice(-12))).size).toBe(ids.length);
});
