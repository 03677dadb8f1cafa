/**
 * Decides whether a group changes its members, and which. Pure.
 *
 * D1 One change at a time: while the group is busy, has failed or waits for a decision, nothing changes. A group that
 *    only fills its warm pool is not busy, and one has not failed whose only trouble are members that cannot be deleted:
 *    a machine that cannot be proven off must not stop the replacement of another one. The next change tries them again.
 * D2 A policy respects the bounds, the cooldown, a pause and the warm-up. An operator only respects the bounds.
 * D3 A protected member never leaves because the group shrinks.
 */
import { mostSeconds } from '@anneal/contracts/readers/duration.ts';
import type { ScalingRefusal, VictimOrder } from '@anneal/contracts/calls/scaling.ts';
import type { Scaling, StackDocument } from '@anneal/convergence/documents.ts';
import { cooldownEnd, type Cooldown } from './cooldown.ts';
import type { Proposal, ScalingState } from './scaling-state.ts';
import { clamp, sizeByRule, type Adjustment } from './size.ts';
import { victimsIn, type Candidate } from './victims.ts';

/** A request for other members. */
export type Wish =
  | { readonly kind: 'adjust'; readonly adjustment: Adjustment }
  | { readonly kind: 'resize'; readonly size: number }
  | {
      readonly kind: 'remove';
      readonly members: readonly string[];
      /** New members take their place. */
      readonly replace: boolean;
    };

export interface Member extends Candidate {
  /** When it was complete; null: not yet. */
  readonly since: string | null;
}

/** A group at the moment of a request. */
export interface Group {
  readonly stack: Pick<StackDocument, 'action' | 'status' | 'suspended' | 'completed_at'>;
  readonly members: readonly Member[];
  /** The names of the members in the warm pool. They count for nothing, and may be removed by name. */
  readonly warm: readonly string[];
  /** The last action failed only because members that leave could not be deleted. Those in service are whole. */
  readonly lingers: boolean;
  /** The running update only fills the warm pool, so that a scaling may overtake it. */
  readonly filling: boolean;
  readonly state: ScalingState;
  readonly cooldown: Cooldown;
  /** The cooldown in the properties of the group, in seconds. */
  readonly seconds: number;
  readonly bounds: { readonly least: number; readonly most: number };
  readonly order: VictimOrder;
  readonly now: number;
}

/** The names of all members, also of those in the warm pool. */
export const allMembers = ({ members, warm }: Pick<Group, 'members' | 'warm'>): string[] => [
  ...members.map(({ name }) => name),
  ...warm,
];

export interface Refused {
  readonly refusal: ScalingRefusal;
  readonly message: string;
  /** Seconds. */
  readonly retry_after: number | null;
  /** The size that it would have led to. */
  readonly after: number;
}

interface Asked {
  readonly id: string;
  readonly reason: Scaling['reason'];
  readonly policy: string | null;
  readonly message: string | null;
}

const secondsUntil = (at: string, now: number): number => Math.max(0, Math.ceil((Date.parse(at) - now) / 1000));

export function decideOn(wish: Wish, asked: Asked, group: Group): Proposal | Refused {
  const size = group.members.length;
  const refuse = (refusal: ScalingRefusal, message: string, more: Partial<Refused> = {}): Refused => ({
    refusal,
    message,
    retry_after: null,
    after: size,
    ...more,
  });
  const atRest = notAtRest(group, refuse);
  if (atRest) return atRest;
  if (wish.kind === 'remove') return removal(wish, asked, { group, refuse });
  const wanted = wish.kind === 'resize' ? wish.size : wantedSize(wish.adjustment, group);
  if (wanted === undefined) {
    return refuse('invalid', 'The signal has no value: send {"value": number}, or the body of an alarm.');
  }
  const after = clamp(wanted, group.bounds);
  if (after === size) {
    if (wanted === size || !Number.isFinite(wanted))
      return refuse('unchanged', `The group already has ${size} members.`);
    const bound = wanted > size ? `most, ${group.bounds.most}` : `least, ${group.bounds.least}`;
    return refuse('limit', `The group has ${size} members, and ${wanted} were asked for; it has its ${bound}.`);
  }
  if (wish.kind === 'resize' && after !== wanted) {
    const { least, most } = group.bounds;
    return refuse('limit', `The size ${wanted} is outside the bounds of the group, ${least} to ${most}.`);
  }
  const held = wish.kind === 'adjust' ? heldBack(wish.adjustment, after, { group, refuse }) : undefined;
  if (held) return held;
  const order = (wish.kind === 'adjust' ? wish.adjustment.victims : undefined) ?? group.order;
  const candidates = victimsIn(order, membersOf(group));
  const leaving = candidates.slice(0, Math.max(0, size - after));
  if (after < size && leaving.length === 0) {
    return refuse('protected', `All ${size} members are protected; none leaves.`, { after });
  }
  return {
    ...asked,
    before: size,
    after: after < size ? size - leaving.length : after,
    leaving,
    candidates: after < size ? candidates : [],
    cooldown: cooldownAfter(wish, after < size, group),
  };
}

const membersOf = ({ members, state }: Group) => ({ members, safe: new Set(state.protected) });

type Refuse = (refusal: ScalingRefusal, message: string, more?: Partial<Refused>) => Refused;

/** Whether the stack is suspended, or a listener decides. */
export const isHeldBack = ({ stack, state }: Group): boolean =>
  stack.suspended || stack.action === 'SUSPEND' || state.deciding !== undefined;

