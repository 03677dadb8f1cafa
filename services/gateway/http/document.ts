/**
 * The OpenAPI document of an API, from its routes (`route.ts`).
 *
 * D1 The document lists the routes that the router has, so that it names no other address, and leaves none out except
 *    the HEAD of a GET, and routes that a declaration hides.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { jsonSchemaOf, NamedSchemas } from '@anneal/contracts/named-schemas.ts';
import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { fieldParameters, pathParameters } from './openapi-parameters.ts';
import type { RouteFacts } from './route.ts';

/** A route of the document. */
interface Listed {
  readonly method: string;
  /** `/v2/queues/{queue}`, below the prefix of the API. */
  readonly path: string;
  readonly isPublic: boolean;
  readonly facts: RouteFacts | undefined;
  readonly hasEntityTag: boolean;
}

/** The facts of an API as a whole. */
export interface DocumentOptions {
  readonly title: string;
  readonly description: string;
  readonly version: string;
  /** The body of an error. */
  readonly error: z.ZodType;
  /** The type of the body of an error; `application/json` when it is absent. */
  readonly errorType?: string;
  /** An object. Its fields are headers of each request to this address. */
  readonly headers?: (path: string) => z.ZodType | undefined;
  /** An object. Its fields are headers of each POST that needs a token. */
  readonly postHeaders?: z.ZodType;
  /** The name of an operation; made of its method and address when it is absent. */
  readonly operationId?: (method: string, path: string) => string;
  /** True for an API whose answers to GET have an `ETag`. */
  readonly hasEntityTags?: boolean;
}

/** Serves `openapi.json` below the prefix of the scope. Call it before the scope gets the routes of the API. */
export function serveDocument(scope: FastifyInstance, options: DocumentOptions): void {
  const { prefix } = scope;
  const routes: Listed[] = [];
  let document: object | undefined;
  scope.get('/openapi.json', { config: { public: true } }, () => {
    document ??= documentOf(routes, { ...options, prefix });
    return document;
  });
  scope.addHook('onRoute', ({ method, url, config }) => {
    if (config?.isHeadOfGet || config?.declared?.isHidden) return;
    const path = url
      .slice(prefix.length)
      .replace(/\/$/, '')
      .replaceAll(/(?<!:):(\w+)/g, '{$1}');
    // OpenAPI has no parameter with slashes.
    if (path.includes('*')) return;
    const isPublic = config?.public === true;
    const facts = config?.declared;
    for (const each of [method].flat()) {
      const hasEntityTag =
        options.hasEntityTags === true && facts?.answer !== undefined && !facts.stream && !config?.sensitive;
      routes.push({
        method: each,
        path: path === '' ? '/' : path,
        isPublic,
        facts,
        hasEntityTag: hasEntityTag && each === 'GET',
      });
    }
  });
}

/** The first word of an address that is neither a version nor a parameter: all its operations have this tag. */
const tagOf = (path: string): string =>
  path.split('/').find((part) => part !== '' && !/^v\d|^\{/.test(part)) ?? 'versions';

/** @throws AnnealError Defect when routes have no declaration. */
function documentOf(routes: readonly Listed[], options: DocumentOptions & { prefix: string }): object {
  const { title, description, version, error, errorType = 'application/json', headers, postHeaders, prefix } = options;
  const missing = routes.filter(({ facts }) => !facts);
  if (missing.length > 0) {
    const names = missing.map(({ method, path }) => `${method} ${prefix}${path}`).join(', ');
    throw new AnnealError('Defect', `Routes without a declaration: ${names}.`);
  }
  const named = new NamedSchemas();
  const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): JsonObject => named.place(jsonSchemaOf(schema, io));
  const operationId = options.operationId ?? idOf;
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const { method, path, isPublic, facts } = route;
    if (!facts) continue;
    const all = headers?.(path);
    const parameters = [
      ...pathParameters(path),
      ...(facts.query ? fieldParameters(schemaOf(facts.query, 'input'), 'query') : []),
      ...[all, method === 'POST' && !isPublic ? postHeaders : undefined, facts.headers].flatMap((fields) =>
        fields ? fieldParameters(schemaOf(fields, 'input'), 'header') : [],
      ),
    ];
    (paths[path] ??= {})[method.toLowerCase()] = {
      summary: facts.summary,
      operationId: operationId(method, path),
      tags: [tagOf(path)],
      ...(isPublic && { security: [] }),
      parameters,
      ...requestBodyOf(facts, (schema) => schemaOf(schema, 'input')),
      responses: responsesOf(route, (schema) => schemaOf(schema, 'output')),
    };
  }
  const errorSchema = schemaOf(error, 'output');
  const content = { [errorType]: { schema: errorSchema } };
  return {
    openapi: '3.1.0',
    info: { title, version, description },
    servers: [{ url: prefix }],
    security: [{ token: [] }],
    tags: [...new Set(routes.map(({ path }) => tagOf(path)))].sort().map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Auth-Token' } },
      ...(options.hasEntityTags && { headers: { ETag: entityTag } }),
      responses: {
        ...Object.fromEntries(
          Object.values(refusals).map(([name, meaning]) => [name, { description: meaning, content }] as const),
        ),
        Error: { description: 'The error.', content },
        // An answer to HEAD has no body.
        HeadError: { description: 'The error, without a body.' },
        ...(options.hasEntityTags && { NotModified: notModified }),
      },
      schemas: named.parts,
    },
  };
}

