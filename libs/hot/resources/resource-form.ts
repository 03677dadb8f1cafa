/** The keys that a resource may have, and the forms in which each may be written. */
import { everyName } from '../functions/table.ts';
import { join, nearestName } from '../mistakes.ts';
import { isNull, type YamlNode } from '@anneal/python/yaml/node.ts';
import type { ResourceContext, WrittenResource } from './resource-context.ts';

const keys = [
  'type',
  'properties',
  'metadata',
  'depends_on',
  'update_policy',
  'deletion_policy',
  'description',
  'external_id',
  'condition',
];
const since2016 = new Set(['external_id', 'condition']);

const isText = (node: YamlNode): boolean => node.kind === 'scalar' && typeof node.value === 'string';
/** True for a map whose only key is the name of a function. */
export const isFunction = (node: YamlNode): boolean => {
  const [name] = node.kind === 'map' && node.entries.size === 1 ? node.entries.keys() : [];
  return name !== undefined && everyName.has(name);
};
const writtenForms: Readonly<Record<string, { forms: string; allows: (node: YamlNode) => boolean }>> = {
  properties: { forms: 'object', allows: (node) => !isNull(node) },
  description: { forms: 'string', allows: isText },
  metadata: { forms: 'object', allows: ({ kind }) => kind === 'map' },
  update_policy: { forms: 'object', allows: ({ kind }) => kind === 'map' },
  deletion_policy: { forms: 'string', allows: (node) => isText(node) || isFunction(node) },
  external_id: { forms: 'string', allows: (node) => isText(node) || isFunction(node) },
  depends_on: { forms: 'list or string', allows: (node) => !isNull(node) },
  condition: { forms: 'string_or_boolean', allows: (node) => !isNull(node) },
};

/** Refuses keys that no resource of this version has. Mistakes are added. */
export function checkKeys({ node, path }: WrittenResource, { version, dialect, mistakes }: ResourceContext): void {
  for (const [key, entry] of node.entries) {
    const known = keys.includes(key) && !(since2016.has(key) && version < '2016-10-14' && dialect === 'hot');
    if (known) continue;
    const message = `"${key}" is not a valid keyword inside a resource definition`;
    const nearest = keys.includes(key) ? undefined : nearestName(key, keys);
    mistakes.add({
      code: 'UnknownKey',
      message,
      path: join(path, key),
      at: entry.at,
      expected: keys.join(', '),
      found: key,
      nearest,
    });
  }
}

/** Checks the keys that have only certain forms. A null is never a valid form. */
export function checkForms({ name, node, at, path }: WrittenResource, { mistakes }: ResourceContext): void {
  for (const [key, { forms, allows }] of Object.entries(writtenForms)) {
    const value = node.entries.get(key)?.value;
    if (!value || allows(value)) continue;
    const message = `Resource ${name} ${key} type must be ${forms}`;
    mistakes.add({ code: 'WrongType', message, path: join(path, key), at: value.at ?? at });
  }
}
