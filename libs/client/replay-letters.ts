/** Replays of several dead letters: what became of each, within one limit of time for all. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { DeadLetterCalls } from './queues.ts';
import type { ReplayedLetter } from './representation.ts';

/** Seconds to wait in all for the ends of replayed messages. A message that is handled at all usually is at once. */
const mostWaitSeconds = 5;

/** Replays dead letters, one at a time, and awaits their ends until the time for all of them is used up. */
export function createReplayer(
  deadLetters: Pick<DeadLetterCalls, 'replay'>,
): (letter: { id: string; data?: JsonObject | undefined }) => Promise<ReplayedLetter> {
  let left = mostWaitSeconds;
  return async (letter) => {
    const began = performance.now();
    const replayed = await deadLetters.replay({ ...letter, wait: left });
    left = Math.max(0, left - (performance.now() - began) / 1000);
    return replayed;
  };
}

/** Sums replays up: `3 sent; 1 handled; 2 dead again: …`. */
export function replaySummary(replayed: readonly ReplayedLetter[]): string {
  const count = (outcome: ReplayedLetter['outcome']): number =>
    replayed.filter((each) => each.outcome === outcome).length;
  const [handled, sent, died] = [count('handled'), count('sent'), count('died')];
  const reason = replayed.find(({ outcome }) => outcome === 'died')?.failure?.message;
  const parts = [
    `${replayed.length} sent`,
    ...(handled > 0 ? [`${handled} handled`] : []),
    ...(sent > 0 ? [`${sent} not handled yet`] : []),
    ...(died > 0 ? [`${died} dead again: ${reason ?? 'without a reason'}`] : []),
  ];
  return parts.join('; ');
}