const bytesType = 'application/octet-stream';

function requestBodyOf(
  { body, bodyType = 'application/json', upload }: RouteFacts,
  schemaOf: (schema: z.ZodType) => JsonObject,
): object {
  if (upload === true) return { requestBody: { required: true, content: { [bytesType]: {} } } };
  if (!body) return {};
  // An absent body is read as an empty object (`input.ts`).
  const required = ![undefined, {}].some((absent) => body.safeParse(absent).success);
  return { requestBody: { required, content: { [bodyType]: { schema: schemaOf(body) } } } };
}

/** The errors that a client can expect, each with the name of its answer and its meaning. */
const refusals: Readonly<Record<number, readonly [name: string, meaning: string]>> = {
  400: ['InvalidRequest', 'A parameter or the body is not valid. The error names every mistake.'],
  401: ['Unauthorized', 'The request has no token, or its token is not valid any more.'],
  403: ['Forbidden', 'The caller may not do this.'],
  404: ['NotFound', 'The address names an object that does not exist, or that the caller may not see.'],
  409: ['Conflict', 'The state of the object does not allow this now.'],
  413: ['TooLarge', 'The body is larger than the limit that the error names.'],
  429: ['TooManyRequests', 'The caller sends too many requests. `Retry-After` says when to try again.'],
};

/** Whether a route can answer with this error. */
function mayRefuse(status: number, { method, path, isPublic, facts }: Listed): boolean {
  const reads = method === 'GET' || method === 'HEAD';
  const hasBody = facts?.body !== undefined || facts?.upload === true;
  if (status === 400) return hasBody || facts?.query !== undefined || facts?.headers !== undefined;
  if (status === 401 || status === 403) return !isPublic;
  if (status === 404) return path.includes('{');
  if (status === 409) return !reads;
  if (status === 413) return hasBody;
  return true;
}

function responsesOf(route: Listed, schemaOf: (schema: z.ZodType) => JsonObject): object {
  const { method, facts, hasEntityTag } = route;
  if (!facts) return {};
  const { answer, answerType = 'application/json', status = answer ? 200 : 204, also = {}, isRefusal, stream } = facts;
  const isHead = method === 'HEAD';
  // Bytes and streams have no schema: OpenAPI 3.1 has one for a whole answer only, and not for each event.
  const contentOf = (schema: z.ZodType): object => ({
    ...(answerType === bytesType
      ? { [bytesType]: {} }
      : stream !== 'only' && { [answerType]: { schema: schemaOf(schema) } }),
    ...(stream && { 'text/event-stream': {} }),
  });
  const response = (schema: z.ZodType | null | undefined): object => ({
    description: schema ? 'Success.' : 'Done.',
    ...(hasEntityTag && { headers: { ETag: { $ref: '#/components/headers/ETag' } } }),
    ...(schema && !isHead && { content: contentOf(schema) }),
  });
  const refused = Object.entries(refusals).filter(([code]) => !isHead && mayRefuse(Number(code), route));
  return {
    ...(!isRefusal && { [status]: response(answer) }),
    ...Object.fromEntries(Object.entries(also).map(([code, schema]) => [code, response(schema)])),
    ...(hasEntityTag && { 304: { $ref: '#/components/responses/NotModified' } }),
    ...Object.fromEntries(refused.map(([code, [name]]) => [code, { $ref: `#/components/responses/${name}` }] as const)),
    default: { $ref: `#/components/responses/${isHead ? 'HeadError' : 'Error'}` },
  };
}

const entityTag = {
  description: 'A tag of these bytes, for `If-None-Match`.',
  schema: { type: 'string' },
};

const notModified = {
  description: 'The answer is still the one with the tag in `If-None-Match`.',
  headers: { ETag: { $ref: '#/components/headers/ETag' } },
};

/** `GET /v2/queues/{queue}` as `get_v2_queues_queue`, which is unique because the address is. */
const idOf = (method: string, path: string): string =>
  [method.toLowerCase(), ...path.split('/').slice(1)]
    .map((part) => part.replaceAll(/\W+/g, '_').replaceAll(/^_|_$/g, ''))
    .filter((part) => part !== '')
    .join('_');
