/** Messages that died again after their replay. */
import { replaySummary } from '@anneal/client/replay-letters.ts';
import type { ReplayedLetter } from '@anneal/client/representation.ts';

/** @throws Error that sums the replays up, when a message died again */
export function refuseDead(replayed: readonly ReplayedLetter[]): void {
  if (replayed.some(({ outcome }) => outcome === 'died')) throw new Error(`${replaySummary(replayed)}.`);
}
