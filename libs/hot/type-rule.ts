/** What a type asks of its properties beyond their schema: of several together, or of one by the value of another. */
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { numberOf } from './number.ts';
import { holdsUnknown, type Partial } from './unknown.ts';

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

const number = (value: Partial | undefined): number | undefined => numberOf(value);
const listOf = (value: Partial | undefined): readonly Partial[] => (Array.isArray(value) ? value : []);
const partOf = (value: Partial, name: string): Partial | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, Partial>>)[name]
    : undefined;

type Rule = (values: Values) => string | false;

const minima: Rule = (values) => {
  const parts = [...listOf(values['character_classes']), ...listOf(values['character_sequences'])];
  const least = parts.reduce<number>((sum, part) => sum + (number(partOf(part, 'min')) ?? 0), 0);
  const length = number(values['length']);
  return (
    length !== undefined &&
    length < least &&
    'Length property cannot be smaller than combined character class and character sequence minimums'
  );
};

const adjustmentStep: Rule = ({ min_adjustment_step, adjustment_type }) =>
  number(min_adjustment_step) !== undefined &&
  adjustment_type !== 'percent_change_in_capacity' &&
  'min_adjustment_step property should only be specified for adjustment_type with value percent_change_in_capacity';

const oneConfigAnAction: Rule = ({ configs }) => {
  const actions = listOf(configs).flatMap((config) => listOf(partOf(config, 'actions') ?? ['CREATE', 'UPDATE']));
  return (
    new Set(actions).size < actions.length && 'Defining more than one configuration for the same action is not allowed'
  );
};

const rules: Readonly<Record<string, Rule>> = {
  'OS::Heat::RandomString': minima,
  'OS::Heat::ScalingPolicy': adjustmentStep,
  'OS::Heat::SoftwareComponent': oneConfigAnAction,
};

/** Asked only of what is known as a whole. */
export function brokenRules(type: string, values: Values): string[] {
  const rule = Object.hasOwn(rules, type) ? rules[type] : undefined;
  const problem = rule && !Object.values(values).some(holdsUnknown) && rule(values);
  return problem ? [problem] : [];
}
