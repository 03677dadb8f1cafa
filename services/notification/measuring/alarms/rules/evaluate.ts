/**
 * The evaluation of alarms, with the semantics of Aodh. Pure.
 *
 * E1 Too few points: `insufficient data`, or what the alarm says about missing data.
 * E2 All points outside the threshold: `alarm`. All inside: `ok`.
 * E3 Some of both: the state stays; an alarm without a known state takes that of the newest point.
 * E4 Actions run when the state changes, and at every evaluation with a result while `repeat` is on.
 */
import type { Json } from '@anneal/contracts/json.ts';
import { compareNumbers, type LimitComparison } from './filter.ts';

export type AlarmState = 'ok' | 'alarm' | 'insufficient data';

/** The result of an evaluation. */
export interface Finding {
  /** Null: the state stays, and no action repeats. */
  readonly state: AlarmState | null;
  readonly reason: string;
  readonly reasonData: Json;
  readonly values: readonly number[];
}

/** Treatment of periods without a measurement. */
export const missingPolicies = ['insufficient', 'keep', 'breaching', 'not_breaching'] as const;
export type MissingPolicy = (typeof missingPolicies)[number];

export interface Limit {
  readonly comparison: LimitComparison;
  readonly threshold: number;
}
export interface PointsRule extends Limit {
  /** The points of an evaluation. */
  readonly periods: number;
  /** So many of them must be outside for an alarm. */
  readonly datapoints: number;
  readonly missing: MissingPolicy;
}

/** The result of a comparison. `trend`: points are on both sides, and `trend` has the newest. `keep`: nothing changes. */
export interface AlarmJudgement {
  readonly result: AlarmState | 'trend' | 'keep';
  readonly trend: 'ok' | 'alarm' | null;
  readonly outside: number;
  readonly count: number;
  readonly latest: number | null;
}

/** Judges the points of the window, oldest first; null for a period without a measurement. */
export function judgePoints(window: readonly (number | null)[], rule: PointsRule): AlarmJudgement {
  const isOutside = (value: number): boolean => compareNumbers[rule.comparison](value, rule.threshold);
  const real = window.filter((value) => value !== null);
  const latest = real.at(-1) ?? null;
  const isFilled = rule.missing === 'breaching' || rule.missing === 'not_breaching';
  const considered = isFilled ? window.slice(-rule.periods) : real.slice(-rule.periods);
  const verdicts = considered.map((value) => (value === null ? rule.missing === 'breaching' : isOutside(value)));
  const outside = verdicts.filter(Boolean).length;
  const found = { outside, count: verdicts.length, latest };
  if (verdicts.length < rule.periods) {
    return { ...found, result: rule.missing === 'keep' ? 'keep' : 'insufficient data', trend: null };
  }
  if (rule.datapoints < rule.periods) {
    return { ...found, result: outside >= rule.datapoints ? 'alarm' : 'ok', trend: null };
  }
  if (outside === verdicts.length) return { ...found, result: 'alarm', trend: null };
  if (outside === 0) return { ...found, result: 'ok', trend: null };
  return { ...found, result: 'trend', trend: verdicts.at(-1) === true ? 'alarm' : 'ok' };
}

/** Judges the elements of an instant query: each is a point. */
export function judgeElements(values: readonly number[], limit: Limit): AlarmJudgement {
  const periods = Math.max(1, values.length);
  return judgePoints(values, { ...limit, periods, datapoints: periods, missing: 'insufficient' });
}

/** The new state of an alarm. Null: nothing happens, not even repeated actions. */
export function nextAlarmState(
  current: AlarmState,
  repeat: boolean,
  { result, trend }: AlarmJudgement,
): AlarmState | null {
  const isUnknown = current === 'insufficient data';
  if (result === 'keep') return null;
  if (result === 'trend') return isUnknown ? trend : repeat ? current : null;
  return result !== current || repeat ? result : null;
}

export interface CompositePart {
  readonly operator: 'and' | 'or';
  readonly parts: readonly (CompositePart | number)[];
}

/**
 * The state of a composite of judged rules, named by their numbers. A mixed rule counts as its trend in an alarm without
 * a known state, and as the opposite otherwise, so that it does not change the state.
 */
export function composite(part: CompositePart, judged: readonly AlarmJudgement[], current: AlarmState): AlarmState {
  const stateOf = (each: CompositePart | number): AlarmState => {
    if (typeof each !== 'number') return composite(each, judged, current);
    const { result, trend } = judged[each] ?? { result: 'insufficient data', trend: null };
    if (result === 'keep') return current;
    if (result !== 'trend') return result;
    if (current === 'insufficient data') return trend ?? 'insufficient data';
    return trend === 'alarm' ? 'ok' : 'alarm';
  };
  const states = part.parts.map(stateOf);
  const isAll = part.operator === 'and';
  const holds = (wanted: AlarmState, every: boolean): boolean =>
    every ? states.every((state) => state === wanted) : states.includes(wanted);
  if (holds('alarm', isAll)) return 'alarm';
  if (holds('ok', !isAll)) return 'ok';
  return 'insufficient data';
}

/** The text for people, in Aodh's words. */
export function alarmReason(state: AlarmState, previous: AlarmState, judgement: AlarmJudgement): string {
  const { count, outside, latest } = judgement;
  if (state === 'insufficient data') return `${count} datapoints are unknown`;
  const side = state === 'alarm' ? 'outside' : 'inside';
  const verb = state === previous ? 'Remaining as' : 'Transition to';
  const number = state === 'alarm' ? outside : count - outside;
  return `${verb} ${state} due to ${number} samples ${side} threshold, most recent: ${latest ?? 'none'}`;
}

/** The reason for programs, as Aodh's receivers expect it. */
export function reasonDataOf(state: AlarmState, { count, outside, latest }: AlarmJudgement) {
  const disposition = state === 'alarm' ? 'outside' : state === 'ok' ? 'inside' : 'unknown';
  const number = state === 'alarm' ? outside : state === 'ok' ? count - outside : count;
  return { type: 'threshold', disposition, count: number, most_recent: Number.isFinite(latest) ? latest : null };
}
