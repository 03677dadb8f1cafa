/**
 * Exports a stack in a form that another installation can adopt. Only this installation can open sealed values, so
 * hidden parameters are exported in the clear, as in Heat, and the operator must keep the file secret. Secret
 * attributes of resources are left out, because the adopting installation derives or reads them again.
 */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { Pace } from '@anneal/contracts/pace.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';

/** The parts of a resource that clients can read. */
const shown: ReadonlySet<string> = new Set(['attributes', 'metadata', 'resource_data']);

export async function portable(exported: JsonObject, secrets: Secrets, pace: Pace = new Pace()): Promise<JsonObject> {
  const { resources, ...rest } = exported;
  if (!isObject(resources)) return secrets.open(exported);
  const entries: [string, Json][] = [];
  for (const [name, resource] of Object.entries(resources)) {
    if (pace.isOver) await pace.turn();
    if (!isObject(resource)) {
      entries.push([name, resource]);
      continue;
    }
    const parts = Object.entries(resource).map(([part, value]): [string, Json] => [
      part,
      shown.has(part) && isObject(value) ? withoutSealed(value, secrets) : value,
    ]);
    entries.push([name, await portable(Object.fromEntries(parts), secrets, pace)]);
  }
  return { ...secrets.open<JsonObject>(rest), resources: Object.fromEntries(entries) };
}

const withoutSealed = (values: JsonObject, secrets: Secrets): JsonObject =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => secrets.mask(value) === value));
