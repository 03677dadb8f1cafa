/**
 * Generates a template that wraps a resource type: its properties become parameters, and its attributes become outputs.
 * Users can build their own resource type from it. Pure.
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Constraint, PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';

const hotTypes: Readonly<Record<PropertySchema['type'], string>> = {
  String: 'string',
  Integer: 'number',
  Number: 'number',
  Boolean: 'boolean',
  Map: 'json',
  List: 'comma_delimited_list',
  Any: 'json',
};

export function hotTemplateOf(type: ResourceType): JsonObject {
  const names = Object.keys(type.properties);
  return {
    heat_template_version: '2016-10-14',
    description: `Initial template of ${shortName(type)}`,
    parameters: mapValues(type.properties, hotParameter),
    resources: {
      [shortName(type)]: {
        type: type.type,
        properties: Object.fromEntries(names.map((name) => [name, { get_param: name }])),
      },
    },
    outputs: outputsOf(type, (name) => ({ get_attr: [shortName(type), name] })),
  };
}

/** The template in the older CFN form. It is Heat's default answer, although it cannot be deployed here. */
export function cfnTemplateOf(type: ResourceType): JsonObject {
  return {
    HeatTemplateFormatVersion: '2012-12-12',
    Description: `Initial template of ${shortName(type)}`,
    Parameters: mapValues(type.properties, cfnParameter),
    Resources: {
      [shortName(type)]: {
        Type: type.type,
        Properties: mapValues(type.properties, ({ type: kind }, name) =>
          kind === 'List' ? { 'Fn::Split': [',', { Ref: name }] } : { Ref: name },
        ),
      },
    },
    Outputs: Object.fromEntries(
      Object.entries(outputsOf(type, (name) => ({ 'Fn::GetAtt': [shortName(type), name] }))).map(([name, output]) => {
        const { description, value } = output as { description?: Json; value: Json };
        return [name, { ...(description !== undefined && { Description: description }), Value: value }];
      }),
    ),
  };
}

const shortName = ({ type }: ResourceType): string => type.split('::').at(-1) ?? type;

function hotParameter({ type, description, required, constraints, ...schema }: PropertySchema): JsonObject {
  return {
    type: hotTypes[type],
    ...(description !== undefined && { description }),
    ...(!required && { default: defaultOf(type, schema.default) }),
    ...(constraints && constraints.length > 0 && { constraints: constraints.map(plainConstraint) }),
  };
}

function cfnParameter({ type, description, required, constraints, ...schema }: PropertySchema): JsonObject {
  const cfnTypes = { Integer: 'Number', Number: 'Number', Boolean: 'Boolean', List: 'CommaDelimitedList' } as const;
  const allowed = constraints?.find(({ allowed_values }) => allowed_values)?.allowed_values;
  return {
    Type: type === 'Map' || type === 'Any' ? 'Json' : type === 'String' ? 'String' : cfnTypes[type],
    ...(description !== undefined && { Description: description }),
    ...(!required && { Default: defaultOf(type, schema.default) }),
    ...(allowed && { AllowedValues: allowed }),
  };
}

/** The default of a parameter. A parameter without a default is required, so every optional property needs one. */
function defaultOf(type: PropertySchema['type'], value: Json | undefined): Json {
  if (value !== undefined) return value;
  const empty: Partial<Record<PropertySchema['type'], Json>> = { Map: {}, List: [], Boolean: false };
  return empty[type] ?? '';
}

const plainConstraint = (constraint: Constraint): JsonObject => JSON.parse(JSON.stringify(constraint)) as JsonObject;

function outputsOf(type: ResourceType, read: (attribute: string) => Json): JsonObject {
  return mapValues(
    { ...type.attributes, show: { description: 'Detailed information about resource.' } },
    (attribute, name) => ({
      ...(attribute.description !== undefined && { description: attribute.description }),
      value: read(name),
    }),
  );
}

const mapValues = <T>(record: Readonly<Record<string, T>>, change: (value: T, key: string) => Json): JsonObject =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
