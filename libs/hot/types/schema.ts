/** Short forms for the schemas of resource types, so that a type with many properties is easy to read. */
import type { Json } from '@anneal/contracts/json.ts';
import { mostSeconds } from '@anneal/contracts/readers/duration.ts';
import type { Constraint, PropertySchema, PropertyType } from '@anneal/contracts/resource-type.ts';

type Options = Omit<PropertySchema, 'type' | 'schema'>;
type Properties = Readonly<Record<string, PropertySchema>>;

const of =
  (type: PropertyType) =>
  (options: Options = {}): PropertySchema => ({ type, ...options });

/** A property of text. */
export const string = of('String');
/** A property of an integer. */
export const integer = of('Integer');
/** A property of a number. */
export const number = of('Number');
/** A property of a boolean. */
export const boolean = of('Boolean');
/** A property of any map. */
export const map = of('Map');
/** A property of any list. */
export const list = of('List');

/** A map with these entries. */
export const mapOf = (schema: Properties, options: Options = {}): PropertySchema => ({
  type: 'Map',
  ...options,
  schema: { ...schema },
});
/** A list of such items. */
export const listOf = (item: PropertySchema, options: Options = {}): PropertySchema => ({
  type: 'List',
  ...options,
  schema: { '*': item },
});

/** A constraint of seconds to a length that a date can be after now. */
export const secondsFrom = (min: number): Constraint[] => [{ range: { min, max: mostSeconds } }];

/** A constraint to these values. */
export const oneOf = (...values: Json[]): Constraint[] => [{ allowed_values: values }];
/** Constraint by named check: the form of a value, or an object in a cloud. Offline, the second kind is not checked. */
export const checked = (name: string): Constraint[] => [{ custom_constraint: name }];
