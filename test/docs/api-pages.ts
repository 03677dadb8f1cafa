/** The HTTP API and the messages between services as Markdown, from the OpenAPI and AsyncAPI documents. Pure. */
import { examples } from '@anneal/contracts/asyncapi/examples.ts';
import type { Definition } from '@anneal/contracts/define.ts';
import { answerType } from '@anneal/contracts/envelope.ts';
import { page, table } from './markdown-table.ts';

/** The part of JSON Schema that both documents use. */
interface ApiSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, ApiSchema>>;
  readonly required?: readonly string[];
  readonly items?: ApiSchema;
  readonly additionalProperties?: ApiSchema | boolean;
  readonly anyOf?: readonly ApiSchema[];
  readonly oneOf?: readonly ApiSchema[];
  readonly allOf?: readonly ApiSchema[];
}

interface ApiOperation {
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security?: readonly unknown[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: ApiSchema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: ApiSchema }>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: ApiSchema }>> }>
  >;
}

/** The part of an OpenAPI document that its page shows. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, ApiSchema>> };
}

/** The pages of the APIs that are compatible with OpenStack. */
export const compatiblePages = [
  {
    file: 'heat-api.md',
    title: "Heat's API",
    service: 'Heat',
    prefix: '/orchestration',
    text: 'A request needs the header `X-Auth-Token`. The project in the address is its id.',
  },
  {
    file: 'zaqar-api.md',
    title: "Zaqar's API",
    service: 'Zaqar',
    prefix: '/messaging',
    text: 'This page shows version 2; the document has versions 1.1 and 1, too. A request needs the headers `X-Auth-Token` and `Client-ID`. Each address is also served without `/messaging`.',
    shows: '/v2/',
  },
  {
    file: 'keystone-api.md',
    title: "Keystone's API",
    service: 'Keystone',
    prefix: '/identity',
    text: 'A request needs the header `X-Auth-Token`, except a login.',
  },
  {
    file: 'ironic-api.md',
    title: "Ironic's API",
    service: 'Ironic',
    prefix: '/baremetal',
    text: 'A request needs the header `X-Auth-Token`. It asks for a version of the API in the header `X-OpenStack-Ironic-API-Version`, which decides about the fields that an answer has.',
  },
  {
    file: 'mistral-api.md',
    title: "Mistral's API",
    service: 'Mistral',
    prefix: '/workflow',
    text: 'A request needs the header `X-Auth-Token`. Any field of the rows of a list is a filter: `state=ERROR`, or with an operator: `state=neq:ERROR`, `in:A,B`, `nin:A,B`, `has:TEXT`.',
  },
  {
    file: 'glance-api.md',
    title: "Glance's API",
    service: 'Glance',
    prefix: '/image',
    text: 'A request needs the header `X-Auth-Token`. Every project may use every image; only operators change them.',
  },
] as const;

const code = (text: string): string => `\`${text}\``;
const nameOf = (reference: string): string => reference.split('/').at(-1) ?? '';
const variantsOf = ({ anyOf, oneOf }: ApiSchema): readonly ApiSchema[] => anyOf ?? oneOf ?? [];

/** The kind of a value in words; a named schema is a link to its section. */
function kindOf(schema: ApiSchema): string {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref);
    return `[${name}](#schema-${name.toLowerCase()})`;
  }
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum) return schema.enum.map((each) => code(String(each))).join(', ');
  const variants = variantsOf(schema);
  if (variants.length > 0) return [...new Set(variants.map(kindOf))].join(' or ');
  if (schema.allOf) return schema.allOf.map(kindOf).join(' with ');
  const types = [schema.type ?? []].flat();
  if (types.includes('array')) return `list of ${kindOf(schema.items ?? {})}`;
  if (schema.format !== undefined) return schema.format;
  return types.length === 0 ? 'any JSON' : types.join(' or ');
}

const isObject = ({ properties }: ApiSchema): boolean => Object.keys(properties ?? {}).length > 0;

/** A field and the fields below it, by path; `[]` marks the items of a list. */
function fieldRows(schema: ApiSchema, before = ''): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${before}${name}`;
    const item = field.items;
    return [
      [
        code(path),
        kindOf(field),
        schema.required?.includes(name) === true ? 'yes' : '',
        [field.description, field.default === undefined ? undefined : `Default ${code(JSON.stringify(field.default))}.`]
          .filter((text) => text !== undefined)
          .join(' '),
      ],
      ...fieldRows(field, `${path}.`),
      ...(item ? fieldRows(item, `${path}[].`) : []),
    ];
  });
}

const fieldTable = (schema: ApiSchema): string => table(['field', 'value', 'required', 'meaning'], fieldRows(schema));

/** A schema as a table of its fields, one table for each variant, or its kind in words. */
function shape(title: string, schema: ApiSchema | undefined): string {
  if (!schema) return '';
  const variants = variantsOf(schema).filter(isObject);
  if (variants.length > 1) {
    return [`${title}, one of these:`, ...variants.map(fieldTable)].join('\n\n');
  }
  const [only = schema] = variants;
  return isObject(only) ? `${title}:\n\n${fieldTable(only)}` : `${title}: ${kindOf(schema)}.`;
}

const schemaSections = (schemas: Readonly<Record<string, ApiSchema>>): string[] =>
  Object.entries(schemas).map(([name, schema]) =>
    [`### Schema ${name}`, schema.description ?? '', shape('Fields', schema)]
      .filter((text) => text !== '')
      .join('\n\n'),
  );

