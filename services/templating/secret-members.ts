/**
 * Turns each secret in the members of a group into a hidden parameter. No value of a member contains the name of such a
 * parameter, so every `{get_param: <name>}` comes from this file, and never from a user, a script or a host.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { isExact, holdsValues } from '@anneal/contracts/exact-number.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';

export function hideSecrets(template: JsonObject, secrets: Secrets): { template: JsonObject; parameters: JsonObject } {
  const names = new Map<string, string>();
  const parameters: JsonObject = {};
  const schemas: JsonObject = {};
  const written = JSON.stringify(template);
  let count = 0;
  const newName = (): string => {
    do count += 1;
    while (written.includes(`secret_${count}`));
    return `secret_${count}`;
  };
  const visit = (value: Json): Json => {
    if (!holdsValues(value)) return value;
    if (Array.isArray(value)) return value.map(visit);
    if (!secrets.isSealed(value)) {
      return toRecord(Object.entries(value).map(([key, item]) => [key, visit(item)]));
    }
    const text = JSON.stringify(value);
    let name = names.get(text);
    if (name === undefined) {
      name = newName();
      names.set(text, name);
      const open = secrets.open<Json>(value);
      parameters[name] = open;
      schemas[name] = { type: typeOf(open), hidden: true };
    }
    return { get_param: name };
  };
  const visited = visit(template) as JsonObject;
  return { template: names.size === 0 ? visited : { ...visited, parameters: schemas }, parameters };
}

const typeOf = (value: Json): string => {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return typeof value;
  return isExact(value) ? 'number' : 'json';
};
