/**
 * A route of our own API: declared once, served by fastify and described in the OpenAPI document from the same schemas.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { jsonSchemaOf, NamedSchemas } from '@anneal/contracts/named-schemas.ts';
import { z } from 'zod';
import { parseField } from '../http/body.ts';

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
  /** The answer may also be a stream of server-sent events. */
  readonly stream?: boolean;
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

export function serveEndpoint(scope: FastifyInstance, endpoints: readonly Endpoint[]): void {
  for (const each of endpoints) {
    scope.route({
      method: each.method,
      url: each.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      ...(each.limit && { bodyLimit: each.limit.bytes }),
      config: {
        public: each.public === true,
        hosts: each.hosts === true,
        ...(each.limit && { limitedBy: each.limit.setting }),
      },
      handler: async (request, reply) => {
        const result = await each.handle({
          params: request.params as Record<string, string>,
          query: parseField(each.query ?? nothing, request.query, 'The query'),
          body: parseField(each.body ?? nothing, request.body, 'The request body'),
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

interface ObjectSchema {
  properties?: Record<string, object>;
  required?: string[];
}

export function describe(endpoints: readonly Endpoint[], { version }: { version: string }): object {
  const named = new NamedSchemas();
  const schemaOf = (schema: Schema, io: 'input' | 'output'): JsonObject => named.place(jsonSchemaOf(schema, io));
  const paths: Record<string, Record<string, object>> = {};
  for (const each of endpoints) {
    const query: ObjectSchema = each.query ? schemaOf(each.query, 'input') : {};
    const success = each.answer ? String(each.status ?? 200) : '204';
    (paths[each.path] ??= {})[each.method.toLowerCase()] = {
      summary: each.summary,
      operationId: `${each.method.toLowerCase()}${each.path.replaceAll(/[{}]/g, '').replaceAll(/[/-](\w)/g, (_, letter: string) => letter.toUpperCase())}`,
      ...(each.public === true && { security: [] }),
      parameters: [
        ...[...each.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
          name,
          in: 'path',
          required: true,
          schema: { type: 'string' },
        })),
        ...Object.entries(query.properties ?? {}).map(([name, schema]) => ({
          name,
          in: 'query',
          required: query.required?.includes(name) ?? false,
          schema,
        })),
      ],
      ...(each.body && {
        requestBody: {
          required: !each.body.safeParse(undefined).success,
          content: { 'application/json': { schema: schemaOf(each.body, 'input') } },
        },
      }),
      responses: {
        [success]: {
          description: each.answer ? 'Success.' : 'Done.',
          ...(each.answer && {
            content: {
              'application/json': { schema: schemaOf(each.answer, 'output') },
              // Without a schema, which OpenAPI 3.1 has for a whole answer only and not for each event.
              ...(each.stream && { 'text/event-stream': {} }),
            },
          }),
        },
        default: {
          description: 'The error.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Anneal',
      version,
      description: 'Functions of stacks, queues and nodes that the APIs of Heat, Zaqar and Ironic do not have.',
    },
    servers: [{ url: '/api/v1' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Auth-Token' } },
      schemas: { ...named.parts, Error: errorBody },
    },
  };
}

const errorBody = {
  type: 'object',
  required: ['error'],
  properties: {
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
