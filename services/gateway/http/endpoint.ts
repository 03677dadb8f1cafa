/**
 * A route of our own API: declared once, served by fastify and described in the OpenAPI document from the same schemas.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { jsonSchemaOf, NamedSchemas } from '@anneal/contracts/named-schemas.ts';
import { z } from 'zod';
import { problemDetailsType } from './problem-details.ts';
import { parseField, uploadScope } from './body.ts';
import { fieldParameters, pathParameters } from './openapi-parameters.ts';
import { operationName } from './operation-name.ts';

type Schema = z.ZodType;

export interface Endpoint<Q extends Schema = Schema, B extends Schema = Schema> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `/hosts/{host}` */
  readonly path: string;
  readonly summary: string;
  /** Strict, like the body, so that no unknown field is ignored. */
  readonly query?: Q;
  readonly body?: B;
  /** Schema of the answer. Without one the route answers 204. */
  readonly answer?: Schema;
  readonly status?: number;
  readonly public?: boolean;
  /** Hosts may use it too. The handler limits what they see. */
  readonly hosts?: boolean;
  /** Its own limit for the size of a body, and the setting of that limit. */
  readonly limit?: BodyLimit;
  /** The answer contains a secret of the caller: it is neither compressed nor stored in a cache. */
  readonly sensitive?: boolean;
  /** The answer may also be a stream of server-sent events; with `only` it is nothing else. */
  readonly stream?: boolean | 'only';
  /** The answer is bytes. */
  readonly bytes?: boolean;
  /** The body is a stream of bytes, which the handler reads from the request. */
  readonly upload?: boolean;
  handle(input: EndpointInput<z.output<Q>, z.output<B>>): unknown;
}

/** A limit for the size of a body. */
export interface BodyLimit {
  readonly bytes: number;
  readonly setting: string;
}

export interface EndpointInput<Q, B> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Q;
  readonly body: B;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Keeps the types of query and body for the handler. */
export function endpoint<Q extends Schema, B extends Schema>(definition: Endpoint<Q, B>): Endpoint {
  return definition;
}

/** The input of an endpoint without a query or a body. */
const nothing = z.strictObject({}).nullish();

/** Not a stream, which would stay open, and not a route without an answer, which does something. */
const hasHead = ({ method, answer, stream = false }: Endpoint): boolean =>
  method === 'GET' && answer !== undefined && stream === false;

export function serveEndpoint(scope: FastifyInstance, endpoints: readonly Endpoint[]): void {
  serveEach(
    scope,
    endpoints.filter(({ upload }) => upload !== true),
  );
  uploadScope(scope, (uploads) =>
    serveEach(
      uploads,
      endpoints.filter(({ upload }) => upload === true),
    ),
  );
}

function serveEach(scope: FastifyInstance, endpoints: readonly Endpoint[]): void {
  for (const each of endpoints) {
    scope.route({
      // The same work and headers as for GET, so that a tag and a length are right; Node sends no body.
      method: hasHead(each) ? ['GET', 'HEAD'] : each.method,
      url: each.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      ...(each.limit && { bodyLimit: each.limit.bytes }),
      config: {
        public: each.public === true,
        hosts: each.hosts === true,
        sensitive: each.sensitive === true,
        upload: each.upload === true,
        ...(each.limit && { limitedBy: each.limit.setting }),
      },
      handler: async (request, reply) => {
        const result = await each.handle({
          params: request.params as Record<string, string>,
          query: parseField(each.query ?? nothing, request.query, 'The query'),
          body: each.upload === true ? null : parseField(each.body ?? nothing, request.body, 'The request body'),
          request,
          reply,
        });
        // A stream has taken over the connection.
        if (reply.sent) return reply;
        return each.answer ? reply.code(each.status ?? 200).send(result) : reply.code(204).send();
      },
    });
  }
}

/** The answers of an endpoint in the OpenAPI document. */
function responsesOf(each: Endpoint, schemaOf: (schema: Schema) => JsonObject): object {
  const isTagged = hasHead(each) && each.sensitive !== true;
  return {
    [each.answer ? String(each.status ?? 200) : '204']: {
      description: each.answer ? 'Success.' : 'Done.',
      ...(isTagged && { headers: { ETag: { $ref: '#/components/headers/ETag' } } }),
      ...(each.answer && {
        // Bytes and streams have no schema: OpenAPI 3.1 has one for a whole answer only, and not for each event.
        content: {
          ...(each.bytes && { 'application/octet-stream': {} }),
          ...(!each.bytes && each.stream !== 'only' && { 'application/json': { schema: schemaOf(each.answer) } }),
          ...(each.stream && { 'text/event-stream': {} }),
        },
      }),
    },
    ...(isTagged && { 304: { $ref: '#/components/responses/NotModified' } }),
    default: { $ref: '#/components/responses/Error' },
  };
}

export function describe(endpoints: readonly Endpoint[], { version }: { version: string }): object {
  const named = new NamedSchemas();
  const schemaOf = (schema: Schema, io: 'input' | 'output'): JsonObject => named.place(jsonSchemaOf(schema, io));
  const paths: Record<string, Record<string, object>> = {};
  for (const each of endpoints) {
    (paths[each.path] ??= {})[each.method.toLowerCase()] = {
      summary: each.summary,
      operationId: operationName(each.method, each.path),
      ...(each.public === true && { security: [] }),
      parameters: [
        ...pathParameters(each.path),
        ...(each.query ? fieldParameters(schemaOf(each.query, 'input'), 'query') : []),
      ],
      ...(each.body && {
        requestBody: {
          required: !each.body.safeParse(undefined).success,
          content: { 'application/json': { schema: schemaOf(each.body, 'input') } },
        },
      }),
      ...(each.upload === true && {
        requestBody: { required: true, content: { 'application/octet-stream': {} } },
      }),
      responses: responsesOf(each, (schema) => schemaOf(schema, 'output')),
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Anneal',
      version,
      description,
    },
    servers: [{ url: '/api/v1' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Auth-Token' } },
      headers: { ETag: entityTag },
      responses: { NotModified: notModified, Error: refused },
      schemas: { ...named.parts, Error: errorBody },
    },
  };
}

const description =
  'Functions of stacks, queues and nodes that the APIs of Heat, Zaqar and Ironic do not have. A GET with an `ETag` may also be a HEAD, and answers 304 to `If-None-Match` without a change. Long answers are compressed with zstd, br or gzip by `Accept-Encoding`.';

const entityTag = {
  description: 'A tag of these bytes, for `If-None-Match`.',
  schema: { type: 'string' },
};

const notModified = {
  description: 'The answer is still the one with the tag in `If-None-Match`.',
  headers: { ETag: { $ref: '#/components/headers/ETag' } },
};

const refused = {
  description: 'The error, as problem details (RFC 9457).',
  content: { [problemDetailsType]: { schema: { $ref: '#/components/schemas/Error' } } },
};

const errorBody = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'error'],
  properties: {
    type: { type: 'string', format: 'uri-reference', description: 'Identifies the code.' },
    title: { type: 'string', description: 'The code in words.' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'The same as `error.message`.' },
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'string' },
        message: { type: 'string' },
        remedy: { type: 'string' },
        mistakes: { type: 'array', items: { type: 'object' } },
        details: { type: 'object' },
      },
    },
  },
};
