/**
 * The message that os-collect-config receives when it pops the queue of its host: the fields of the request, and
 * `deployments`, the whole list that its hooks process. Each message replaces the previous one in its cache, so it
 * repeats the earlier deployments, and the hooks skip those by id. Its answer has no id, so each deployment names a
 * separate queue for the answer. Pure.
 */
import { answerQueue } from '@anneal/contracts/queues.ts';
import type { HostRequest } from '@anneal/contracts/configuration.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';

export interface CollectorSignal {
  readonly auth_url: string;
  readonly user_id: string;
  readonly password: string;
  readonly project_id: string;
}

export function collectorForm(
  request: HostRequest,
  options: { earlier: readonly HostRequest[]; signal: CollectorSignal },
): Json {
  const { earlier, signal } = options;
  const before = earlier.filter(({ id }) => id !== request.id);
  return {
    ...(request as unknown as JsonObject),
    deployments: [...before, request].map((each) => deploymentOf(each, signal)),
  };
}

function deploymentOf(request: HostRequest, signal: CollectorSignal): Json {
  const { id, name, group, config, outputs, options, creation_time } = request;
  const inputs = request.inputs.map((input) => ({ ...input, value: readable(group, input.value) }));
  const signalInputs = Object.entries({
    deploy_queue_id: answerQueue(id),
    deploy_auth_url: signal.auth_url,
    deploy_user_id: signal.user_id,
    deploy_password: signal.password,
    deploy_project_id: signal.project_id,
  }).map(([key, value]) => ({ name: key, type: 'String', value }));
  return {
    id,
    name,
    group,
    config,
    inputs: [...inputs, ...signalInputs],
    outputs: outputs as unknown as Json,
    options,
    creation_time,
  };
}

/** Converts numbers and booleans to text for the script hook, which fails to export them as environment variables. */
const readable = (group: string, value: Json): Json =>
  group === 'script' && (typeof value === 'number' || typeof value === 'boolean') ? String(value) : value;