/** D1 */
function notAtRest({ stack, state, filling, lingers, now }: Group, refuse: Refuse): Refused | undefined {
  const { action, status, suspended } = stack;
  if (suspended || action === 'SUSPEND') return refuse('suspended', 'The stack of the group is suspended.');
  if (status === 'IN_PROGRESS' && !filling) return refuse('busy', `The group is busy: its ${action} is in progress.`);
  if (status === 'FAILED' && !lingers) {
    return refuse('failed', `The last action of the group, ${action}, failed. Update its stack to repair it.`);
  }
  if (!state.deciding) return undefined;
  const { deadline, proposal } = state.deciding;
  const message = `A listener decides until ${deadline} about the scaling from ${proposal.before} to ${proposal.after}.`;
  return refuse('deciding', message, { retry_after: secondsUntil(deadline, now) });
}

/** The members that are older than the warm-up of a request. */
const counted = ({ warm_up: seconds = 0 }: Adjustment, { members, now }: Group): number =>
  members.filter(({ since }) => since !== null && Date.parse(since) + seconds * 1000 <= now).length;

function wantedSize(adjustment: Adjustment, group: Group): number | undefined {
  const size = group.members.length;
  if (!adjustment.rule) return sizeByRule(adjustment, { counted: size, size, value: 0 });
  const { value } = adjustment;
  if (typeof value !== 'number') return undefined;
  return sizeByRule(adjustment, { counted: counted(adjustment, group), size, value });
}

/** D2: the pause, the cooldown and the warm-up. */
function heldBack(
  adjustment: Adjustment,
  after: number,
  { group, refuse }: { group: Group; refuse: Refuse },
): Refused | undefined {
  const { members, state, cooldown, stack, now } = group;
  const way = after > members.length ? 'out' : 'in';
  if (state.paused === 'both' || state.paused === way) {
    return refuse('paused', `An operator paused scaling ${state.paused === 'both' ? 'in and out' : way}.`, { after });
  }
  // A schedule names a size, and not a change that a second request would repeat.
  if (adjustment.reason === 'schedule') return undefined;
  const until = cooldownEnd(cooldown, stack);
  const holds = way === 'in' || cooldown.blocks !== 'in';
  if (until !== null && holds && Date.parse(until) > now) {
    const message = `The group is cooling down until ${until}.`;
    return refuse('cooldown', message, { after, retry_after: secondsUntil(until, now) });
  }
  const young = members.length - counted(adjustment, group);
  if (way === 'out' || young === 0 || adjustment.warm_up === undefined) return undefined;
  const ready = members.map(
    ({ since }) => (since === null ? now : Date.parse(since)) + Math.min(adjustment.warm_up ?? 0, mostSeconds) * 1000,
  );
  const message = `${young} members are younger than the warm-up of ${adjustment.warm_up} s; meanwhile none leaves.`;
  const at = new Date(Math.max(...ready)).toISOString();
  return refuse('warming', message, { after, retry_after: secondsUntil(at, now) });
}

function cooldownAfter(wish: Wish, shrinks: boolean, group: Group): Proposal['cooldown'] {
  if (wish.kind !== 'adjust') return { seconds: group.seconds };
  const { cooldown, cooldowns } = wish.adjustment;
  if (!cooldowns) return { seconds: cooldown ?? group.seconds };
  return shrinks ? { seconds: cooldowns.in, blocks: 'in' } : { seconds: cooldowns.out };
}

/** Named members leave, whatever protects them: their requester chose them. */
function removal(
  { members, replace }: Extract<Wish, { kind: 'remove' }>,
  asked: Asked,
  { group, refuse }: { group: Group; refuse: Refuse },
): Proposal | Refused {
  const names = group.members.map(({ name }) => name);
  const unknown = members.filter((name) => !allMembers(group).includes(name));
  if (unknown.length > 0) return refuse('invalid', `The group has no member ${unknown.join(', ')}.`);
  const leaving = [...new Set(members)];
  const before = names.length;
  const after = replace ? before : before - leaving.filter((name) => names.includes(name)).length;
  if (after < group.bounds.least) {
    const message = `Without ${leaving.join(', ')} the group has ${after} members; its least is ${group.bounds.least}.`;
    return refuse('limit', message, { after });
  }
  return { ...asked, before, after, leaving, candidates: leaving, cooldown: null };
}

/** The answer of a listener: another size, other victims. @returns a refusal for an answer that does not fit */
export function amended(
  proposal: Proposal,
  answer: { size?: number | undefined; victims?: readonly string[] | undefined },
  group: Group,
): Proposal | string {
  const names = group.members.map(({ name }) => name);
  const before = names.length;
  const { size, victims } = answer;
  const unknown = victims?.filter((name) => !names.includes(name)) ?? [];
  if (unknown.length > 0) return `The group has no member ${unknown.join(', ')}.`;
  const left = proposal.leaving.filter((name) => names.includes(name));
  const warm = proposal.leaving.filter((name) => group.warm.includes(name));
  const replaces = proposal.after === proposal.before;
  const chosen = [...new Set(victims ?? left)];
  const after = size ?? (replaces ? before : victims ? before - chosen.length : clamp(proposal.after, group.bounds));
  if (after !== clamp(after, group.bounds)) {
    return `The size ${after} is outside the bounds of the group, ${group.bounds.least} to ${group.bounds.most}.`;
  }
  if (before - chosen.length > after) {
    // Fewer victims than the size needs: the group's order supplies the others.
    const safe = new Set([...(group.state.protected ?? []), ...chosen]);
    const more = victimsIn(group.order, { members: group.members, safe });
    chosen.push(...more.slice(0, before - chosen.length - after));
  }
  // A larger size than proposed spares the last victims; a listener that names victims means all of them.
  const spared = victims || replaces ? chosen : chosen.slice(0, Math.max(0, before - after));
  return { ...proposal, before, after: Math.max(after, before - spared.length), leaving: [...spared, ...warm] };
}
