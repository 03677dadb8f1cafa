/**
 * Members whose host fell silent, or whose node has a fault: noted at once, replaced after the time in the properties of
 * the group. Pure.
 */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import { mostSeconds } from '@anneal/contracts/readers/duration.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { groupLost } from '@anneal/contracts/calls/scaling.ts';
import type { GroupTimer } from '@anneal/convergence/protocol.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import type { z } from 'zod';
import type { StoredNestedRequest } from './kept.ts';
import { allMembers } from './decision.ts';
import { later, type Noted, type GroupTurn } from './turn.ts';
import type { LostMember, ScalingState } from './scaling-state.ts';

/** How long a change waits that is due while the group is busy. */
export const retryMs = 5000;

export interface ReplaceLost {
  /** Seconds of silence, or of a fault, after which a member is replaced. */
  readonly after: number;
  readonly min_in_service: number;
  /** Whether a fault of the node is a loss. */
  readonly node_faults: boolean;
}

type Reported = z.infer<typeof groupLost.data>;

/** Undefined when the group replaces no lost members. */
export function replaceLost(properties: JsonObject): ReplaceLost | undefined {
  const given = properties['replace_lost'];
  const after = isObject(given) ? numberOf(given['after']) : undefined;
  if (!isObject(given) || after === undefined) return undefined;
  return {
    after: Math.min(after, mostSeconds),
    min_in_service: numberOf(given['min_in_service']) ?? 0,
    node_faults: given['node_faults'] === true,
  };
}

/** The members to replace now, or a change of the stored state of the group. */
export type Due =
  | Noted
  | { readonly reason: 'replacement' | 'refresh'; readonly message: string; readonly members: string[] };

/** The signs of a member that was noted as lost. */
export const signsOf = ({ since, event, signs }: LostMember): NonNullable<LostMember['signs']> =>
  signs ?? { silence: { since, event } };

/** How people read one sign of a loss. */
export const signText = ({ host_id, sign, reason }: Pick<Reported, 'host_id' | 'sign' | 'reason'>): string =>
  sign === 'fault' ? `its node has the fault ${reason ?? 'unknown'}` : `host ${host_id} is silent`;

/** How people read why a member is lost. */
export function lossText(lost: LostMember): string {
  const { host_id } = lost;
  return (['silence', 'fault'] as const)
    .flatMap((sign) => {
      const found = signsOf(lost)[sign];
      return found ? [`${signText({ host_id, sign, reason: found.reason })} since ${found.since}`] : [];
    })
    .join('; ');
}

/** Notes a sign of a loss, or its end. Undefined when nothing changes: a member is lost once. */
export function lostNote({ scaling, group, properties }: GroupTurn, report: Reported): Noted | undefined {
  const { member, host_id, lost, since, event, sign = 'silence', reason } = report;
  const known = scaling.lost?.[member];
  if (!allMembers(group).includes(member)) return undefined;
  // The first lost server of a member counts.
  if (known && known.host_id !== host_id) return undefined;
  const signs = known ? signsOf(known) : {};
  const noted = signs[sign];
  if (!lost) {
    // A sign that ended before it was noted is an event that arrived late.
    if (!known || !noted || noted.since > since) return undefined;
    const { [sign]: _, ...others } = signs;
    return { scaling: withLost(scaling, member, lostBy(host_id, others)) };
  }
  if (noted) return undefined;
  const found = { since, event, ...(reason !== undefined && { reason }) };
  const policy = replaceLost(properties);
  const counts = policy && (sign === 'silence' || policy.node_faults);
  return {
    scaling: withLost(scaling, member, lostBy(host_id, { ...signs, [sign]: found })),
    ...(counts && { timers: [later({ kind: 'lost', member }, Date.parse(since) + policy.after * 1000)] }),
  };
}

/** Undefined without a sign. */
function lostBy(host_id: string, signs: NonNullable<LostMember['signs']>): LostMember | undefined {
  const [first] = Object.values(signs).toSorted((a, b) => (a.since < b.since ? -1 : 1));
  return first && { host_id, since: first.since, event: first.event, signs };
}

function withLost(scaling: ScalingState, member: string, lost: LostMember | undefined): ScalingState {
  const { lost: { [member]: _, ...others } = {}, ...rest } = scaling;
  const all = { ...others, ...(lost && { [member]: lost }) };
  return { ...rest, ...(Object.keys(all).length > 0 && { lost: all }) };
}

/** When a loss began that the policy replaces. */
function countedSince(lost: LostMember, { node_faults: faults }: ReplaceLost): string | undefined {
  const { silence, fault } = signsOf(lost);
  const times = [silence?.since, faults ? fault?.since : undefined].filter((since) => since !== undefined);
  return times.toSorted()[0];
}

/** A timer for each lost member that the policy of the group replaces. */
export function lostTimers(
  secrets: Pick<Secrets, 'open'>,
  { properties, members }: Pick<StoredNestedRequest, 'properties' | 'members'>,
): GroupTimer[] {
  const policy = replaceLost(openProperties(secrets, properties));
  if (!policy) return [];
  return Object.entries(members?.scaling?.lost ?? {}).flatMap(([name, lost]) => {
    const since = countedSince(lost, policy);
    return since === undefined ? [] : [later({ kind: 'lost', member: name }, Date.parse(since) + policy.after * 1000)];
  });
}

/**
 * The lost members that are replaced now: as many as are due, and never so many that fewer than `min_in_service` members
 * are left that are not lost or being replaced. Members of the warm pool do not count for that. Undefined when the host came back, or the member is gone.
 */
export function replacementDue(
  { scaling, group, properties }: GroupTurn,
  { member, now }: { member: string; now: number },
): Due | undefined {
  const policy = replaceLost(properties);
  const { lost = {} } = scaling;
  if (!policy || !lost[member] || countedSince(lost[member], policy) === undefined) return undefined;
  const due = Object.keys(lost).filter((name) => {
    const since = lost[name] && countedSince(lost[name], policy);
    return since !== undefined && Date.parse(since) + policy.after * 1000 <= now;
  });
  const most = Math.max(0, group.members.length - policy.min_in_service);
  const warm = due.filter((name) => group.warm.includes(name));
  const members = [...due.filter((name) => !group.warm.includes(name)).slice(0, most), ...warm];
  if (members.length === 0) {
    return { scaling, timers: [later({ kind: 'lost', member }, now + retryMs)] };
  }
  const texts = members.map((name) => `${name}: ${lost[name] ? lossText(lost[name]) : ''}`).join(', ');
  return { reason: 'replacement', message: `Lost members: ${texts}.`, members };
}
