/**
 * A route: the one declaration of an HTTP endpoint, of our own API and of the compatible ones.
 *
 * R1 The schemas of the query, the headers and the body describe them in the OpenAPI document and read them, so that a
 *    limit in the document is a limit of the server.
 * R2 The handler runs only for a request that the schemas accept, and gets what they return.
 */
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

/** A limit for the size of a body. */
export interface BodyLimit {
  readonly bytes: number;
  readonly setting: string;
}

/** The callers that may use a route, and the other facts for the hooks of every request. */
type RouteFlags = Pick<
  FastifyContextConfig,
  'public' | 'hosts' | 'checksHost' | 'audited' | 'reasoned' | 'signallers' | 'sensitive' | 'answersRuns'
>;

type Schema = z.ZodType;
/** A query or the headers: an object, each of whose fields is a parameter. */
type Fields = z.ZodType;
type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The parameters of a path: `/hosts/{host}` has `host`, and `/files/*` has `*`. */
export type ParametersOf<Path extends string> = string extends Path
  ? Readonly<Record<string, string>>
  : Path extends `${string}{${infer Name}}${infer Rest}`
    ? { readonly [K in Name]: string } & ParametersOf<Rest>
    : Path extends `${string}*`
      ? { readonly '*': string }
      : object;

/** The parts of a request for its handler. */
export interface RouteInput<Path extends string = string, Q = unknown, B = unknown, H = unknown> {
  readonly params: ParametersOf<Path>;
  readonly query: Q;
  readonly headers: H;
  readonly body: B;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** A route without its handler. */
export interface RouteFacts {
  /** Several for an address that does the same with each. */
  readonly method: Method | readonly Method[];
  /** `/hosts/{host}`, or `/files/*` for a rest with slashes. */
  readonly path: string;
  readonly summary: string;
  /** An object. A strict one refuses unknown parameters, and another ignores them. */
  readonly query?: Fields;
  /** An object. Its fields are headers of the request, in lower case. */
  readonly headers?: Fields;
  readonly body?: Schema;
  /** The type of the body; `application/json` when it is absent. */
  readonly bodyType?: string;
  /** Without one the route answers 204. */
  readonly answer?: Schema;
  /** The type of the answer; `application/json` when it is absent. */
  readonly answerType?: string;
  /** 200 with an answer and 204 without one, when it is absent. */
  readonly status?: number;
  /** Other answers that are no errors, by their status. Null: without a body. */
  readonly also?: Readonly<Record<number, Schema | null>>;
  /** True for a route whose only answer is an error, because Anneal does not offer what a client looks for there. */
  readonly isRefusal?: true;
  /** Its own limit for the size of a body, and the setting of that limit. */
  readonly limit?: BodyLimit;
  /** The answer may also be a stream of server-sent events; with `only` it is nothing else. */
  readonly stream?: boolean | 'only';
  /** The body is a stream of bytes, which the handler reads from the request. */
  readonly upload?: boolean;
  /** True for an address of clients that are no programs of a user, which the OpenAPI document does not list. */
  readonly isHidden?: true;
}

/** A route of which the kinds of its input are forgotten, as `serveRoutes` needs it. */
export interface Route extends RouteFacts, RouteFlags {
  /** Returns the answer, or the reply after it has sent or begun one. A status that it sets wins. */
  readonly handle: (input: RouteInput<string, never, never, never>) => unknown;
}

type Typed<Path extends string, Q extends Fields, B extends Schema, H extends Fields> = Omit<Route, 'handle'> & {
  readonly path: Path;
  readonly query?: Q;
  readonly body?: B;
  readonly headers?: H;
  handle(input: RouteInput<Path, z.output<Q>, z.output<B>, z.output<H>>): unknown;
};

/** Declares a route, and gives its handler the types of the path, the query, the body and the headers. */
export const route = <const Path extends string, Q extends Fields, B extends Schema, H extends Fields>(
  declared: Typed<Path, Q, B, H>,
): Route => declared as unknown as Route;
