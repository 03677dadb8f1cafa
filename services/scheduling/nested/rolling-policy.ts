/** Reads the rolling policy of a group, in the format of Heat or of AWS. */
import { durationSeconds } from '@anneal/contracts/readers/duration.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { GroupKind } from '@anneal/hot/groups/kind.ts';

export interface Rolling {
  readonly batch: number;
  /** The minimum number of members in service. */
  readonly least: number;
  /** The pause between batches, in seconds. */
  readonly pause: number;
}

/** Returns undefined when all members change at once. */
export function rollingOf(group: {
  type: string;
  kind: GroupKind;
  properties: JsonObject;
  updatePolicy: Json;
  creates: boolean;
}): Rolling | undefined {
  const { kind, properties, creates, type } = group;
  const policy = asMap(group.updatePolicy);
  if (kind === 'scaling') return creates ? undefined : heatForm(properties['rolling_updates']);
  if (kind === 'instances') {
    const rolling = awsForm(policy[type === 'OS::Heat::InstanceGroup' ? 'RollingUpdate' : 'AutoScalingRollingUpdate']);
    return creates ? undefined : rolling;
  }
  return heatForm(policy[creates ? 'batch_create' : 'rolling_update']);
}

function heatForm(given: Json | undefined): Rolling | undefined {
  if (given === undefined || given === null) return undefined;
  const { max_batch_size: batch, min_in_service: least, pause_time: pause } = asMap(given);
  return { batch: numberOr(batch, 1), least: numberOr(least, 0), pause: numberOr(pause, 0) };
}

function awsForm(given: Json | undefined): Rolling | undefined {
  if (given === undefined || given === null) return undefined;
  const { MaxBatchSize: batch, MinInstancesInService: least, PauseTime: pause } = asMap(given);
  return {
    batch: numberOr(batch, 1),
    least: numberOr(least, 0),
    pause: atMostAnHour(typeof pause === 'string' ? secondsOf(pause) : numberOr(pause, 0)),
  };
}

/** Applies Heat's limit, with Heat's error message. */
function atMostAnHour(pause: number): number {
  if (pause <= 3600) return pause;
  throw new AnnealError('InvalidRequest', 'Maximum PauseTime is 1 hour.');
}

function secondsOf(duration: string): number {
  const seconds = durationSeconds(duration);
  if (seconds !== undefined) return seconds;
  throw new AnnealError('InvalidRequest', `PauseTime must be a length of time such as PT5M, not "${duration}".`);
}

const asMap = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
const numberOr = (value: Json | undefined, fallback: number): number => {
  // No group has more members, and no message carries a larger integer.
  const number = Math.min(Number(value ?? fallback), Number.MAX_SAFE_INTEGER);
  return Number.isFinite(number) && number >= 0 ? number : fallback;
};
