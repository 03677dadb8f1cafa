/** The size that a request asks for. Pure. */
import type { ScalingRule, ScalingStep, groupAdjust } from '@anneal/contracts/calls/scaling.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { z } from 'zod';

export type Adjustment = z.infer<typeof groupAdjust.data>;

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

/**
 * The step for a value. Above the threshold the lower bound belongs to a step, below it the upper bound does, as in AWS,
 * so that the value at the threshold belongs to the step above.
 */
export function stepFor(
  value: number,
  { threshold, steps }: Extract<ScalingRule, { kind: 'steps' }>,
): ScalingStep | undefined {
  const breach = value - threshold;
  return steps.find(({ lower, upper }) => {
    const [from, to] = [lower ?? -Infinity, upper ?? Infinity];
    return breach >= 0 ? breach >= from && breach < to : breach > from && breach <= to;
  });
}

/**
 * The size by the rule of a policy. `counted`: the members that are older than the warm-up, to which the value applies;
 * `size`: all members.
 */
export function sizeByRule(
  request: Adjustment,
  { counted, size, value }: { counted: number; size: number; value: number },
): number {
  const { rule } = request;
  if (rule?.kind === 'steps') {
    const step = stepFor(value, rule);
    if (!step) return size;
    const wanted = sizeAfter(counted, { ...request, adjustment: step.adjustment });
    // A step to an exact size does not depend on what is warm.
    if (request.adjustment_type === 'exact_capacity') return wanted;
    return wanted >= counted ? Math.max(size, wanted) : wanted + (size - counted);
  }
  if (rule?.kind !== 'target') return sizeAfter(size, request);
  const ratio = value / rule.target;
  if (roundOff(Math.abs(ratio - 1)) <= rule.tolerance) return size;
  // Without a member to measure, any load asks for the first one.
  const wanted = counted === 0 ? (value > 0 ? Math.max(1, size) : size) : Math.ceil(roundOff(counted * ratio));
  if (wanted > counted) return Math.max(size, wanted);
  return rule.scale_in ? wanted + (size - counted) : size;
}

/** Removes the error of a division: 55 ÷ 50 is within 10 %, and a whole number is not rounded up. */
const roundOff = (value: number): number => Math.round(value * 1e9) / 1e9;

/** The bounds of a group, from its properties. */
export function boundsOf(properties: JsonObject): { least: number; most: number } {
  const number = (fallback: number, ...names: string[]): number => {
    const value = names.map((name) => properties[name]).find((each) => typeof each === 'number');
    return typeof value === 'number' ? value : fallback;
  };
  return { least: Math.max(0, number(0, 'min_size', 'MinSize')), most: number(Infinity, 'max_size', 'MaxSize') };
}

export const clamp = (size: number, { least, most }: { least: number; most: number }): number =>
  Math.max(0, Math.min(Math.max(size, least), most));
