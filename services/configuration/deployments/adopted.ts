/** Takes over a deployment that ran before this installation knew it. Its config does not run again. Pure. */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { DeploymentState } from '../collections.ts';
import { storedOutputs } from './decisions/outcome.ts';

/** Attributes of a deployment that are no outputs of its config. */
const ownAttributes: ReadonlySet<string> = new Set(['deploy_stdout', 'deploy_stderr', 'deploy_status_code', 'show']);

/**
 * The state of an adopted deployment: that of one with nothing to do, with the outputs in the data of the abandoned
 * stack. A deployment that had failed there has not applied its config, so its next update runs the config.
 */
export function adoptedState(resting: DeploymentState, data: JsonObject): DeploymentState {
  const attributes = isObject(data['attributes']) ? data['attributes'] : {};
  const outputs = toRecord(Object.entries(attributes).filter(([name]) => !ownAttributes.has(name)));
  const code = attributes['deploy_status_code'];
  const hasFailed = data['failed'] === true;
  return {
    ...resting,
    reason: hasFailed ? 'Adopted; its config had failed' : 'Adopted; its config had run',
    applied: hasFailed ? null : resting.applied,
    output_values: storedOutputs(resting.config, outputs),
    status_code: numberOf(code) ?? null,
    stdout: text(attributes['deploy_stdout']),
    stderr: text(attributes['deploy_stderr']),
  };
}

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
