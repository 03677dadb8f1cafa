import { expect, it } from 'vitest';
import { toneOfWhy } from './needs.ts';

it('shows a stack at a hook as one that waits for a person, and leaves every other state as it is', () => {
  const held = { exits: ['anneal hook clear web db pre-create', 'anneal stack cancel web'] };
  expect(toneOfWhy(held, 'busy')).toBe('wait');
  expect(toneOfWhy(held, 'failed')).toBe('failed');
  expect(toneOfWhy({ exits: ['anneal stack cancel web'] }, 'busy')).toBe('busy');
});
