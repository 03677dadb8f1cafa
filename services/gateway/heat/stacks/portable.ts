/**
 * Exports a stack in a form that another installation can adopt. Only this installation can open sealed values, so
 * hidden parameters are exported in the clear, as in Heat, and the operator must keep the file secret. Secret
 * attributes of resources are left out, because the adopting installation derives or reads them again.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { Pace } from '@anneal/contracts/slices/pace.ts';
import { asWritten, type Secrets } from '@anneal/runtime/secrets/secrets.ts';

/** The parts of a resource that clients can read. */
const shown: ReadonlySet<string> = new Set(['attributes', 'metadata', 'resource_data']);

export async function portable(exported: JsonObject, secrets: Secrets, pace: Pace = new Pace()): Promise<JsonObject> {
  const parts: [string, Json][] = [];
  for (const [name, value] of Object.entries(exported)) {
    if (name === 'resources' && isObject(value)) parts.push([name, await portableResources(value, secrets, pace)]);
    else if (shown.has(name) && isObject(value)) parts.push([name, withoutSecrets(value, secrets)]);
    else parts.push([name, secrets.open(value)]);
  }
  return toRecord(parts);
}

async function portableResources(resources: JsonObject, secrets: Secrets, pace: Pace): Promise<JsonObject> {
  const entries: [string, Json][] = [];
  for (const [name, resource] of Object.entries(resources)) {
    if (pace.isOver) await pace.turn();
    entries.push([name, isObject(resource) ? await portable(resource, secrets, pace) : resource]);
  }
  return toRecord(entries);
}

/** A seal that a user copied into the value is no secret, and stays as the user wrote it. */
const withoutSecrets = (values: JsonObject, secrets: Secrets): JsonObject =>
  toRecord(
    Object.entries(values).flatMap(([name, value]): [string, Json][] => {
      const written = asWritten(secrets, value);
      return written === undefined ? [] : [[name, written]];
    }),
  );
