/**
 * Changes the members of a group: updates the group's own stack, without the stack around it. Policies, operators,
 * listeners, lost hosts and a refresh all come here, and take the same way: decide, let a listener decide, begin.
 *
 * A1 One change at a time (D1 of `decision.ts`). A refused request gets an event and an answer with the reason.
 * A2 A repeat of a request is recognized by its id, so that it scales once. Its answer is the stored outcome.
 * A3 The record that starts the update also carries the scaling event. So no event reports a scaling that never began,
 *    and no scaling lacks its event.
 * A4 Each input is made from the state after the input before it: the shard steps a group by one such message at a time.
 */
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  groupAct,
  groupAdjust,
  groupLost,
  type GroupAct,
  type ScalingOutcome,
} from '@anneal/contracts/calls/scaling.ts';
import type { GroupWait } from '@anneal/contracts/stack-timer.ts';
import type { GroupTimer, Input } from '@anneal/convergence/protocol.ts';
import type { State } from '@anneal/convergence/state.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { z } from 'zod';
import type { Contents } from '../plans/contents.ts';
import type { Plans } from '../plans/plans.ts';
import { refuseGrowth, type Quotas } from '../plans/quota.ts';
import { treeOf, type ChildCompiler, type Compiled } from './compile.ts';
import { endedWait, groupOccasion } from './group-message.ts';
import { toKept } from '../groups/kept.ts';
import { keptCooldown } from '../groups/cooldown.ts';
import { amended, decideOn, isHeldBack, type Refused, type Wish } from '../groups/decision.ts';
import { decidingHook, hold, moved } from '../groups/deciding.ts';
import { groupOf, scalingGroup } from '../groups/facts.ts';
import { lostNote, replacementDue, retryMs, type Due } from '../groups/lost.ts';
import { heldRefresh, nextBatch, refreshChange } from '../groups/refresh.ts';
import { keptScaling, withOutcome, type Proposal, type ScalingState } from '../groups/scaling-state.ts';
import type { Adjustment } from '../groups/size.ts';
import { later, type Noted, type GroupTurn } from '../groups/turn.ts';
import { hasRoom } from '../groups/warm.ts';

/** How long a fill of the warm pool or a replacement waits after a quota refused it, and a fill while the group may not change. */
const refusedMs = 60_000;
/** A member that cannot be deleted is tried again after this time, because a dead controller is asked for long each time. */
const leaveMs = 300_000;
/** The refusals that end by themselves, when the change that runs is over. */
const waits: ReadonlySet<string> = new Set(['busy', 'deciding']);

export type GroupIntake = (message: Envelope, state: State) => Promise<Input | undefined>;

interface GroupTools {
  readonly context: ServiceContext;
  readonly plans: Plans;
  readonly contents: Contents;
  readonly quotas: Quotas;
  readonly compile: ChildCompiler;
}

type Named = Pick<Proposal, 'id' | 'reason' | 'policy' | 'message'>;

export function createAdjust(tools: GroupTools): GroupIntake {
  const requests = new GroupRequests(tools);
  return (message, state) => requests.take(message, state);
}

class GroupRequests {
  readonly #tools: GroupTools;

  constructor(tools: GroupTools) {
    this.#tools = tools;
  }

  /** Undefined for a repeat, and for a message that changes nothing. @throws AnnealError for a refused action */
  async take(message: Envelope, state: State): Promise<Input | undefined> {
    const { stack } = state;
    const kept = scalingGroup(stack);
    if (stack.recent.includes(message.id)) return undefined;
    if (!kept || stack.deleted_at !== null || stack.action === 'DELETE') {
      if (message.type !== groupAct.type) return undefined;
      throw new AnnealError('NotFound', `The stack ${stack.name} is no group that scales.`);
    }
    const { now, secrets } = this.#tools.context;
    const properties = openProperties(secrets, kept.properties);
    const group = groupOf(state, { kept, properties, now: now().getTime() });
    const occasion = groupOccasion(message, group.state);
    const turn = { id: message.id, cause: message, occasion, state, kept, properties, group, scaling: group.state };
    switch (message.type) {
      case groupAdjust.type: {
        const adjustment = message.data as Adjustment;
        const { policy, reason = 'signal', said = null } = adjustment;
        return this.#wish(turn, { kind: 'adjust', adjustment }, { policy, reason, message: said });
      }
      case groupAct.type:
        return this.#act(turn, (message.data as z.infer<typeof groupAct.data>).action);
      case groupLost.type: {
        const noted = lostNote(turn, message.data as z.infer<typeof groupLost.data>);
        return noted && note(turn, noted);
      }
      default: {
        const wait = endedWait(message);
        return wait && this.#timer(turn, wait);
      }
    }
  }

