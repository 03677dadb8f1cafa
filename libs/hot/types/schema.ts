/** Short forms for the schemas of resource types, so that a type with many properties is easy to read. */
import type { Json } from '@anneal/contracts/json.ts';
import type { Constraint, PropertySchema, PropertyType, ResourceType } from '@anneal/contracts/resource-type.ts';

type Options = Omit<PropertySchema, 'type' | 'schema'>;
type Properties = Readonly<Record<string, PropertySchema>>;

const of =
  (type: PropertyType) =>
  (options: Options = {}): PropertySchema => ({ type, ...options });

export const string = of('String');
export const integer = of('Integer');
export const number = of('Number');
export const boolean = of('Boolean');
export const map = of('Map');
export const list = of('List');

export const mapOf = (schema: Properties, options: Options = {}): PropertySchema => ({
  type: 'Map',
  ...options,
  schema: { ...schema },
});
export const listOf = (item: PropertySchema, options: Options = {}): PropertySchema => ({
  type: 'List',
  ...options,
  schema: { '*': item },
});

export const oneOf = (...values: Json[]): Constraint[] => [{ allowed_values: values }];
/** Constraint by named check: the form of a value, or an object in a cloud. Offline, the second kind is not checked. */
export const checked = (name: string): Constraint[] => [{ custom_constraint: name }];

export function resourceType(
  type: string,
  properties: Properties,
  /** Type of the value by attribute; null when it can be any value. */
  attributes: Readonly<Record<string, string | null>>,
  more: Partial<ResourceType> = {},
): ResourceType {
  const described = Object.entries(attributes).map(
    ([name, value]) => [name, value === null ? {} : { type: value }] as const,
  );
  return { type, properties: { ...properties }, attributes: Object.fromEntries(described), ...more };
}

/** A type that Heat still knows by name but that does nothing: it accepts any properties. */
export const placeholder = (type: string): ResourceType => ({
  type,
  properties: {},
  attributes: {},
  open_properties: true,
  open_attributes: true,
});
