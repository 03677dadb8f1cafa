/** The request of a scaling policy to its group: from its properties and the signal. Pure. */
import { numberOf as plainNumber } from '@anneal/contracts/exact-number.ts';
import type { ScalingRule, groupAdjust } from '@anneal/contracts/calls/scaling.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { z } from 'zod';

type Adjustment = z.infer<typeof groupAdjust.data>;

const policies: ReadonlySet<string> = new Set([
  'OS::Heat::ScalingPolicy',
  'AWS::AutoScaling::ScalingPolicy',
  'Anneal::Scaling::StepPolicy',
  'Anneal::Scaling::TargetPolicy',
]);
export const isPolicy = (type: string | undefined): boolean => type !== undefined && policies.has(type);

const types = {
  change_in_capacity: 'change_in_capacity',
  exact_capacity: 'exact_capacity',
  percent_change_in_capacity: 'percent_change_in_capacity',
  ChangeInCapacity: 'change_in_capacity',
  ExactCapacity: 'exact_capacity',
  PercentChangeInCapacity: 'percent_change_in_capacity',
} as const;

/** The reference of the group in the properties of a policy. */
export const groupReference = (properties: JsonObject): Json | undefined =>
  properties['group'] ?? properties['auto_scaling_group_id'] ?? properties['AutoScalingGroupName'];

const positive = (value: number | null): number | null =>
  value === null ? null : Math.min(Math.max(value, 0), Number.MAX_SAFE_INTEGER);
const numberOf = (value: Json | undefined): number | null =>
  value === undefined || value === null ? null : Number(value);

/**
 * The change of size that a policy with these properties asks for. A cooldown below zero is over at once; a step larger
 * than any group adds all that fits.
 */
export function adjustmentFrom(properties: JsonObject) {
  const given = (name: string, aws: string): number | null => numberOf(properties[name] ?? properties[aws]);
  const type = properties['adjustment_type'] ?? properties['AdjustmentType'];
  return {
    adjustment_type: types[type as keyof typeof types] ?? 'change_in_capacity',
    adjustment: given('scaling_adjustment', 'ScalingAdjustment') ?? 0,
    min_step: positive(given('min_adjustment_step', 'MinAdjustmentStep')),
    cooldown: positive(given('cooldown', 'Cooldown')),
  };
}

/** The rule, warm-up and cooldowns of Anneal's own policies; empty for those of Heat and AWS. */
export function ruleFrom(
  type: string,
  properties: JsonObject,
): Pick<Adjustment, 'rule' | 'warm_up' | 'cooldowns' | 'victims'> {
  if (!type.startsWith('Anneal::')) return {};
  const seconds = (name: string): number => positive(numberOf(properties[name])) ?? 0;
  const victims = properties['victims'];
  return {
    rule: type === 'Anneal::Scaling::TargetPolicy' ? targetOf(properties) : stepsOf(properties),
    warm_up: seconds('warm_up'),
    cooldowns: { out: seconds('cooldown_out'), in: seconds('cooldown_in') },
    ...((victims === 'oldest' || victims === 'newest' || victims === 'unhealthy') && { victims }),
  };
}

const targetOf = (properties: JsonObject): ScalingRule => ({
  kind: 'target',
  target: Number(properties['target']),
  tolerance: numberOf(properties['tolerance']) ?? 0.1,
  scale_in: properties['scale_in'] !== false,
});

function stepsOf(properties: JsonObject): ScalingRule {
  const steps = Array.isArray(properties['steps']) ? properties['steps'] : [];
  return {
    kind: 'steps',
    threshold: numberOf(properties['threshold']) ?? 0,
    steps: steps.filter(isObject).map((step) => ({
      lower: numberOf(step['lower']),
      upper: numberOf(step['upper']),
      adjustment: numberOf(step['adjustment']) ?? 0,
    })),
  };
}

/** The value and the reason in a signal: `{value}`, or the body of an alarm, whose latest value counts. */
export function saidBy(signal: Json): Pick<Adjustment, 'value' | 'reason' | 'said'> {
  if (!isObject(signal)) return { reason: 'signal' };
  const { value, reason, reason_data: data } = signal;
  const latest = isObject(data) ? data['most_recent'] : undefined;
  const found = [value, latest].map((each) =>
    typeof each === 'string' && each.trim() !== '' ? Number(each) : plainNumber(each),
  );
  const number = found.find((each) => each !== undefined && Number.isFinite(each));
  const isAlarm =
    signal['alarm_id'] !== undefined || signal['alarm_name'] !== undefined || signal['alarm'] !== undefined;
  return {
    reason: isAlarm ? 'alarm' : 'signal',
    ...(number !== undefined && { value: number }),
    ...(typeof reason === 'string' && { said: reason.slice(0, 4096) }),
  };
}
