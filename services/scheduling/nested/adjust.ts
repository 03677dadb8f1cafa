/**
 * Scales a group for a policy: updates the group's own stack to another number of members, without the stack around it.
 *
 * A1 One scaling at a time: while the group is busy, has failed or cools down, the request is ignored, as in Heat.
 * A2 A repeat of the request is recognized by its id, so that it scales once.
 * A3 The record that starts the update also carries the scaling event. So no event reports a scaling that never began,
 *    and no scaling lacks its event.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { groupAdjust } from '@anneal/contracts/calls/scheduling.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import type { Input } from '@anneal/convergence/protocol.ts';
import type { State } from '@anneal/convergence/state.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { z } from 'zod';
import type { Contents } from '../engine/contents.ts';
import type { Plans } from '../engine/plans.ts';
import { refuseGrowth, type Quotas } from '../engine/quota.ts';
import { treeOf, type ChildCompiler } from './compile.ts';
import { cooldownEnd } from './cooldown.ts';
import { fromKept, toKept } from './kept.ts';

type Adjustment = z.infer<typeof groupAdjust.data>;

export function createAdjust(parts: {
  context: ServiceContext;
  plans: Plans;
  contents: Contents;
  quotas: Quotas;
  compile: ChildCompiler;
}): (message: Envelope, state: State) => Promise<Input | undefined> {
  const { context, plans, compile, contents, quotas } = parts;
  const { log, now, secrets } = context;

  return async (message, state) => {
    const adjustment = message.data as Adjustment;
    const { stack } = state;
    const kept = fromKept(stack.group);
    const ignore = (reason: string): undefined => {
      log.info({ stack: stack.id, policy: adjustment.policy, reason }, 'group not scaled');
      return undefined;
    };
    if (!kept?.members || stack.deleted_at !== null || !stack.parent) return ignore('it is not a group');
    const before = kept.members.names.length;
    if (stack.recent.includes(message.id)) return ignore('it is a repeated request');
    if (stack.status !== 'COMPLETE') return ignore(`it is ${stack.action}_${stack.status}`);
    const until = cooldownEnd(kept.members.cooldown, stack);
    if (until !== null && Date.parse(until) > now().getTime()) return ignore(`it is cooling down until ${until}`);
    const properties = secrets.open<JsonObject>(kept.properties);
    const after = clamp(sizeAfter(before, adjustment), properties);
    if (after === before) return ignore(`it already has ${before} members`);
    const { target, kept: next } = await compile({
      wanted: kept,
      before: kept,
      stack: treeOf(stack),
      resource: stack.parent.resource_name,
      parentStack: stack.parent.stack_id,
      // Keep the revision, because a new size does not change the definition of the members.
      revision: stack.target.revision,
      existing: [...state.resources.values()],
      previousPlan: stack.target.plan,
      size: after,
      deadline: new Date(now().getTime() + (stack.timeout_minutes ?? 60) * 60_000).toISOString(),
      cause: message,
    });
    const refusal = await refuseGrowth({ quotas, plans, contents }, state, { target });
    if (refusal) return ignore(refusal.message);
    const seconds = adjustment.cooldown ?? Number(properties['cooldown'] ?? properties['Cooldown'] ?? 0);
    const members = next.members && { ...next.members, cooldown: { until: null, seconds } };
    return {
      kind: 'update',
      id: message.id,
      plan: await plans.get(target.plan),
      target,
      group: toKept({ ...next, members }),
      scaled: { policy: adjustment.policy, before, after },
      occasion: adjustment.occasion ?? occasionOf(message),
    };
  };
}

/** A request of an older version names only the policy. */
const occasionOf = ({ data, correlationid }: Envelope): Occasion => ({
  actor: { kind: 'policy', id: '', name: (data as Adjustment).policy },
  cause: { kind: 'signal', id: correlationid, reason: null },
});

/** A percentage of less than one member rounds away from zero; any other rounds toward zero. */
export function sizeAfter(
  size: number,
  {
    adjustment_type: type,
    adjustment,
    min_step: least,
  }: Pick<Adjustment, 'adjustment_type' | 'adjustment' | 'min_step'>,
): number {
  if (type === 'exact_capacity') return Math.trunc(adjustment);
  if (type === 'change_in_capacity') return size + Math.trunc(adjustment);
  const delta = (size * adjustment) / 100;
  const whole = Math.abs(delta) < 1 ? Math.sign(delta) : Math.trunc(delta);
  const step = least !== null && Math.abs(whole) < least ? Math.sign(whole) * least : whole;
  return size + step;
}

function clamp(size: number, properties: JsonObject): number {
  const number = (fallback: number, ...names: string[]): number => {
    const value = names.map((name) => properties[name]).find((each) => typeof each === 'number');
    return typeof value === 'number' ? value : fallback;
  };
  const least = number(0, 'min_size', 'MinSize');
  const most = number(Infinity, 'max_size', 'MaxSize');
  return Math.max(0, Math.min(Math.max(size, least), most));
}
