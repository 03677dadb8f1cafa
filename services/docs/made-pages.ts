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

/** The documents, by their paths from the root of the repository. */
export interface Documents {
  readonly openApi: ReadonlyMap<string, OpenApiDocument>;
  readonly asyncApi: AsyncApiDocument;
}

/** Reads the texts of all documents of `pageOfDocument`. @throws YAMLParseError for one that cannot be read */
export function readDocuments(texts: ReadonlyMap<string, string>): Documents {
  const read = (path: string): unknown => parse(texts.get(path) ?? '');
  return {
    openApi: new Map([ownApi, ...compatibleApis].map(({ path }) => [path, read(path) as OpenApiDocument])),
    asyncApi: read(asyncApiDocument.path) as AsyncApiDocument,
  };
}

/** The page of each document as Markdown. */
export function madePages({ openApi, asyncApi }: Documents): Map<string, string> {
  const of = (path: string, text: string): [string, string] => [pageOfDocument.get(path) ?? path, text];
  const apis = [...openApi].map(([path, document]) => {
    const api = compatibleApis.find((each) => each.path === path);
    return of(path, api ? compatibleApiPage(api, document) : httpApiPage(ownApi, document));
  });
  return new Map([...apis, of(asyncApiDocument.path, messagesPage(asyncApi))]);
}

const within = '#/components/schemas/';

/** The JSON Schema of the data of each message, complete in itself, by file name: `schemas/stack.create.json`. */
export function messageSchemas({ asyncApi: { components } }: Documents): Map<string, string> {
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
