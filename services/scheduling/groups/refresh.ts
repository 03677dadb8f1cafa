/** A refresh: replaces all members of a group, in batches, and waits at checkpoints. Pure. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { GroupAct } from '@anneal/contracts/calls/scaling.ts';
import type { GroupReport } from '@anneal/convergence/protocol.ts';
import { allMembers } from './decision.ts';
import { later, type Noted, type GroupTurn } from './turn.ts';
import { replaceLost, type Due } from './lost.ts';
import { refreshed, type Refresh } from './scaling-state.ts';
import { victimsIn } from './victims.ts';

type RefreshAct = Extract<GroupAct, { kind: 'refresh' | 'continue refresh' | 'cancel refresh' }>;

function report(
  stage: string,
  refresh: Refresh,
  { names, reason }: { names: readonly string[]; reason: string },
): GroupReport {
  const data = { id: refresh.id, total: refresh.members.length, done: refreshed(refresh, names), batch: refresh.batch };
  const status = stage === 'failed' ? 'FAILED' : stage === 'completed' ? 'COMPLETE' : 'IN_PROGRESS';
  return { stage: `refresh.${stage}`, status, reason, data };
}

/** Begins, continues or cancels a refresh. @throws AnnealError Conflict when its state does not allow it */
export function refreshChange({ id, scaling, group }: GroupTurn, action: RefreshAct, now: number): Noted {
  const { refresh } = scaling;
  const names = allMembers(group);
  const isOpen = refresh?.state === 'running' || refresh?.state === 'waiting';
  if (action.kind === 'refresh') {
    if (isOpen) throw new AnnealError('Conflict', 'A refresh of the group is running. Cancel it first.');
    // The pool goes first: when its members cannot be replaced, no member in service is touched.
    const members = [...group.warm, ...victimsIn(group.order, { members: group.members, safe: new Set() })];
    const { batch, checkpoints } = action;
    const since = new Date(now).toISOString();
    const begun: Refresh = { id, state: 'running', members, batch, checkpoints, passed: [], since };
    const reason = `The refresh of ${members.length} members started`;
    return {
      scaling: { ...scaling, refresh: begun },
      reports: [report('started', begun, { names, reason })],
      timers: [later({ kind: 'next' }, now)],
    };
  }
  if (!refresh || !isOpen) throw new AnnealError('Conflict', 'No refresh of the group is running.');
  if (action.kind === 'cancel refresh') {
    const cancelled: Refresh = { ...refresh, state: 'cancelled' };
    const reason = 'The refresh was cancelled; members that were replaced stay';
    return {
      scaling: { ...scaling, refresh: cancelled },
      reports: [report('cancelled', cancelled, { names, reason })],
    };
  }
  if (refresh.state !== 'waiting') throw new AnnealError('Conflict', 'The refresh of the group does not wait.');
  const passed = refresh.checkpoints.filter((at) => at * refresh.members.length <= refreshed(refresh, names) * 100);
  return {
    scaling: { ...scaling, refresh: { ...refresh, state: 'running', passed } },
    timers: [later({ kind: 'next' }, now)],
  };
}

/** A running refresh whose batch was refused, by a listener or a quota: it waits until an operator continues or cancels it. */
export function heldRefresh({ scaling, group }: GroupTurn, why: string): Noted | undefined {
  const { refresh } = scaling;
  if (refresh?.state !== 'running') return undefined;
  const waiting: Refresh = { ...refresh, state: 'waiting' };
  const names = allMembers(group);
  const reason = `The refresh waits, because a batch was refused: ${why}`;
  return { scaling: { ...scaling, refresh: waiting }, reports: [report('waiting', waiting, { names, reason })] };
}

/** The next change after one has ended: the next batch of a refresh, or more lost members. */
export function nextBatch({ scaling, group, state, properties }: GroupTurn, now: number): Due | undefined {
  const { refresh, lost = {} } = scaling;
  if (refresh?.state !== 'running') {
    // Lost members beyond the number that may be replaced at once.
    const more = replaceLost(properties) && Object.keys(lost)[0];
    return more === undefined ? undefined : { scaling, timers: [later({ kind: 'lost', member: more }, now)] };
  }
  const names = allMembers(group);
  const left = refresh.members.filter((name) => names.includes(name));
  const done = refresh.members.length - left.length;
  const change = (next: Refresh, stage: string, reason: string): Noted => ({
    scaling: { ...scaling, refresh: next },
    reports: [report(stage, next, { names, reason })],
  });
  if (state.stack.status === 'FAILED') {
    return change({ ...refresh, state: 'failed' }, 'failed', 'The refresh stopped, because a batch failed');
  }
  if (left.length === 0) return change({ ...refresh, state: 'completed' }, 'completed', 'The refresh is complete');
  const reached = refresh.checkpoints.find(
    (at) => at < 100 && !refresh.passed.includes(at) && done * 100 >= at * refresh.members.length,
  );
  if (reached !== undefined) {
    const reason = `The refresh waits at its checkpoint of ${reached} %: ${done} of ${refresh.members.length} are replaced`;
    return change({ ...refresh, state: 'waiting' }, 'waiting', reason);
  }
  const members = left.slice(0, refresh.batch);
  return { reason: 'refresh', message: `Batch of the refresh ${refresh.id}.`, members };
}