  async #wish(turn: GroupTurn, wanted: Wish, asked: Omit<Named, 'id'>): Promise<Input> {
    const named = { id: turn.id, ...asked };
    const decided = decideOn(wanted, named, turn.group);
    if ('refusal' in decided && waits.has(decided.refusal) && asked.reason === 'schedule' && wanted.kind === 'adjust') {
      return this.#postpone(turn, wanted.adjustment);
    }
    return 'refusal' in decided ? this.#refuse(turn, named, decided) : this.#propose(turn, decided);
  }

  /** A schedule has no sender that asks again, so its request waits until the group can take it. A later one replaces it. */
  #postpone(turn: GroupTurn, adjustment: Adjustment): Input {
    const { now } = this.#tools.context;
    const timers = [later({ kind: 'due', request: turn.id }, now().getTime() + retryMs)];
    return note(turn, { scaling: { ...turn.scaling, due: { id: turn.id, adjustment } }, timers });
  }

  /** Takes the postponed request of a schedule. */
  async #due(turn: GroupTurn, request: string): Promise<Input | undefined> {
    const { due, ...scaling } = turn.scaling;
    if (due?.id !== request) return undefined;
    const { adjustment } = due;
    const { policy, said = null } = adjustment;
    const free = { ...turn, scaling, group: { ...turn.group, state: scaling } };
    return this.#wish(free, { kind: 'adjust', adjustment }, { policy, reason: 'schedule', message: said });
  }

  #refuse(turn: GroupTurn, asked: Named, refused: Refused): Input {
    const outcome = outcomeOf(turn, { ...asked, before: turn.group.members.length }, refused);
    const { log } = this.#tools.context;
    log.info({ stack: turn.state.stack.id, policy: asked.policy, reason: refused.message }, 'group not scaled');
    const { at: _at, group: _group, result: _result, ...data } = outcome;
    const report = { stage: 'refused', status: 'FAILED', reason: refused.message, data } as const;
    const held = asked.reason === 'refresh' ? heldRefresh(turn, refused.message) : undefined;
    const reports = [report, ...(held?.reports ?? [])];
    const timers = asked.reason === 'replacement' ? this.#proposedAgain(turn, refused) : [];
    return note(turn, { scaling: withOutcome(held?.scaling ?? turn.scaling, outcome), reports, timers });
  }

  /** A replacement that a listener or a quota refused is still due: it is proposed again after a while. */
  #proposedAgain({ properties, scaling }: GroupTurn, { refusal }: Refused): GroupTimer[] {
    const [lost] = Object.keys(scaling.lost ?? {});
    if (lost === undefined) return [];
    const hook = refusal === 'vetoed' ? decidingHook(properties) : undefined;
    const ms = hook ? hook.heartbeat_timeout * 1000 : refusedMs;
    return [later({ kind: 'lost', member: lost }, this.#tools.context.now().getTime() + ms)];
  }

  /** Lets a listener decide, when the group has a hook for it; else begins. */
  async #propose(turn: GroupTurn, proposal: Proposal): Promise<Input> {
    const hook = decidingHook(turn.properties);
    if (!hook) return this.#begin(turn, proposal);
    const now = this.#tools.context.now().getTime();
    const held = hold(turn, { proposal, hook, token: derivedId(`${turn.id} deciding`), now });
    const outcome = { ...outcomeOf(turn, proposal), result: 'deciding' as const };
    return note(turn, { ...held, scaling: withOutcome(held.scaling, outcome) });
  }

  /** Begins the update, after every decision is made. */
  async #begin(turn: GroupTurn, proposal: Proposal): Promise<Input> {
    const { plans, contents, quotas } = this.#tools;
    const { state, kept, scaling } = turn;
    const { after } = proposal;
    const compiled = await this.#compile(turn, proposal).catch(finalError);
    // The group cannot have the size, so its sender gets the reason.
    if (compiled instanceof AnnealError)
      return this.#refuse(turn, proposal, { refusal: 'quota', message: compiled.message, retry_after: null, after });
    const { target, kept: next } = compiled;
    const refusal = await refuseGrowth({ quotas, plans, contents }, state, { by: turn.id, target });
    if (refusal) {
      return this.#refuse(turn, proposal, { refusal: 'quota', message: refusal.message, retry_after: null, after });
    }
    const names = next.members?.names ?? [];
    const before = kept.members?.names ?? [];
    const { id, reason, policy, message, cooldown } = proposal;
    const warm = next.members?.warm ?? [];
    const members = next.members && {
      ...next.members,
      cooldown: cooldown ? { until: null, ...cooldown } : keptCooldown(turn.group.cooldown, state.stack),
      scaling: keptScaling(withOutcome(scaling, outcomeOf(turn, proposal)), [...names, ...warm]) ?? {},
    };
    const leaving = before.filter((name) => !names.includes(name));
    const isBehind = scaling.refresh?.state === 'running' || scaling.lost !== undefined;
    const follows = isBehind || hasRoom(turn.properties, warm);
    return {
      kind: 'update',
      id: turn.id,
      plan: await plans.get(target.plan),
      target,
      occasion: turn.occasion,
      group: toKept({ ...next, members }),
      ...((turn.group.filling || turn.group.lingers) && { overtakes: true }),
      ...(leaving.length > 0 && { timers: [later({ kind: 'leave' }, this.#tools.context.now().getTime() + leaveMs)] }),
      scaling: {
        id,
        reason,
        policy,
        message,
        before: before.length,
        after: names.length,
        entering: names.filter((name) => !before.includes(name)),
        leaving,
        ...(follows && { follows }),
      },
    };
  }

  /** Without a proposal, the members in service stay and the group fills its warm pool. */
  #compile({ state: { stack, resources }, kept, cause }: GroupTurn, proposal?: Proposal): Promise<Compiled> {
    const { parent } = stack;
    if (!parent) throw new AnnealError('Defect', `The group ${stack.name} has no stack around it.`);
    const now = this.#tools.context.now().getTime();
    return this.#tools.compile({
      wanted: kept,
      before: kept,
      stack: treeOf(stack),
      resource: parent.resource_name,
      parentStack: parent.stack_id,
      // Keep the revision, because a new size does not change the definition of the members.
      revision: stack.target.revision,
      existing: [...resources.values()],
      previousPlan: stack.target.plan,
      ...(proposal && { size: proposal.after, leaving: proposal.leaving, fresh: proposal.reason === 'refresh' }),
      deadline: new Date(now + (stack.timeout_minutes ?? 60) * 60_000).toISOString(),
      cause,
    });
  }

  /** Takes a listener's answer, or the default result at the deadline. */
  async #decided(
    turn: GroupTurn,
    given: Pick<Extract<GroupAct, { kind: 'decide' }>, 'result' | 'size' | 'victims' | 'message'>,
  ) {
    const { deciding, ...rest } = turn.scaling;
    if (!deciding) throw new AnnealError('Conflict', 'The group does not wait for a decision.');
    const { proposal } = deciding;
    const free = { ...turn, scaling: rest, group: { ...turn.group, state: rest } };
    if (given.result === 'abandon') {
      const message = given.message ?? 'A listener of the hook `deciding` refused it.';
      const { after } = proposal;
      return this.#refuse(free, proposal, { refusal: 'vetoed', message, retry_after: null, after });
    }
    const { status, action } = turn.state.stack;
    if (status !== 'COMPLETE' && !free.group.filling && !free.group.lingers) {
      const message = `The group is ${action}_${status}; answer again when it is COMPLETE.`;
      throw new AnnealError('Conflict', message);
    }
    const agreed = amended(proposal, given, free.group);
    if (typeof agreed === 'string') throw new AnnealError('InvalidRequest', `Cannot take the decision: ${agreed}`);
    return this.#begin(free, { ...agreed, message: given.message ?? agreed.message });
  }

  async #act(turn: GroupTurn, action: GroupAct): Promise<Input> {
    const now = this.#tools.context.now().getTime();
    const message = 'message' in action ? (action.message ?? null) : null;
    const asked = { reason: 'request', policy: null, message } as const;
    switch (action.kind) {
      case 'protect':
        return note(turn, { scaling: protectedIn(turn, action) });
      case 'pause': {
        const { paused: _, ...rest } = turn.scaling;
        return note(turn, { scaling: action.scaling === 'none' ? rest : { ...rest, paused: action.scaling } });
      }
      case 'resize':
        return this.#wish(turn, { kind: 'resize', size: action.size }, asked);
      case 'remove':
        return this.#wish(turn, { kind: 'remove', members: action.members, replace: action.replace }, asked);
      case 'decide':
        requireToken(turn.scaling, action.token);
        return this.#decided(turn, action);
      case 'heartbeat':
        requireToken(turn.scaling, action.token);
        return note(turn, moved(turn, now));
      default:
        return note(turn, refreshChange(turn, action, now));
    }
  }

  /** Takes the end of a wait of the group. */
  async #timer(turn: GroupTurn, wait: GroupWait): Promise<Input | undefined> {
    const now = this.#tools.context.now().getTime();
    switch (wait.kind) {
      case 'decide':
        return this.#endOfDeciding(turn, wait.token);
      case 'due':
        return this.#due(turn, wait.request);
      case 'fill':
        return this.#fill(turn);
      case 'lost':
        return this.#follow(turn, wait, { due: replacementDue(turn, { member: wait.member, now }) });
      case 'leave':
        return this.#leave(turn);
      case 'next': {
        const fills = hasRoom(turn.properties, turn.group.warm) ? [later({ kind: 'fill' }, now)] : [];
        return this.#follow(turn, wait, { due: nextBatch(turn, now), fills });
      }
    }
  }

  /** Replaces the members that are due, or notes what is due instead. */
  async #follow(
    turn: GroupTurn,
    wait: GroupWait,
    { due, fills = [] }: { due: Due | undefined; fills?: readonly GroupTimer[] },
  ): Promise<Input | undefined> {
    if (!due) return fills.length > 0 ? note(turn, { scaling: turn.scaling, timers: fills }) : undefined;
    if ('scaling' in due) return note(turn, { ...due, timers: [...(due.timers ?? []), ...fills] });
    const named = { id: turn.id, reason: due.reason, policy: null, message: due.message };
    const proposal = decideOn({ kind: 'remove', members: due.members, replace: true }, named, turn.group);
    if (!('refusal' in proposal)) return this.#propose(turn, proposal);
    // It is still due: try again, and report nothing, because no client asked.
    const again = later(wait, this.#tools.context.now().getTime() + retryMs);
    return note(turn, { scaling: turn.scaling, timers: [again] });
  }

  /** Fills the warm pool in an update of its own, which a scaling may overtake. A group that failed waits for its repair. */
  async #fill(turn: GroupTurn): Promise<Input | undefined> {
    const { plans, contents, quotas, context } = this.#tools;
    const { state, scaling, group } = turn;
    if (!hasRoom(turn.properties, group.warm) || state.stack.status === 'FAILED') return undefined;
    const { unfilled, ...filled } = scaling;
    const again = (ms: number, kept = scaling): Input =>
      note(turn, { scaling: kept, timers: [later({ kind: 'fill' }, context.now().getTime() + ms)] });
    if (isHeldBack(group)) return again(refusedMs);
    if (state.stack.status !== 'COMPLETE') return again(retryMs);
    const { target, kept: next } = await this.#compile(turn);
    const refusal = await refuseGrowth({ quotas, plans, contents }, state, { by: turn.id, target });
    if (refusal) {
      context.log.info({ stack: state.stack.id, reason: refusal.message }, 'warm pool not filled; retrying in 60 s');
      const since = unfilled?.since ?? context.now().toISOString();
      return again(refusedMs, { ...filled, unfilled: { since, reason: refusal.message } });
    }
    return this.#sameMembers(turn, { target, next, kept: { scaling: filled, filling: true } });
  }

  /** Tries again to delete the members that leave. A machine that is back, or that a person has confirmed to be off, goes. */
  async #leave(turn: GroupTurn): Promise<Input | undefined> {
    const { state, scaling, group } = turn;
    const now = this.#tools.context.now().getTime();
    const again = later({ kind: 'leave' }, now + leaveMs);
    // The running action may fail to delete them too.
    const isBusy = state.stack.status === 'IN_PROGRESS';
    if (!isBusy && !group.lingers) return undefined;
    if (isBusy || isHeldBack(group)) return note(turn, { scaling, timers: [again] });
    const { target, kept: next } = await this.#compile(turn);
    return { ...(await this.#sameMembers(turn, { target, next, kept: { scaling } })), timers: [again] };
  }

  /** An update that keeps the members in service. */
  async #sameMembers(
    { id, occasion, state, group }: GroupTurn,
    {
      target,
      next,
      kept,
    }: Pick<Compiled, 'target'> & { next: Compiled['kept']; kept: { scaling: ScalingState; filling?: true } },
  ): Promise<Extract<Input, { kind: 'update' }>> {
    const cooldown = keptCooldown(group.cooldown, state.stack);
    const members = next.members && { ...next.members, cooldown, ...kept };
    const plan = await this.#tools.plans.get(target.plan);
    return { kind: 'update', id, plan, target, occasion, group: toKept({ ...next, members }) };
  }

  async #endOfDeciding(turn: GroupTurn, token: string): Promise<Input | undefined> {
    const now = this.#tools.context.now().getTime();
    const { deciding } = turn.scaling;
    if (deciding?.token !== token) return undefined;
    const due = Date.parse(deciding.deadline);
    const { status } = turn.state.stack;
    // Heartbeats moved the deadline, or an update of the stack around is running: wait for its end.
    if (due > now || status === 'IN_PROGRESS') {
      const timers = [later({ kind: 'decide', token }, due > now ? due : now + retryMs)];
      return note(turn, { scaling: turn.scaling, timers });
    }
    const fits = status === 'COMPLETE' && typeof amended(deciding.proposal, {}, turn.group) !== 'string';
    const result = fits ? (decidingHook(turn.properties)?.default_result ?? 'continue') : 'abandon';
    const message = `No listener decided until ${deciding.deadline}; the default result is ${result}.`;
    return this.#decided(turn, { result, message });
  }
}

