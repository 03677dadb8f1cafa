import { expect, it } from 'vitest';
import { Silence } from './silence.ts';

it('asks after 30 seconds in which nothing happened, and reports a reason once', () => {
  const silence = new Silence(0);
  expect([silence.isDue(29_999), silence.isDue(30_000), silence.isDue(30_001), silence.isDue(60_000)]).toEqual([
    false,
    true,
    false,
    true,
  ]);
  expect([silence.isNew('no node'), silence.isNew('no node'), silence.isNew('a slot')]).toEqual([true, false, true]);
});

it('begins again when something happens', () => {
  const silence = new Silence(0);
  expect(silence.isNew('no node')).toBe(true);
  silence.break(29_000);
  expect([silence.isDue(58_999), silence.isDue(59_000)]).toEqual([false, true]);
  expect(silence.isNew('no node')).toBe(true);
});
