/** The messages that a group handles, with their actors and causes. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { groupAct, groupAdjust, groupLost } from '@anneal/contracts/calls/scaling.ts';
import { systemOccasion, type Occasion } from '@anneal/contracts/origin.ts';
import type { GroupWait } from '@anneal/contracts/stack-timer.ts';
import type { z } from 'zod';
import { firedTimer } from '../documents/stack-timers.ts';
import { lossText, signText } from '../groups/lost.ts';
import type { ScalingState } from '../groups/scaling-state.ts';
import type { Adjustment } from '../groups/size.ts';

/** Reads the wait that has ended. Undefined for a message that is not of a timer of a group. */
export function endedWait(message: Envelope): GroupWait | undefined {
  const timer = firedTimer(message);
  return timer?.kind === 'group' ? timer.wait : undefined;
}

/** True for a message that only a group handles. */
export const isGroupMessage = (message: Envelope): boolean =>
  [groupAdjust.type, groupAct.type, groupLost.type].includes(message.type) || endedWait(message) !== undefined;

/** Finds the actor and the cause of a message to a group. */
export function groupOccasion(message: Envelope, state: ScalingState): Occasion {
  const { type, data, correlationid } = message;
  const { occasion } = data as { occasion?: Occasion };
  if (occasion) return occasion;
  if (type === groupAdjust.type) {
    // A request of an older version names only the policy.
    const actor = { kind: 'policy', id: '', name: (data as Adjustment).policy } as const;
    return { actor, cause: { kind: 'signal', id: correlationid, reason: null } };
  }
  if (type === groupLost.type) {
    const report = data as z.infer<typeof groupLost.data>;
    const ended = report.sign === 'fault' ? 'its node has no fault any more' : `host ${report.host_id} is back`;
    return systemOccasion('failure', { id: report.event, reason: report.lost ? signText(report) : ended });
  }
  const wait = endedWait(message);
  // A client of an older version does not say who asks.
  return wait ? occasionOfWait(wait, state) : systemOccasion('request', { id: correlationid });
}

function occasionOfWait(wait: GroupWait, { due, lost: losses = {} }: ScalingState): Occasion {
  switch (wait.kind) {
    case 'decide':
      return systemOccasion('timer', { reason: 'the deadline of the decision passed' });
    case 'due': {
      const reason = 'the group can take the request of its schedule';
      return due?.adjustment.occasion ?? systemOccasion('timer', { reason });
    }
    case 'fill':
      return systemOccasion('replacement', { reason: 'the warm pool of the group has room' });
    case 'lost': {
      const lost = losses[wait.member];
      return systemOccasion('replacement', lost ? { id: lost.event, reason: lossText(lost) } : {});
    }
    case 'leave':
      return systemOccasion('timer', { reason: 'members that leave may be deleted now' });
    case 'next':
      return systemOccasion('replacement', { reason: 'refresh of the group' });
  }
}
