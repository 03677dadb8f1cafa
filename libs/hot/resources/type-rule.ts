/**
 * Rules of a type beyond the schemas of its properties: on several properties together, or on one by another's value.
 */
import type { Reason } from '../evaluate/reason.ts';
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { rules } from '../types/rules.ts';
import type { PartialValue } from '../evaluate/unknown.ts';

type Values = Readonly<Record<string, PartialValue>>;

const valueTypes: Readonly<Record<string, PropertySchema['type']>> = {
  string: 'String',
  number: 'Number',
  comma_delimited_list: 'List',
  json: 'Map',
  boolean: 'Boolean',
};

/** Returns the schema of the properties. That of `OS::Heat::Value` depends on its property `type`. */
export function schemaFor(type: ResourceType, given: ReadonlyMap<string, PartialValue>): ResourceType['properties'] {
  if (type.type !== 'OS::Heat::Value') return type.properties;
  const said = given.get('type');
  const kind = typeof said === 'string' && Object.hasOwn(valueTypes, said) ? valueTypes[said] : undefined;
  const { value } = type.properties;
  return kind && value && given.get('value') !== null
    ? { ...type.properties, value: { ...value, type: kind } }
    : type.properties;
}

/** `siblings`: the resources of the same stack, if known. A `whole` problem is shown without the resource's name. */
export function brokenRules(
  { type, properties }: ResourceType,
  values: Values,
  siblings?: ReadonlyMap<string, boolean>,
): (Reason | { readonly whole: Reason })[] {
  const rule = Object.hasOwn(rules, type) ? rules[type] : undefined;
  const problem = rule?.({ values, siblings, properties });
  return problem === undefined ? [] : [problem];
}
