/** The HTTP APIs and the messages between services as Markdown, from the OpenAPI and AsyncAPI documents. Pure. */
import { compatibleApis, asyncApiDocument, type ApiDocument } from './documents.ts';
import { generatedPage, table } from './markdown-table.ts';

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
  readonly examples?: readonly unknown[];
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

const madeFrom = (path: string): string => `Made from ${code(path)}, which the repository has.`;

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

/** The page of an API that is compatible with one of OpenStack. */
export function compatibleApiPage(
  { path: source, title, service, prefix, text, shows = '/' }: ApiDocument,
  document: OpenApiDocument,
): string {
  const isNamed = ({ name }: { name: string }): boolean => text.toLowerCase().includes(code(name.toLowerCase()));
  const shown = Object.entries(document.paths).filter(([path]) => path.startsWith(shows));
  const paths = mapValues(Object.fromEntries(shown), (methods) =>
    // The headers of every request are in the text of the page.
    mapValues(methods, (each) => ({ ...each, parameters: each.parameters.filter((parameter) => !isNamed(parameter)) })),
  );
  return generatedPage(
    title,
    madeFrom(source),
    `The API that is compatible with ${service} of OpenStack, as this server answers it: unmodified clients of ${service} use it. The same as a document for programs: ${code(`GET ${prefix}/openapi.json`)}. ${text} How to begin: [use the APIs](../tasks/use-the-apis.md). What ${service} does not have is in [Anneal's own API](http-api.md).`,
    ...sectionsOf({ ...document, paths }, prefix),
  );
}

/** The page of Anneal's own API. */
export function httpApiPage({ path, title, prefix, text }: ApiDocument, document: OpenApiDocument): string {
  return generatedPage(
    title,
    madeFrom(path),
    `Anneal's own API: each operation with its parameters, body and answers. The same as a document for programs: ${code(`GET ${prefix}/openapi.json`)}. ${text} The APIs of ${new Intl.ListFormat('en-GB').format(compatibleApis.map((api) => `[${api.service}](${api.page})`))} are those of OpenStack: see [use the APIs](../tasks/use-the-apis.md).`,
    ...sectionsOf(document, prefix),
  );
}

/** The part of the AsyncAPI document that its page shows. */
export interface AsyncApiDocument {
  readonly channels: Readonly<
    Record<
      string,
      { readonly address: string; readonly description?: string; readonly messages: Readonly<Record<string, unknown>> }
    >
  >;
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly name: string; readonly summary?: string }>>;
    readonly schemas: Readonly<Record<string, ApiSchema>>;
  };
}

/** The page of the questions and requests between services. Events have a page of their own. */
export function messagesPage({ channels, components: { messages, schemas } }: AsyncApiDocument): string {
  const listed = new Set<string>();
  const queues = Object.values(channels).filter(({ address }) => address.startsWith('anneal.'));
  const messageSection = (id: string): string => {
    const example = schemas[id]?.examples?.[0];
    return [
      `### ${messages[id]?.name ?? id}`,
      messages[id]?.summary ?? '',
      shape('Data', schemas[id]),
      shape('Answer', schemas[`${id}_answer`]),
      example === undefined ? '' : `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
    ]
      .filter((part) => part !== '')
      .join('\n\n');
  };
  const queueSections = queues.map(({ address, description = '', messages: taken }) => {
    const fresh = Object.keys(taken).filter((id) => !listed.has(id));
    const again = Object.keys(taken).filter((id) => listed.has(id));
    for (const id of fresh) listed.add(id);
    const others = again.map((id) => {
      const name = messages[id]?.name ?? id;
      return `[${name}](#${name.replaceAll('.', '')})`;
    });
    return [
      `## ${address}`,
      description,
      others.length === 0 ? '' : `Messages that stand above: ${others.join(', ')}.`,
      ...fresh.map(messageSection),
    ]
      .filter((part) => part !== '')
      .join('\n\n');
  });
  const isMessage = (name: string): boolean => messages[name] !== undefined;
  return generatedPage(
    'Messages',
    madeFrom(asyncApiDocument.path),
    'The questions and requests between services, by the queue that has them: each with its data and its answer. The envelope is a CloudEvent. The same as a document for programs, with queues and subjects: `GET /api/v1/asyncapi.json`. The JSON Schema of one message is at `/docs/schemas/TYPE.json` of a server. Events, which any program may receive: [events](events.md).',
    ...queueSections,
    [
      '## Schemas',
      ...schemaSections(Object.fromEntries(Object.entries(schemas).filter(([name]) => !isMessage(name)))),
    ].join('\n\n'),
  );
}