const note = ({ id, kept, occasion }: GroupTurn, { scaling, reports = [], timers = [] }: Noted): Input => ({
  kind: 'group',
  id,
  occasion,
  group: toKept({ ...kept, members: kept.members && { ...kept.members, scaling } }),
  reports,
  timers,
});

function requireToken({ deciding }: ScalingState, token: string): void {
  if (deciding?.token === token) return;
  throw new AnnealError('Conflict', 'The group does not wait for a decision with this token.');
}

function protectedIn(
  { scaling, group }: GroupTurn,
  { members, protected: safe }: Extract<GroupAct, { kind: 'protect' }>,
): ScalingState {
  const names = new Set(group.members.map(({ name }) => name));
  const unknown = members.filter((name) => !names.has(name));
  if (unknown.length > 0) throw new AnnealError('NotFound', `The group has no member ${unknown.join(', ')}.`);
  const { protected: before = [], ...rest } = scaling;
  const after = safe ? [...new Set([...before, ...members])] : before.filter((name) => !members.includes(name));
  return { ...rest, ...(after.length > 0 && { protected: after }) };
}

/** An error that a repeat does not change. @throws any other one */
function finalError(error: unknown): AnnealError {
  if (error instanceof AnnealError && error.kind === 'final') return error;
  throw error;
}

/** The outcome of a request; without a refusal, it is applied. */
function outcomeOf(
  { state, group }: GroupTurn,
  {
    id,
    reason,
    policy,
    before,
    ...proposed
  }: Pick<Proposal, 'id' | 'reason' | 'policy' | 'message' | 'before'> & { after?: number },
  refused?: Refused,
): ScalingOutcome {
  const after = refused?.after ?? proposed.after ?? before;
  return {
    id,
    reason,
    policy,
    before,
    after,
    at: new Date(group.now).toISOString(),
    group: state.stack.parent?.resource_name ?? state.stack.name,
    result: refused ? 'refused' : 'applied',
    refusal: refused?.refusal ?? null,
    message: refused?.message ?? `The group scales from ${before} to ${after}.`,
    retry_after: refused?.retry_after ?? null,
  };
}
