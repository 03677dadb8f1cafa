/** A group's members have their values written out; a secret among them becomes a hidden parameter, so that it stays one. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';

export function hideSecrets(template: JsonObject, secrets: Secrets): { template: JsonObject; parameters: JsonObject } {
  const names = new Map<string, string>();
  const parameters: JsonObject = {};
  const schemas: JsonObject = {};
  const visit = (value: Json): Json => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(visit);
    if (!Object.hasOwn(value, '$sealed')) {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item)]));
    }
    const text = JSON.stringify(value);
    let name = names.get(text);
    if (name === undefined) {
      name = `secret_${names.size + 1}`;
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
  return 'json';
};
