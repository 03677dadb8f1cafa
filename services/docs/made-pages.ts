/** Makes of the documents for programs a page of each, and the JSON Schema of each message. Pure. */
import { parse } from 'yaml';
import {
  compatibleApiPage,
  httpApiPage,
  messagesPage,
  type AsyncApiDocument,
  type OpenApiDocument,
} from './api-pages.ts';
import { compatibleApis, asyncApiDocument, ownApi, pageOfDocument } from './documents.ts';

/** Paths from the root of the repository, with texts. */
type Texts = ReadonlyMap<string, string>;

/** @throws YAMLParseError for a document that cannot be read */
const read = (documents: Texts, path: string): unknown => parse(documents.get(path) ?? '');

/** The pages of the documents as Markdown. @param documents every document of `pageOfDocument` */
export function madePages(documents: Texts): Map<string, string> {
  const openApi = (path: string): OpenApiDocument => read(documents, path) as OpenApiDocument;
  const texts: [string, string][] = [
    [ownApi.path, httpApiPage(ownApi, openApi(ownApi.path))],
    ...compatibleApis.map((api): [string, string] => [api.path, compatibleApiPage(api, openApi(api.path))]),
    [asyncApiDocument.path, messagesPage(read(documents, asyncApiDocument.path) as AsyncApiDocument)],
  ];
  return new Map(texts.map(([path, text]) => [pageOfDocument.get(path) ?? path, text]));
}

const within = '#/components/schemas/';

/** The JSON Schema of the data of each message, complete in itself, by file name: `schemas/stack.create.json`. */
export function messageSchemas(documents: Texts): Map<string, string> {
  const { components } = read(documents, asyncApiDocument.path) as AsyncApiDocument;
  const files = Object.entries(components.messages).flatMap(([id, { name, summary }]): [string, string][] => {
    const schema = components.schemas[id];
    if (schema === undefined) return [];
    const parts = new Map<string, unknown>();
    const own = withParts(schema, components.schemas, parts);
    const about = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: name, description: summary };
    const $defs = parts.size > 0 ? Object.fromEntries(parts) : undefined;
    return [[`schemas/${name}.json`, `${JSON.stringify({ ...about, ...own, $defs }, null, 2)}\n`]];
  });
  return new Map(files);
}

/** The schema with references to `$defs`. Collects what it refers to. */
function withParts<T>(value: T, schemas: Readonly<Record<string, unknown>>, parts: Map<string, unknown>): T;
function withParts(value: unknown, schemas: Readonly<Record<string, unknown>>, parts: Map<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => withParts(each, schemas, parts));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]: [string, unknown]) => {
      if (key !== '$ref' || typeof each !== 'string' || !each.startsWith(within)) {
        return [key, withParts(each, schemas, parts)];
      }
      const name = each.slice(within.length);
      if (!parts.has(name)) {
        // Known before it is complete, because it may refer to itself.
        parts.set(name, {});
        parts.set(name, withParts(schemas[name], schemas, parts));
      }
      return [key, `#/$defs/${name}`];
    }),
  );
}
