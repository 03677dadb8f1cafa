/** The data of each event as Markdown, with an example, generated from the schemas. Pure. */
import type { Definition } from '@anneal/contracts/define.ts';
import { examples } from '@anneal/contracts/asyncapi/examples.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { jsonSchemaOf } from '@anneal/contracts/named-schemas.ts';

interface DataSchema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, DataSchema>>;
  readonly required?: readonly string[];
  readonly items?: DataSchema;
  readonly anyOf?: readonly DataSchema[];
}

const uuid = '0198c0de-5f1a-7cc2-9a51-3b0f6b1c2d3e';
const texts: Readonly<Record<string, string>> = {
  action: 'CREATE',
  status: 'COMPLETE',
  code: 'Unavailable',
  name: 'web',
  resource_name: 'server',
  resource_type: 'OS::Nova::Server',
  stack_name: 'web',
};

function exampleOf(schema: DataSchema, name: string): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return exampleOf(schema.anyOf[0] ?? {}, name);
  const [type] = [schema.type ?? []].flat();
  switch (type) {
    case 'string':
      if (schema.format === 'date-time') return '2030-01-01T00:00:00.000Z';
      return texts[name] ?? (/(?:^|_)id$|^traversal$|^token$/.test(name) ? uuid : `${name.replaceAll('_', ' ')} …`);
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'boolean':
      return false;
    case 'array':
      return [exampleOf(schema.items ?? {}, name)];
    case undefined:
    default:
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([key]) => schema.required?.includes(key))
          .map(([key, value]) => [key, exampleOf(value, key)]),
      );
  }
}

function kindOf(schema: DataSchema): string {
  if (schema.enum) return schema.enum.map((each) => `\`${String(each)}\``).join(', ');
  if (schema.anyOf) return schema.anyOf.map(kindOf).join(' or ');
  if ([schema.type].flat().includes('array')) return `list of ${kindOf(schema.items ?? {})}`;
  if (schema.format !== undefined) return schema.format;
  const types = [schema.type ?? []].flat();
  return types.length > 0 ? types.join(' or ') : 'any JSON';
}

const fieldLine = (name: string, schema: DataSchema, isRequired: boolean): string =>
  `- \`${name}\`: ${kindOf(schema)}${isRequired ? '' : ', optional'}${schema.description === undefined ? '' : `. ${schema.description}`}`;

/** The schema with its named parts in place of the references to them. No event data contains itself. */
function inlined(value: Json, parts: JsonObject): Json {
  if (Array.isArray(value)) return value.map((each) => inlined(each, parts));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = value;
  const named = typeof $ref === 'string' ? (parts[$ref.replace('#/$defs/', '')] as JsonObject) : {};
  return Object.fromEntries(Object.entries({ ...named, ...rest }).map(([key, each]) => [key, inlined(each, parts)]));
}

/**
 * A section for each form of data: its event types, its fields and an example.
 * @throws ZodError when an example does not fit its schema
 */
export function eventDataSections(events: readonly Definition[]): string[] {
  const forms = new Map<string, { schema: DataSchema; events: Definition[] }>();
  for (const event of events) {
    const { $defs = {}, ...data } = jsonSchemaOf(event.data, 'output');
    const schema = inlined(data, $defs as JsonObject) as DataSchema;
    const key = JSON.stringify(schema);
    const form = forms.get(key) ?? { schema, events: [] };
    form.events.push(event);
    forms.set(key, form);
  }
  return [...forms.values()].map(({ schema, events: same }) => {
    const [first] = same;
    if (!first) return '';
    const example = examples[first.type] ?? exampleOf(schema, '');
    first.data.parse(example);
    const fields = Object.entries(schema.properties ?? {}).map(([name, each]) =>
      fieldLine(name, each, schema.required?.includes(name) === true),
    );
    return [
      `## ${first.type}${same.length > 1 ? ` and ${same.length - 1} more` : ''}`,
      `Data of ${same.map(({ type }) => `\`${type}\``).join(', ')}:`,
      fields.join('\n'),
      `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
    ].join('\n\n');
  });
}
