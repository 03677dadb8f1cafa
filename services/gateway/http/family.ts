/**
 * A family of routes: one prefix and one error format. A family answers 405 with `Allow` for a known path with an
 * unknown method, and has its own 404. Families do not affect each other.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { requestPath } from './base-url.ts';
import { toProblem, type Problem } from './problem.ts';

export interface FamilyWording {
  /** The content type of errors; `application/json` when it is absent. */
  readonly type?: string;
  body(problem: Problem, request: FastifyRequest): unknown;
  headers?(problem: Problem, request: FastifyRequest): Record<string, string>;
  notFound(request: FastifyRequest, reply: FastifyReply): unknown;
  notAllowed(request: FastifyRequest, allow: readonly string[]): unknown;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The wording of each family, by the prefix of its routes. */
    wordings: Map<string, FamilyWording>;
  }
}

export function wordErrors(
  scope: FastifyInstance,
  wording: FamilyWording,
  report: (error: unknown, request: FastifyRequest) => void,
): void {
  scope.wordings.set(scope.prefix, wording);
  const known: { method: string; pattern: RegExp }[] = [];
  scope.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) known.push({ method: each, pattern: patternOf(url) });
  });

  scope.setErrorHandler((error, request, reply) => {
    const problem = toProblem(error, request);
    if (problem.defect) report(error, request);
    sendProblem(problem, wording, { request, reply });
  });

  scope.setNotFoundHandler((request, reply) => {
    const path = requestPath(request);
    const allow = [...new Set(known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))].sort();
    if (allow.length === 0) return wording.notFound(request, reply);
    void reply.header('allow', allow.join(', '));
    if (request.method === 'OPTIONS') return reply.code(204).send();
    return reply
      .code(405)
      .type(wording.type ?? 'application/json')
      .send(JSON.stringify(wording.notAllowed(request, allow)));
  });
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

function sendProblem(problem: Problem, wording: FamilyWording, { request, reply }: Exchange): void {
  void reply
    .code(problem.status)
    .headers({ ...problem.headers, ...wording.headers?.(problem, request) })
    .type(wording.type ?? 'application/json')
    .send(JSON.stringify(wording.body(problem, request)));
}

/**
 * Answers a request whose address the router cannot read, as a wrong percent-encoding, in the wording of its family.
 * No hook and no handler of a family runs for such a request.
 */
export function refuseAddress(error: Error, { request, reply }: Exchange, wordings: FastifyInstance['wordings']): void {
  const path = requestPath(request);
  const [, wording] = [...wordings]
    .filter(([prefix]) => path === prefix || path.startsWith(`${prefix}/`))
    .reduce((longest, each) => (each[0].length > longest[0].length ? each : longest));
  sendProblem(toProblem(error, request), wording, { request, reply });
}

function patternOf(url: string): RegExp {
  const escaped = url
    .replace(/\/$/, '')
    .split('/')
    .map((part) =>
      part.startsWith(':') ? '[^/]+' : part === '*' ? '.*' : part.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`),
    );
  return new RegExp(`^${escaped.join('/')}/?$`);
}
