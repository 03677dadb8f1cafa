/** Answers the requests of a group from its stored outcomes, so that a repeat gets the same answer. */
import type { groupAct, groupAdjust, ScalingOutcome } from '@anneal/contracts/calls/scaling.ts';
import { answerSchema, answerType, type Envelope } from '@anneal/contracts/envelope.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { stackSignal } from '@anneal/contracts/calls/resources.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { z } from 'zod';
import { scalingGroup } from './facts.ts';
import type { ScalingState } from './scaling-state.ts';

type Parts = Pick<ServiceContext, 'bus' | 'mint'>;

const scalingOf = (stack: StackDocument): ScalingState => scalingGroup(stack)?.members.scaling ?? {};

/** Replies to the client that signalled the policy. */
export async function answerSignal(parts: Parts, message: Envelope, stack: StackDocument): Promise<void> {
  const { asked, policy, reason = 'signal' } = message.data as z.infer<typeof groupAdjust.data>;
  if (!asked) return;
  const known = scalingOf(stack).outcomes?.find(({ id }) => id === message.id);
  await replyOutcome(parts, {
    asked,
    cause: message,
    outcome: known ?? goneOutcome(message, { policy, reason, stack }),
  });
}

/** Replies to the question of a signal with the outcome. */
export async function replyOutcome(
  { bus, mint }: Parts,
  { asked, cause, outcome }: { asked: { id: string; replyto: string }; cause: Envelope; outcome: ScalingOutcome },
): Promise<void> {
  const value = { scaling: outcome } as unknown as Json;
  const data = { ok: true, value } as const;
  const answer = mint({ type: answerType(stackSignal.type), data: answerSchema }, { data, cause });
  await bus.reply({ to: { ...cause, ...asked }, message: answer });
}

/** The outcome of a request to a group that is deleted, or is none. */
function goneOutcome(
  { id, time }: Envelope,
  { policy, reason, stack }: Pick<ScalingOutcome, 'policy' | 'reason'> & { stack: StackDocument },
): ScalingOutcome {
  return missingOutcome({ id, at: time, policy, reason, message: `The stack ${stack.name} is no group that scales.` });
}

/** The outcome of a request that found no group. */
export const missingOutcome = (
  given: Pick<ScalingOutcome, 'id' | 'at' | 'policy' | 'reason' | 'message'>,
): ScalingOutcome => ({
  ...given,
  group: '',
  result: 'refused',
  before: 0,
  after: 0,
  refusal: 'missing',
  retry_after: null,
});

/** The answer to an action on a group. */
export function answerOfAct(id: string, stack: StackDocument): z.infer<typeof groupAct.answer> {
  const { outcomes, deciding } = scalingOf(stack);
  const outcome = outcomes?.find((one) => one.id === id);
  return { ...(outcome && { outcome }), ...(deciding && { deadline: deciding.deadline }) };
}
