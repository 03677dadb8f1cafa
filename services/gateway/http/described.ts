/**
 * The OpenAPI document of an API whose routes are registered one by one, as those that are compatible with OpenStack.
 *
 * D1 A route is described where it is registered, with the schemas that read its body and type its answer.
 * D2 The document lists the routes that the router has, so that it names no other address, and leaves none out except
 *    the HEAD of a GET.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { jsonSchemaOf, NamedSchemas } from '@anneal/contracts/named-schemas.ts';
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { fieldParameters, pathParameters } from './openapi-parameters.ts';

/** The entry of a route in the document. */
export interface Description {
  readonly summary: string;
  /** An object. Its fields are the query parameters. */
  readonly query?: z.ZodType;
  /** An object. Its fields are headers of the request. */
  readonly headers?: z.ZodType;
  readonly body?: z.ZodType;
  /** The type of the body; `application/json` when it is absent. */
  readonly bodyType?: string;
  readonly answer?: z.ZodType;
  /** The type of the answer; `application/json` when it is absent. */
  readonly answerType?: string;
  /** 200 with an answer and 204 without one, when it is absent. */
  readonly status?: number;
  /** Other answers that are no errors, by their status. Null: without a body. */
  readonly also?: Readonly<Record<number, z.ZodType | null>>;
  /** True for a route whose only answer is an error, because Anneal does not offer what a client looks for there. */
  readonly isRefusal?: true;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    described?: Description;
  }
}

/** The options of a route with a description, and with `config` for the hooks. */
export const described = (
  description: Description,
  config: Omit<FastifyContextConfig, 'described'> = {},
): { config: FastifyContextConfig } => ({ config: { ...config, described: description } });

interface Route {
  readonly method: string;
  /** `/v2/queues/{queue}`, below the prefix of the API. */
  readonly path: string;
  readonly isPublic: boolean;
  readonly description: Description | undefined;
}

export interface DocumentOptions {
  readonly title: string;
  readonly description: string;
  readonly version: string;
  /** The body of an error. */
  readonly error: z.ZodType;
  /** An object. Its fields are headers of each request to this address. */
  readonly headers?: (path: string) => z.ZodType | undefined;
}

/** Serves `openapi.json` below the prefix of the scope. Call it before the scope gets the routes of the API. */
export function serveDocument(scope: FastifyInstance, options: DocumentOptions): void {
  const { prefix } = scope;
  const routes: Route[] = [];
  let document: object | undefined;
  scope.get('/openapi.json', { config: { public: true } }, () => {
    document ??= documentOf(routes, { ...options, prefix });
    return document;
  });
  scope.addHook('onRoute', ({ method, url, config }) => {
    if (config?.isHeadOfGet) return;
    const path = url
      .slice(prefix.length)
      .replace(/\/$/, '')
      .replaceAll(/(?<!:):(\w+)/g, '{$1}');
    // OpenAPI has no parameter with slashes.
    if (path.includes('*')) return;
    const isPublic = config?.public === true;
    for (const each of [method].flat())
      routes.push({ method: each, path: path === '' ? '/' : path, isPublic, description: config?.described });
  });
}

/** @throws AnnealError Defect when routes have no description. */
function documentOf(
  routes: readonly Route[],
  { title, description, version, error, headers, prefix }: DocumentOptions & { prefix: string },
): object {
  const missing = routes.filter((route) => !route.description);
  if (missing.length > 0) {
    const names = missing.map(({ method, path }) => `${method} ${prefix}${path}`).join(', ');
    throw new AnnealError('Defect', `Routes without a description: ${names}.`);
  }
  const named = new NamedSchemas();
  const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): JsonObject => named.place(jsonSchemaOf(schema, io));
  const paths: Record<string, Record<string, object>> = {};
  for (const { method, path, isPublic, description: each } of routes) {
    if (!each) continue;
    const all = headers?.(path);
    const parameters = [
      ...pathParameters(path),
      ...(each.query ? fieldParameters(schemaOf(each.query, 'input'), 'query') : []),
      ...[all, each.headers].flatMap((fields) => (fields ? fieldParameters(schemaOf(fields, 'input'), 'header') : [])),
    ];
    (paths[path] ??= {})[method.toLowerCase()] = {
      summary: each.summary,
      operationId: idOf(method, path),
      ...(isPublic && { security: [] }),
      parameters,
      ...(each.body && {
        requestBody: {
          required: !each.body.safeParse(undefined).success,
          content: { [each.bodyType ?? 'application/json']: { schema: schemaOf(each.body, 'input') } },
        },
      }),
      responses: responsesOf(method, each, (schema) => schemaOf(schema, 'output')),
    };
  }
  const errorSchema = schemaOf(error, 'output');
  return {
    openapi: '3.1.0',
    info: { title, version, description },
    servers: [{ url: prefix }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Auth-Token' } },
      responses: {
        Error: { description: 'The error.', content: { 'application/json': { schema: errorSchema } } },
        // An answer to HEAD has no body.
        HeadError: { description: 'The error, without a body.' },
      },
      schemas: named.parts,
    },
  };
}

function responsesOf(
  method: string,
  { answer, answerType = 'application/json', status = answer ? 200 : 204, also = {}, isRefusal }: Description,
  schemaOf: (schema: z.ZodType) => JsonObject,
): object {
  const response = (schema: z.ZodType | null | undefined): object => ({
    description: schema ? 'Success.' : 'Done.',
    ...(schema && method !== 'HEAD' && { content: { [answerType]: { schema: schemaOf(schema) } } }),
  });
  return {
    ...(!isRefusal && { [status]: response(answer) }),
    ...Object.fromEntries(Object.entries(also).map(([code, schema]) => [code, response(schema)])),
    default: { $ref: `#/components/responses/${method === 'HEAD' ? 'HeadError' : 'Error'}` },
  };
}

/** `GET /v2/queues/{queue}` as `get_v2_queues_queue`, which is unique because the address is. */
const idOf = (method: string, path: string): string =>
  [method.toLowerCase(), ...path.split('/').slice(1)]
    .map((part) => part.replaceAll(/\W+/g, '_').replaceAll(/^_|_$/g, ''))
    .filter((part) => part !== '')
    .join('_');
