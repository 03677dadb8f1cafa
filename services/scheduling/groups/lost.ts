/** Members whose host fell silent: noted at once, replaced after the time in the properties of the group. Pure. */
import type { groupLost } from '@anneal/contracts/calls/scaling.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import type { z } from 'zod';
import { later, type Noted, type GroupTurn } from './turn.ts';
import type { ScalingState } from './scaling-state.ts';

/** How long a change waits that is due while the group is busy. */
export const retryMs = 5000;

export interface ReplaceLost {
  /** Seconds of silence after which a member is replaced. */
  readonly after: number;
  readonly min_in_service: number;
}

/** Undefined when the group replaces no lost members. */
export function replaceLost(properties: JsonObject): ReplaceLost | undefined {
  const given = properties['replace_lost'];
  if (!isObject(given) || typeof given['after'] !== 'number') return undefined;
  const least = given['min_in_service'];
  return { after: given['after'], min_in_service: typeof least === 'number' ? least : 0 };
}

/** The members to replace now, or a change of the stored state of the group. */
export type Due =
  | Noted
  | { readonly reason: 'replacement' | 'refresh'; readonly message: string; readonly members: string[] };

/** Notes that a host fell silent or came back. Undefined when nothing changes: a member is lost once. */
export function lostNote(
  { scaling, group, properties }: GroupTurn,
  { member, host_id, lost, since, event }: z.infer<typeof groupLost.data>,
): Noted | undefined {
  const known = scaling.lost?.[member];
  if (!group.members.some(({ name }) => name === member)) return undefined;
  // A host that came back before it was lost is an event that arrived late.
  const isBack = !lost && known?.host_id === host_id && known.since <= since;
  if (!lost) return isBack ? { scaling: without(scaling, member) } : undefined;
  if (known) return undefined;
  const policy = replaceLost(properties);
  return {
    scaling: { ...scaling, lost: { ...scaling.lost, [member]: { host_id, since, event } } },
    ...(policy && { timers: [later(`group:lost:${member}`, Date.parse(since) + policy.after * 1000)] }),
  };
}

function without(scaling: ScalingState, member: string): ScalingState {
  const { lost: { [member]: _, ...others } = {}, ...rest } = scaling;
  return { ...rest, ...(Object.keys(others).length > 0 && { lost: others }) };
}

/**
 * The lost members that are replaced now: as many as are due, and never so many that fewer than `min_in_service` members
 * are left that are not lost or being replaced. Undefined when the host came back, or the member is gone.
 */
export function replacementDue(
  { scaling, group, properties }: GroupTurn,
  { member, now }: { member: string; now: number },
): Due | undefined {
  const policy = replaceLost(properties);
  const { lost = {} } = scaling;
  if (!policy || !lost[member]) return undefined;
  const due = Object.keys(lost).filter((name) => {
    const since = lost[name]?.since;
    return since !== undefined && Date.parse(since) + policy.after * 1000 <= now;
  });
  const most = group.members.length - policy.min_in_service;
  if (due.length === 0 || most <= 0) {
    return { scaling, timers: [later(`group:lost:${member}`, now + retryMs)] };
  }
  const members = due.slice(0, most);
  const since = members.map((name) => `${name} since ${lost[name]?.since}`).join(', ');
  return { reason: 'replacement', message: `Hosts are silent: ${since}.`, members };
}
