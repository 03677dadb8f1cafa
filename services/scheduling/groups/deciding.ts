/** The hook `deciding` of a group: before a change of members begins, a listener may refuse or change it. Pure. */
import { timeAfter } from '@anneal/contracts/readers/duration.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import type { Noted, GroupTurn } from './turn.ts';
import type { Deciding, Proposal } from './scaling-state.ts';

export interface DecidingHook {
  readonly heartbeat_timeout: number;
  readonly global_timeout: number;
  readonly default_result: 'continue' | 'abandon';
  readonly metadata: JsonObject;
}

/** Limits as of lifecycle hooks: a hundred heartbeats, and never more than two days. */
const heartbeats = 100;
const lastSeconds = 172_800;

/** The hook in the properties of a group; undefined without one. */
export function decidingHook(properties: JsonObject): DecidingHook | undefined {
  const given = properties['deciding'];
  if (!isObject(given) || typeof given['heartbeat_timeout'] !== 'number') return undefined;
  const heartbeat = given['heartbeat_timeout'];
  const most = given['global_timeout'];
  const metadata = given['metadata'];
  return {
    heartbeat_timeout: heartbeat,
    global_timeout: typeof most === 'number' ? most : Math.min(heartbeat * heartbeats, lastSeconds),
    default_result: given['default_result'] === 'abandon' ? 'abandon' : 'continue',
    metadata: isObject(metadata) ? metadata : {},
  };
}

const iso = (at: number): string => new Date(at).toISOString();

/** Begins the wait for a listener. */
export function hold(
  { scaling }: GroupTurn,
  { proposal, hook, token, now }: { proposal: Proposal; hook: DecidingHook; token: string; now: number },
): Noted {
  const last = timeAfter(now, hook.global_timeout);
  const deadline = timeAfter(now, Math.min(hook.heartbeat_timeout, hook.global_timeout));
  const deciding: Deciding = { proposal, token, since: iso(now), deadline, last };
  const { id, reason, policy, before, after, leaving, candidates, message } = proposal;
  const data: JsonObject = {
    id,
    reason,
    policy,
    before,
    after,
    message,
    token,
    deadline,
    leaving: [...leaving],
    candidates: [...candidates],
    default_result: hook.default_result,
    metadata: hook.metadata,
  };
  const text = `Waiting for a decision about the scaling from ${before} to ${after}`;
  return {
    scaling: { ...scaling, deciding },
    reports: [{ stage: 'deciding', status: 'IN_PROGRESS', reason: text, data }],
    timers: [{ wait: { kind: 'decide', token }, at: deadline }],
  };
}

/** The wait after a heartbeat: its deadline moves, but never beyond the last one. */
export function moved({ scaling, properties }: GroupTurn, now: number): Noted {
  const { deciding } = scaling;
  const hook = decidingHook(properties);
  if (!deciding) return { scaling };
  const at = Math.min(now + (hook?.heartbeat_timeout ?? 0) * 1000, Date.parse(deciding.last));
  const deadline = iso(Math.max(at, Date.parse(deciding.deadline)));
  return {
    scaling: { ...scaling, deciding: { ...deciding, deadline } },
    timers: [{ wait: { kind: 'decide', token: deciding.token }, at: deadline }],
  };
}
