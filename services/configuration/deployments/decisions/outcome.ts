/** Derives the state of a deployment from the answer of its host. Pure. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import { AnnealError, toFailure, type Failure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { DeploymentState } from '../../collections.ts';
import type { StoredConfig } from '../../configs/derive.ts';

export interface DeploymentOutcome {
  readonly status: 'COMPLETE' | 'FAILED';
  readonly reason: string;
  readonly output_values: JsonObject;
  readonly failure: Failure | null;
}

/** The part of a stream that a failure carries. The deployment keeps more. */
const tailLength = 4096;
const tail = (text: string): string => (text.length > tailLength ? `…${text.slice(-tailLength)}` : text);

const isPresent = (value: Json | undefined): boolean => value !== undefined && value !== null && value !== '';

/** @param fault of the script that has run, which may be the cause of a failure that names none. */
export function outcomeOf(
  deployment: DeploymentState,
  response: HostResponse,
  fault: string | undefined,
): DeploymentOutcome {
  const output_values = storedOutputs(deployment.config, response.outputs);
  const reasons = [
    ...(response.error === undefined ? [] : [response.error]),
    ...(response.status_code === 0
      ? []
      : [`deploy_status_code : Deployment exited with non-zero status code: ${response.status_code}`]),
    ...deployment.config.outputs
      .filter((output) => output.error_output && isPresent(response.outputs[output.name]))
      .map((output) => `${output.name} : ${describe(response.outputs[output.name] ?? null)}`),
  ];
  if (reasons.length === 0) {
    const reason = receivedText(deployment, { values: output_values, fault });
    return { status: 'COMPLETE', reason, output_values, failure: null };
  }
  const reason = [...reasons, ...(fault === undefined ? [] : [likelyText(fault)])].join(', ');
  // Distinguish a script that exceeded its time limit from a script that failed.
  const code = response.error?.startsWith('deadline') ? 'DeadlineExceeded' : 'DeploymentFailed';
  const error = new AnnealError(
    code,
    `Deployment to server failed: ${reason} (${deployment.name} on ${deployment.host_name})`,
    {
      details: {
        host: deployment.host_name,
        host_id: deployment.host_id,
        deployment: deployment.name,
        action: deployment.action,
        status_code: response.status_code,
        stderr: tail(response.stderr),
        stdout: tail(response.stdout),
        ...(fault !== undefined && { script_fault: fault }),
      },
    },
  );
  return { status: 'FAILED', reason, output_values, failure: toFailure(error) };
}

/** The cause that the text of a script suggests, after another reason. */
export const likelyText = (fault: string): string => `likely because of its script: ${fault.replace(/\.$/, '')}`;

/** Heat's sentence, and the declared outputs that the config has not written. */
function receivedText(
  { config }: DeploymentState,
  { values, fault }: { values: JsonObject; fault: string | undefined },
): string {
  const missing = config.outputs.filter(({ name, error_output }) => !error_output && values[name] === undefined);
  const names = missing.map(({ name }) => name).join(', ');
  if (missing.length === 0) return 'Outputs received';
  const why = fault === undefined ? '' : `, ${likelyText(fault)}`;
  return `Outputs received, except ${names}: the config has not written it${why}`;
}

export function storedOutputs(config: StoredConfig, outputs: JsonObject): JsonObject {
  if (config.open_outputs) return outputs;
  return toRecord(
    config.outputs.flatMap(({ name }) => {
      const value = outputs[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

const describe = (value: Json): string => (typeof value === 'string' ? value.trim() : JSON.stringify(value));

/** The attributes of a deployment that templates can read. Null while unknown. */
export function attributesOf(deployment: DeploymentState): JsonObject {
  const answered = deployment.status_code !== null;
  return {
    ...toRecord(deployment.config.outputs.map(({ name }) => [name, null])),
    ...deployment.output_values,
    deploy_stdout: answered ? deployment.stdout : null,
    deploy_stderr: answered ? deployment.stderr : null,
    deploy_status_code: deployment.status_code,
  };
}
