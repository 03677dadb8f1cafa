import { expect, it } from 'vitest';
import { createReplayer, replaySummary } from './replay-letters.ts';
import type { ReplayedLetter } from './representation.ts';

const died: ReplayedLetter = {
  outcome: 'died',
  dead_letter: 'x',
  failure: { code: 'NotFound', message: 'no such host' },
};

it.each<[ReplayedLetter[], string]>([
  [[{ outcome: 'handled' }], '1 sent; 1 handled'],
  [[{ outcome: 'sent' }], '1 sent; 1 not handled yet'],
  [[{ outcome: 'handled' }, died, died], '3 sent; 1 handled; 2 dead again: no such host'],
])('sums up what became of replayed messages: %j', (replayed, said) => {
  expect(replaySummary(replayed)).toBe(said);
});

it('waits for all messages together no longer than for one', async () => {
  const waits: number[] = [];
  const replay = createReplayer({
    replay: async ({ wait = 0 }) => {
      waits.push(wait);
      return { outcome: 'sent' };
    },
  });
  await replay({ id: 'a' });
  await replay({ id: 'b' });
  expect(waits[0]).toBe(5);
  expect(waits[1]).toBeLessThan(5);
});
