/** Converts a parameter in CloudFormation's form to one in HOT's. */
import { type Mistakes, nearestName } from '../mistakes.ts';
import { type MappingEntry, type YamlNode } from '@anneal/python/yaml/node.ts';

const types: Readonly<Record<string, string>> = {
  String: 'string',
  Number: 'number',
  Boolean: 'boolean',
  CommaDelimitedList: 'comma_delimited_list',
  Json: 'json',
};
const plain: Readonly<Record<string, string>> = {
  Description: 'description',
  Default: 'default',
  Label: 'label',
};
const bounds: Readonly<Record<string, readonly [string, string]>> = {
  MinLength: ['length', 'min'],
  MaxLength: ['length', 'max'],
  MinValue: ['range', 'min'],
  MaxValue: ['range', 'max'],
};
const rules: Readonly<Record<string, string>> = {
  AllowedValues: 'allowed_values',
  AllowedPattern: 'allowed_pattern',
};

/** The `parameters` section, with the constraints of each as a list. A node that is no map stays as it is. */
export function parametersOf(node: YamlNode, name: string, mistakes: Mistakes): YamlNode {
  if (node.kind !== 'map') return node;
  const entries = new Map<string, MappingEntry>();
  const constraints = new Map<string, Map<string, MappingEntry> | MappingEntry>();
  for (const [key, entry] of node.entries) {
    if (Object.hasOwn(plain, key)) entries.set(plain[key] ?? key, entry);
    else if (key === 'Type') entries.set('type', typeOf(entry));
    else if (key === 'NoEcho') entries.set('hidden', hiddenOf(entry));
    else if (Object.hasOwn(rules, key)) constraints.set(rules[key] ?? key, entry);
    else if (Object.hasOwn(bounds, key)) {
      const [rule = '', bound = ''] = bounds[key] ?? [];
      const before = constraints.get(rule);
      const inner = before instanceof Map ? before : new Map<string, MappingEntry>();
      constraints.set(rule, inner.set(bound, entry));
    } else if (key !== 'ConstraintDescription') {
      const message = `Invalid key '${key}' for parameter (${name})`;
      const nearest = nearestName(key, ['Type', ...Object.keys({ ...plain, ...bounds, ...rules })]);
      mistakes.add({
        code: 'UnknownKey',
        message,
        path: `parameters.${name}.${key}`,
        at: entry.at,
        found: key,
        nearest,
      });
    }
  }
  if (constraints.size > 0) {
    const description = node.entries.get('ConstraintDescription');
    const items = Array.from(constraints, ([rule, found]): YamlNode => {
      const value: MappingEntry =
        found instanceof Map ? { at: node.at, value: { kind: 'map', entries: found, at: node.at } } : found;
      const entry = new Map([[rule, value]]);
      if (description) entry.set('description', description);
      return { kind: 'map', entries: entry, at: value.at };
    });
    entries.set('constraints', { at: node.at, value: { kind: 'list', items, at: node.at } });
  }
  return { kind: 'map', entries, at: node.at };
}

/** Hides the parameter only when the value is the word true. */
function hiddenOf({ at, value }: MappingEntry): MappingEntry {
  const isHidden = value.kind === 'scalar' && String(value.value).toLowerCase() === 'true';
  return { at, value: { kind: 'scalar', value: isHidden, at: value.at } };
}

/** HOT's names of types are invalid here. */
function typeOf(entry: MappingEntry): MappingEntry {
  const { value } = entry;
  if (value.kind !== 'scalar' || typeof value.value !== 'string') return entry;
  const type = Object.hasOwn(types, value.value) ? types[value.value] : `${value.value} `;
  return { ...entry, value: { ...value, value: type ?? '' } };
}
