/** Seals secrets in members again. Members are computed from opened values of the group. */
import { holdsValues } from '@anneal/contracts/exact-number.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { Json, JsonObject, SealableObject } from '@anneal/contracts/json.ts';
import { groupKind } from '@anneal/hot/groups/kind.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';

type Path = readonly string[];

export function resealMembers({
  type,
  properties,
  template,
  secrets,
}: {
  type: string;
  /** The properties of the group, still sealed. */
  properties: SealableObject;
  template: JsonObject;
  secrets: Secrets;
}): JsonObject {
  const places = sealedPlaces(properties as JsonObject, secrets).flatMap((path) => inMember(type, path));
  const worked = secrets.fromOutside(template);
  if (places.length === 0) return worked;
  const resources = Object.entries((worked['resources'] ?? {}) as Record<string, JsonObject>).map(
    ([name, definition]): [string, Json] => [
      name,
      places.reduce<Json>((sealed, path) => sealAt(sealed, path, secrets), definition),
    ],
  );
  return { ...worked, resources: toRecord(resources) };
}

function sealedPlaces(value: Json, secrets: Secrets, path: Path = []): Path[] {
  if (!holdsValues(value)) return [];
  if (secrets.isSealed(value)) return [path];
  return Object.entries(value).flatMap(([key, item]) => sealedPlaces(item, secrets, [...path, key]));
}

/** The places of a group's property in a member. When a whole definition is secret, each of its properties is. */
function inMember(type: string, [first = '', ...rest]: Path): Path[] {
  switch (groupKind(type)) {
    case 'numbered':
      return first === 'resource_def' ? inDefinition(rest) : [];
    case 'scaling':
      return first === 'resource' ? inDefinition(rest) : [];
    case 'chain':
      return first === 'resource_properties' ? [['properties', ...(rest.length === 0 ? ['*'] : rest)]] : [];
    case 'deployments':
      return first === 'servers' ? [['properties', 'server']] : [['properties', first, ...rest]];
    case 'instances':
      return Object.hasOwn(ofInstances, first) ? [['properties', ofInstances[first] ?? '']] : [];
    default:
      return [];
  }
}

/** The properties of an instance that a property of its group becomes. */
const ofInstances: Readonly<Record<string, string>> = { Tags: 'Tags', VPCZoneIdentifier: 'SubnetId' };

/** When a definition or its properties are secret as a whole, each property is. The type and the policies are no secret. */
function inDefinition([part, ...rest]: Path): Path[] {
  const properties = ['properties', ...(rest.length === 0 ? ['*'] : rest)];
  if (part === undefined) return [properties, ['metadata']];
  if (part === 'properties') return [properties];
  return part === 'metadata' ? [['metadata', ...rest]] : [];
}

function sealAt(value: Json, [step, ...rest]: Path, secrets: Secrets): Json {
  if (step === undefined) return secrets.isSealed(value) ? value : secrets.seal(value);
  if (!holdsValues(value) || secrets.isSealed(value)) return value;
  if (Array.isArray(value)) {
    return value.map((item, index) => (String(index) === step ? sealAt(item, rest, secrets) : item));
  }
  const entries = Object.entries(value).map(([key, item]): [string, Json] => [
    key,
    key === step || step === '*' ? sealAt(item, rest, secrets) : item,
  ]);
  return toRecord(entries);
}
