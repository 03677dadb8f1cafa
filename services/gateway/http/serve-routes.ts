/** Serves routes: their schemas read each request before the handler runs. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { z } from 'zod';
import { uploadScope } from './body.ts';
import { bodyReader, parameterReader, refuseAll, type QueryValues, type Refuse } from './input.ts';
import type { Route, RouteFacts } from './route.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The declaration of the route, for the OpenAPI document. */
    declared?: RouteFacts;
    /** True for a HEAD that does what the GET of its address does; Node leaves out the body. */
    isHeadOfGet?: true;
  }
}

/** The rules that the routes of an API have in common. */
export interface RouteRules {
  /** The words for wrong input. */
  readonly refuse?: Refuse;
  /** True for an API that refuses a query and a body where a route declares none. Others ignore them. */
  readonly isStrict?: boolean;
  /** True for an API that answers HEAD wherever it answers GET: as a HEAD of its own does, otherwise as the GET does. */
  readonly hasHead?: boolean;
}

const methodsOf = ({ method }: RouteFacts) => [method].flat();

/** Whether a HEAD does what the GET of the route does: not for a stream, which would stay open. */
const mayHaveHead = (declared: RouteFacts): boolean =>
  methodsOf(declared).includes('GET') && (declared.stream ?? false) === false;

/** Registers the routes. */
export function serveRoutes(scope: FastifyInstance, routes: readonly Route[], options: RouteRules = {}): void {
  const heads = new Set(routes.filter((each) => methodsOf(each).includes('HEAD')).map(({ path }) => path));
  const serveIn = (place: FastifyInstance, declared: Route): void => {
    const hasHead = options.hasHead === true && mayHaveHead(declared) && !heads.has(declared.path);
    serve(place, declared, { ...options, hasHead });
  };
  const uploads = routes.filter(({ upload }) => upload === true);
  for (const each of routes) if (each.upload !== true) serveIn(scope, each);
  if (uploads.length === 0) return;
  uploadScope(scope, (streams) => {
    for (const each of uploads) serveIn(streams, each);
  });
}

/** `/hosts/:host` for `/hosts/{host}`. A colon of the address itself is doubled for the router. */
const routerPath = (path: string): string => path.replaceAll(':', '::').replaceAll(/\{(\w+)\}/g, ':$1');

function serve(scope: FastifyInstance, declared: Route, options: RouteRules): void {
  const { path, limit, handle } = declared;
  const read = inputReader(declared, options);
  const { public: isPublic, hosts, checksHost, audited, reasoned, signallers, sensitive, answersRuns } = declared;
  const plain: RouteOptions = {
    method: methodsOf(declared),
    url: routerPath(path),
    ...(limit && { bodyLimit: limit.bytes }),
    config: {
      declared,
      ...(isPublic && { public: isPublic }),
      ...(hosts && { hosts }),
      ...(checksHost && { checksHost }),
      ...(audited && { audited }),
      ...(reasoned && { reasoned }),
      ...(signallers && { signallers }),
      ...(sensitive && { sensitive }),
      ...(answersRuns && { answersRuns }),
      ...(declared.upload && { upload: declared.upload }),
      ...(limit && { limitedBy: limit.setting }),
    },
    handler: async (request, reply) => {
      const result = await handle({ ...read(request), request, reply } as never);
      return answerWith(result, declared, reply);
    },
  };
  scope.route(plain);
  if (options.hasHead === true)
    // The same work and headers as for GET, so that a tag and a length are right; Node sends no body.
    scope.route({ ...plain, method: 'HEAD', config: { ...plain.config, isHeadOfGet: true } });
}

function answerWith(result: unknown, { answer, status }: RouteFacts, reply: FastifyReply): unknown {
  // The handler has sent the answer, or a stream has taken over the connection.
  if (result === reply || reply.sent) return reply;
  if (reply.statusCode === 200) void reply.code(status ?? (answer ? 200 : 204));
  return reply.statusCode === 204 || result === undefined ? reply.send() : reply.send(result);
}

const nothing = z.strictObject({}).nullish();

function inputReader(
  { query, headers, body, upload }: Route,
  { refuse = refuseAll, isStrict = false }: RouteRules,
): (request: FastifyRequest) => object {
  const wantedQuery = query ?? (isStrict ? nothing : undefined);
  const wantedBody = upload === true ? undefined : (body ?? (isStrict ? nothing : undefined));
  const readQuery = wantedQuery && parameterReader(wantedQuery, { place: 'query', refuse });
  const readHeaders = headers && parameterReader(headers, { place: 'headers', refuse });
  const readBody = wantedBody && bodyReader(wantedBody, refuse);
  return (request) => ({
    params: request.params,
    query: readQuery?.(request.query as QueryValues),
    headers: readHeaders?.(request.headers),
    body: readBody?.(request.body),
  });
}
