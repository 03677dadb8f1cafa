/**
 * Types that no provider of Anneal serves, so that templates that name them can be checked without a server. They are
 * data, `unserved-types.json`, with a line for each property:
 *
 *     "OS::Example::Type": {
 *       "@attributes": "address size:Integer data:Any",
 *       "name": "String! update length:1..80 like:^[a-z]+$ # The name.",
 *       "port": "Integer default:80 range:1..65535",
 *       "zones": "List immutable of String in:a|b",
 *       "rules": { "@": "List default:[] of Map", "network": "String! is:neutron.network" }
 *     }
 *
 * A property has a type, with `!` when it is required, and then words: `update` and `immutable` are flags of
 * `PropertySchema`; `default`, `range`, `length`, `in` (allowed values), `like` (a pattern) and `is` (a named check) have a
 * value. A value that begins as JSON is JSON, and any other is a text. `in` accepts numbers as `0..255`. The schema of
 * the items of a list follows `of`. An object holds the keys of a map, whose own line is `@`. An attribute without a type is
 * a String. `@open` has `properties` and `attributes` when templates may use unlisted ones; `@actions` is `actions` of the
 * contract.
 */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import {
  propertyTypes,
  type Constraint,
  type PropertySchema,
  type PropertyType,
  type ResourceType,
} from '@anneal/contracts/resource-type.ts';
import file from './unserved-types.json' with { type: 'json' };

const valueOf = (text: string): Json => (/^(?:-?\d+|true|false|null|["[{].*)$/.test(text) ? parseExact(text) : text);

function bounds(text: string): { min?: number; max?: number } {
  const [min = '', max = ''] = text.split('..');
  return { ...(min !== '' && { min: Number(min) }), ...(max !== '' && { max: Number(max) }) };
}

function allowedValues(text: string): Json[] {
  return text.split('|').flatMap((item) => {
    const { min, max } = bounds(item);
    return /^\d+\.\.\d+$/.test(item) && min !== undefined && max !== undefined
      ? Array.from({ length: max - min + 1 }, (_, index) => min + index)
      : [valueOf(item)];
  });
}

const constraints: Readonly<Record<string, (text: string) => Constraint>> = {
  range: (text) => ({ range: bounds(text) }),
  length: (text) => ({ length: bounds(text) }),
  in: (text) => ({ allowed_values: allowedValues(text) }),
  like: (text) => ({ allowed_pattern: text }),
  is: (text) => ({ custom_constraint: text }),
};

/** Reads the words of a property after its type. @throws for an unknown word */
function wordsOf(words: readonly string[]): Partial<PropertySchema> {
  const found: Partial<PropertySchema> = {};
  for (const word of words) {
    const [, name = '', value] = /^(\w+)(?::(.*))?$/.exec(word) ?? [];
    const constraint = constraints[name];
    if (word === 'update') found.update_allowed = true;
    else if (word === 'immutable') found.immutable = true;
    else if (name === 'default' && value !== undefined) found.default = valueOf(value);
    else if (constraint && value !== undefined) (found.constraints ??= []).push(constraint(value));
    else throw new Error(`The line of a property has the unknown word "${word}"`);
  }
  return found;
}

/** @throws for an unknown type or word */
function typeOf(text: string): PropertyType {
  const found = propertyTypes.find((type) => type === text);
  if (found === undefined) throw new Error(`The line of a property has the unknown type "${text}"`);
  return found;
}

function schemaOf(text: string, keys?: Record<string, PropertySchema>): PropertySchema {
  const [own = '', ...item] = text.split(' of ');
  const [type = '', ...words] = own.split(' ');
  const schema = item.length > 0 ? { '*': schemaOf(item.join(' of '), keys) } : keys;
  return {
    type: typeOf(type.replace(/!$/, '')),
    ...(type.endsWith('!') && { required: true }),
    ...wordsOf(words),
    ...(schema && { schema }),
  };
}

/** Reads one property of the data. @throws when it does not have the form above */
export function unservedProperty(given: Json): PropertySchema {
  const { '@': line, ...keys } = isObject(given) ? given : { '@': given };
  if (typeof line !== 'string') throw new Error('A property has no line with its type');
  const [text = '', description] = line.split(' # ');
  return {
    ...schemaOf(text, isObject(given) ? propertiesOf(keys) : undefined),
    ...(description !== undefined && { description }),
  };
}

const propertiesOf = (given: JsonObject): Record<string, PropertySchema> =>
  Object.fromEntries(Object.entries(given).map(([name, property]) => [name, unservedProperty(property)]));

const wordsIn = (text: Json | undefined): string[] => (typeof text === 'string' ? text.split(' ') : []);

function unservedType(name: string, given: JsonObject): ResourceType {
  const { '@attributes': attributes, '@open': open, '@actions': actions, ...properties } = given;
  const attributeOf = (word: string) => {
    const [attribute = '', type = 'String'] = word.split(':');
    return [attribute, type === 'Any' ? {} : { type }] as const;
  };
  const opened = wordsIn(open);
  return {
    type: name,
    properties: propertiesOf(properties),
    attributes: Object.fromEntries(wordsIn(attributes).map(attributeOf)),
    ...(opened.includes('properties') && { open_properties: true }),
    ...(opened.includes('attributes') && { open_attributes: true }),
    ...(actions !== undefined && { actions: wordsIn(actions) as ResourceType['actions'] }),
  };
}

/** All of these types. */
export const unservedTypes: readonly ResourceType[] = Object.entries<JsonObject>(file).map(([name, given]) =>
  unservedType(name, given),
);