function operationSection(title: string, operation: ApiOperation): string {
  const { parameters, requestBody, responses, summary } = operation;
  const [status, answer] = Object.entries(responses).find(([each]) => Number(each) < 400) ?? [];
  const schema = Object.values(answer?.content ?? {})[0]?.schema;
  return [
    `### ${title}`,
    summary,
    operation.security?.length === 0 && !summary.includes('Needs no token') ? 'Needs no token.' : '',
    parameters.length === 0
      ? ''
      : table(
          ['parameter', 'in', 'value', 'required', 'meaning'],
          parameters.map((each) => [
            code(each.name),
            each.in,
            kindOf(each.schema),
            each.required ? 'yes' : '',
            each.schema.description ?? '',
          ]),
        ),
    shape('Body', Object.values(requestBody?.content ?? {})[0]?.schema),
    status === undefined
      ? 'The answer is an error.'
      : schema
        ? shape(`Answer ${code(status)}`, schema)
        : `Answer ${code(status)}, without a body.`,
    answer?.content?.['text/event-stream'] ? 'With `Accept: text/event-stream` the answer is a stream of events.' : '',
  ]
    .filter((text) => text !== '')
    .join('\n\n');
}

const mapValues = <T>(record: Readonly<Record<string, T>>, change: (value: T) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));

/** The operations by their tags, and the schemas. */
function sectionsOf(document: OpenApiDocument, prefix: string): string[] {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const groups = Map.groupBy(operations, ({ operation }) => operation.tags[0] ?? '');
  return [
    ...[...groups].map(([group, same]) =>
      [
        `## ${group}`,
        ...same.map(({ path, method, operation }) => operationSection(`${method} ${prefix}${path}`, operation)),
      ].join('\n\n'),
    ),
    ['## Schemas', ...schemaSections(document.components.schemas)].join('\n\n'),
  ];
}

/** @param document the OpenAPI document of an API that is compatible with `service` of OpenStack, below `prefix` */
export function compatibleApiPage(
  { title, service, text }: { title: string; service: string; text: string },
  document: OpenApiDocument,
  prefix: string,
): string {
  const isNamed = ({ name }: { name: string }): boolean => text.toLowerCase().includes(code(name.toLowerCase()));
  const paths = mapValues(document.paths, (methods) =>
    // The headers of every request are in the text of the page.
    mapValues(methods, (each) => ({ ...each, parameters: each.parameters.filter((parameter) => !isNamed(parameter)) })),
  );
  return page(
    title,
    `The API that is compatible with ${service} of OpenStack, as this server answers it: unmodified clients of ${service} use it. The same as a document for programs: ${code(`GET ${prefix}/openapi.json`)}. ${text} How to begin: [use the APIs](../tasks/use-the-apis.md). What ${service} does not have is in [Anneal's own API](http-api.md).`,
    ...sectionsOf({ ...document, paths }, prefix),
  );
}

/** @param document the OpenAPI document of Anneal's own API, below `prefix` */
export function httpApiPage(document: OpenApiDocument, prefix: string): string {
  return page(
    'HTTP API',
    `Anneal's own API: each operation with its parameters, body and answers. The same as a document for programs: ${code(`GET ${prefix}/openapi.json`)}. A request needs the header \`X-Auth-Token\`. A refused request has the status and the code of its [error](errors.md), and a body as in [Error](#schema-error). A long answer is compressed by \`Accept-Encoding\`; a GET with an \`ETag\` may also be a HEAD, and answers 304 to \`If-None-Match\` without a change. The APIs of ${new Intl.ListFormat('en-GB').format(compatiblePages.map(({ file, service }) => `[${service}](${file})`))} are those of OpenStack: see [use the APIs](../tasks/use-the-apis.md).`,
    ...sectionsOf(document, prefix),
  );
}

const idOf = (type: string): string => type.replaceAll(/[^A-Za-z0-9]/g, '_');

/**
 * @param schemas the schemas of the AsyncAPI document, by name
 * @param byFile the definitions of all messages by the service that answers them
 */
export function messagesPage(
  schemas: Readonly<Record<string, ApiSchema>>,
  byFile: Readonly<Record<string, readonly Definition[]>>,
): string {
  const all = Object.values(byFile).flat();
  const ids = new Set(all.flatMap(({ type }) => [idOf(type), idOf(answerType(type))]));
  const groups = Object.entries(byFile)
    .map(([file, definitions]) => [file, definitions.filter(({ kind }) => kind !== 'event')] as const)
    .filter(([, definitions]) => definitions.length > 0);
  return page(
    'Messages',
    'The questions and requests between services, by the service that takes them: each with its data and its answer. The envelope is a CloudEvent. The same as a document for programs, with queues and subjects: [asyncapi.yaml](../../asyncapi.yaml) and `GET /api/v1/asyncapi.json`. Events, which any program may receive: [events](events.md).',
    ...groups.map(([file, definitions]) =>
      [
        `## ${file}`,
        ...definitions.map((definition) => {
          const example = examples[definition.type];
          return [
            `### ${definition.type}`,
            definition.description,
            shape('Data', schemas[idOf(definition.type)]),
            definition.kind === 'call' ? shape('Answer', schemas[idOf(answerType(definition.type))]) : '',
            example === undefined ? '' : `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
          ]
            .filter((text) => text !== '')
            .join('\n\n');
        }),
      ].join('\n\n'),
    ),
    [
      '## Schemas',
      ...schemaSections(Object.fromEntries(Object.entries(schemas).filter(([name]) => !ids.has(name)))),
    ].join('\n\n'),
  );
}
