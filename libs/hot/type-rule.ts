/** What a type asks of its properties beyond their schema: of several together, or of one by the value of another. */
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { rules } from './types/rules.ts';
import type { Partial } from './unknown.ts';

type Values = Readonly<Record<string, Partial>>;

const valueTypes: Readonly<Record<string, PropertySchema['type']>> = {
  string: 'String',
  number: 'Number',
  comma_delimited_list: 'List',
  json: 'Map',
  boolean: 'Boolean',
};

/** The schema of the properties; that of `OS::Heat::Value` depends on what its `type` says. */
export function schemaFor(type: ResourceType, given: ReadonlyMap<string, Partial>): ResourceType['properties'] {
  if (type.type !== 'OS::Heat::Value') return type.properties;
  const said = given.get('type');
  const kind = typeof said === 'string' && Object.hasOwn(valueTypes, said) ? valueTypes[said] : undefined;
  const { value } = type.properties;
  return kind && value && given.get('value') !== null
    ? { ...type.properties, value: { ...value, type: kind } }
    : type.properties;
}

/** `siblings`: the resources of its stack, where they are known. */
export function brokenRules(type: string, values: Values, siblings?: ReadonlyMap<string, boolean>): string[] {
  const rule = Object.hasOwn(rules, type) ? rules[type] : undefined;
  const problem = rule?.({ values, siblings });
  return problem === undefined ? [] : [problem];
}
