/**
 * A JSON Schema (draft 2020-12) of templates, for editors: sections, types with their properties, and a function
 * wherever one is allowed. It is looser than `validate`, which also knows the results of functions and the mappings of
 * a registry.
 */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Constraint, PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { functionRows } from '../functions/reference.ts';
import { aliases, versions } from '../syntax/version.ts';

const ref = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` });
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...more,
});
/** A section may be present and empty. */
const section = (values: JsonObject, description: string): JsonObject => ({
  description,
  type: ['object', 'null'],
  additionalProperties: values,
});
const text: JsonObject = { type: 'string' };
const orCall = (...schemas: JsonObject[]): JsonObject => ({ anyOf: [...schemas, ref('call')] });

/** A JSON Schema of templates with these types, for editors. */
export function templateSchema(types: readonly ResourceType[]): JsonObject {
  const sorted = types.toSorted((a, b) => (a.type < b.type ? -1 : 1));
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Heat orchestration template',
    ...object(
      {
        heat_template_version: {
          description: 'Version of the template language: the functions that the template may use',
          enum: versionNames,
        },
        description: text,
        parameter_groups: { type: ['array', 'null'], items: ref('parameter_group') },
        parameters: section(ref('parameter'), 'Inputs of the stack'),
        conditions: { type: 'object', additionalProperties: ref('condition') },
        resources: section(ref('resource'), 'Resources of the stack'),
        outputs: section(ref('output'), 'Outputs of the stack'),
      },
      { required: ['heat_template_version'] },
    ),
    $defs: {
      parameter_group: object(
        { label: text, description: text, parameters: { type: 'array', items: text } },
        { required: ['parameters'] },
      ),
      parameter: parameterSchema,
      constraint: constraintSchema,
      value: { anyOf: [ref('call'), { type: ['string', 'number', 'boolean', 'null'] }, ref('list'), ref('map')] },
      list: { type: 'array', items: ref('value') },
      map: { type: 'object', additionalProperties: ref('value') },
      call: callSchema(),
      condition: { anyOf: [text, { type: 'boolean' }, conditionSchema()] },
      output: {
        type: 'object',
        properties: { value: ref('value'), description: text, condition: ref('condition') },
        required: ['value'],
      },
      resource: resourceSchema(sorted),
      ...Object.fromEntries(sorted.map((type) => [type.type, typeSchema(type)])),
    },
  };
}

const versionNames = [...versions, ...Object.keys(aliases)];

const parameterSchema: JsonObject = object(
  {
    type: { enum: ['string', 'number', 'boolean', 'comma_delimited_list', 'json'] },
    label: text,
    description: text,
    default: true,
    hidden: { type: ['boolean', 'string'] },
    constraints: { type: 'array', items: ref('constraint') },
    immutable: { type: ['boolean', 'string'] },
    tags: { type: 'array', items: text },
    schema: true,
  },
  { required: ['type'] },
);

const bounds: JsonObject = object(
  { min: { type: ['number', 'string'] }, max: { type: ['number', 'string'] } },
  { minProperties: 1 },
);
const constraintSchema: JsonObject = object(
  {
    length: bounds,
    range: bounds,
    modulo: object({ step: { type: 'number' }, offset: { type: 'number' } }),
    allowed_values: { type: 'array' },
    allowed_pattern: text,
    custom_constraint: text,
    description: text,
  },
  { minProperties: 1, maxProperties: 2 },
);

/** A map with one key, which names a function. */
function calls(rows: typeof functionRows, argument: (name: string) => JsonObject): JsonObject {
  const properties = rows.map(({ name, since, until, takes, oddities }): [string, JsonObject] => {
    const span = until === undefined ? `since ${since}` : `${since} until ${until}`;
    return [name, { description: [`Takes ${takes} (${span}).`, ...oddities].join('\n- '), ...argument(name) }];
  });
  return object(Object.fromEntries(properties), { minProperties: 1, maxProperties: 1 });
}

const callSchema = (): JsonObject => {
  const rows = functionRows.filter(({ stands }) => stands !== 'conditions');
  return calls(rows, (name) => argumentSchemas[name] ?? ref('value'));
};
const conditionSchema = (): JsonObject => {
  const rows = functionRows.filter(({ stands }) => stands !== 'values');
  return calls(rows, (name) => conditionArguments[name] ?? argumentSchemas[name] ?? ref('value'));
};

const many = (least: number, items: JsonObject, most?: number): JsonObject => ({
  type: 'array',
  minItems: least,
  ...(most !== undefined && { maxItems: most }),
  items,
});
const replacing = object(
  { template: ref('value'), params: ref('value') },
  { required: ['template', 'params'], additionalProperties: true },
);
/** Schemas of arguments that always have the same form. Other arguments may be any value. */
const argumentSchemas: Readonly<Record<string, JsonObject>> = {
  get_attr: orCall(text, many(1, ref('value'))),
  get_context: orCall(text, many(1, ref('value'))),
  get_param: orCall(text, many(1, ref('value'))),
  get_resource: orCall(text),
  get_file: orCall(text),
  if: {
    type: 'array',
    minItems: 2,
    maxItems: 3,
    prefixItems: [ref('condition')],
    items: ref('value'),
  },
  str_replace: orCall(replacing),
  str_replace_strict: orCall(replacing),
  str_replace_vstrict: orCall(replacing),
  list_join: orCall(many(2, ref('value'))),
  str_split: orCall(many(2, ref('value'), 3)),
  digest: orCall(many(2, ref('value'), 2)),
  contains: orCall(many(2, ref('value'), 2)),
  filter: orCall(many(2, ref('value'), 2)),
  map_replace: orCall(many(2, ref('value'), 2)),
  resource_facade: { enum: ['metadata', 'deletion_policy', 'update_policy'] },
  repeat: object(
    { template: ref('value'), for_each: ref('value'), permutations: { type: 'boolean' } },
    { required: ['template', 'for_each'], additionalProperties: true },
  ),
  yaql: object({ expression: orCall(text), data: ref('value') }, { required: ['expression'] }),
};
const conditionArguments: Readonly<Record<string, JsonObject>> = {
  not: ref('condition'),
  and: many(2, ref('condition')),
  or: many(2, ref('condition')),
  equals: many(2, { anyOf: [ref('condition'), ref('value')] }, 2),
};

function resourceSchema(types: readonly ResourceType[]): JsonObject {
  return object(
    {
      // The type may also be a file, or a name that an environment maps.
      type: { anyOf: [{ enum: types.map(({ type }) => type) }, text], description: 'Resource type' },
      properties: { type: ['object', 'null'] },
      metadata: { type: ['object', 'null'] },
      depends_on: { anyOf: [text, { type: 'array', items: text }, { type: 'null' }] },
      update_policy: { type: ['object', 'null'] },
      deletion_policy: orCall({ enum: ['Delete', 'Retain', 'Snapshot', 'delete', 'retain', 'snapshot'] }),
      description: text,
      external_id: ref('value'),
      condition: ref('condition'),
    },
    {
      required: ['type'],
      allOf: types.map(({ type }) => ({
        if: { properties: { type: { const: type } }, required: ['type'] },
        // oxlint-disable-next-line unicorn/no-thenable -- the keyword of JSON Schema
        then: { properties: { properties: { anyOf: [ref(type), ref('call'), { type: 'null' }] } } },
      })),
    },
  );
}

function typeSchema({ description, properties, open_properties: isOpen }: ResourceType): JsonObject {
  const required = Object.entries(properties).flatMap(([name, property]) => (property.required ? [name] : []));
  return object(propertySchemas(properties), {
    ...(description !== undefined && { description }),
    ...(required.length > 0 && { required }),
    ...(isOpen && { additionalProperties: true }),
  });
}

const propertySchemas = (properties: Readonly<Record<string, PropertySchema>>): JsonObject =>
  Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, propertyValue(property)]));

function propertyValue(property: PropertySchema): JsonObject {
  const { description, default: fallback, required, update_allowed: updates } = property;
  const more = [
    ...(required ? ['Required.'] : []),
    updates ? 'A change updates in place.' : 'A change replaces the resource.',
  ];
  return {
    description: [...(description === undefined ? [] : [description]), more.join(' ')].join('\n'),
    ...(fallback !== undefined && { default: fallback }),
    anyOf: [...written(property), { type: 'null' }, ref('call')],
  };
}

/** The literal values that a property of this type accepts, including those that are converted. */
function written({ type, schema, constraints = [] }: PropertySchema): JsonObject[] {
  const values = constraints.find(({ allowed_values: allowed }) => allowed)?.allowed_values;
  if (values && type !== 'List' && type !== 'Map') return [{ enum: [...values] }];
  switch (type) {
    case 'String':
      return [{ type: ['string', 'integer', 'boolean'], ...lengths(constraints, 'Length') }];
    case 'Integer':
    case 'Number':
      return [
        { type: 'number', ...range(constraints) },
        { type: 'string', pattern: '^\\s*[-+]?[0-9]' },
      ];
    case 'Boolean':
      return [{ type: 'boolean' }, { type: 'string', pattern: '^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$' }];
    case 'List':
      return [
        {
          type: 'array',
          ...lengths(constraints, 'Items'),
          items: schema?.['*'] ? propertyValue(schema['*']) : ref('value'),
        },
      ];
    case 'Map':
      return [mapSchema(schema)];
    case 'Any':
      return [ref('value')];
  }
}

function mapSchema(schema: PropertySchema['schema']): JsonObject {
  if (!schema) return ref('map');
  const { '*': each, ...named } = schema;
  return object(propertySchemas(named), each ? { additionalProperties: propertyValue(each) } : {});
}

function lengths(constraints: readonly Constraint[], of: 'Length' | 'Items'): JsonObject {
  const length = constraints.find((constraint) => constraint.length)?.length;
  return {
    ...(length?.min !== undefined && { [`min${of}`]: length.min }),
    ...(length?.max !== undefined && { [`max${of}`]: length.max }),
  };
}

function range(constraints: readonly Constraint[]): JsonObject {
  const bound = constraints.find((constraint) => constraint.range)?.range;
  return {
    ...(bound?.min !== undefined && { minimum: bound.min }),
    ...(bound?.max !== undefined && { maximum: bound.max }),
  };
}
