/** A request to a host in the form that os-collect-config passes to the hooks of heat-agents. Pure. */
import type { HostRequest } from '@anneal/contracts/calls/configuration.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';

/** `signal` has the `deploy_*` inputs by which heat-config-notify sends the answer. */
export function deploymentForm(request: HostRequest, signal: Readonly<Record<string, string>>): JsonObject {
  const { id, name, group, config, outputs, options, creation_time } = request;
  const inputs = request.inputs.map((input) => ({ ...input, value: readable(group, input.value) }));
  const signalInputs = Object.entries(signal).map(([key, value]) => ({ name: key, type: 'String', value }));
  return {
    id,
    name,
    group,
    config,
    inputs: [...inputs, ...signalInputs] as unknown as Json,
    outputs: outputs as unknown as Json,
    options,
    creation_time,
  };
}

/** Converts numbers and booleans to text for the script hook, which fails to export them as environment variables. */
const readable = (group: string, value: Json): Json =>
  group === 'script' && (typeof value === 'number' || typeof value === 'boolean') ? String(value) : value;
