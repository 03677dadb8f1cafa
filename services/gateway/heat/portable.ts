/**
 * An exported stack as another installation can take it over. What is sealed can be opened here only: hidden parameters are
 * given in the clear, as Heat does, and whoever keeps the file must keep it as a secret; what resources show that is secret
 * is left out, since it is worked out again, or asked for, when they are taken over.
 */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';

/** The parts of a resource that say what it shows. */
const shown: ReadonlySet<string> = new Set(['attributes', 'metadata', 'resource_data']);

export function portable(exported: JsonObject, secrets: Secrets): JsonObject {
  const { resources, ...rest } = exported;
  if (!isObject(resources)) return secrets.open(exported);
  const entries = Object.entries(resources).map(([name, resource]): [string, Json] => {
    if (!isObject(resource)) return [name, resource];
    const parts = Object.entries(resource).map(([part, value]): [string, Json] => [
      part,
      shown.has(part) && isObject(value) ? withoutSealed(value, secrets) : value,
    ]);
    return [name, portable(Object.fromEntries(parts), secrets)];
  });
  return { ...secrets.open<JsonObject>(rest), resources: Object.fromEntries(entries) };
}

const withoutSealed = (values: JsonObject, secrets: Secrets): JsonObject =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => secrets.mask(value) === value));
