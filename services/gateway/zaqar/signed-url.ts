/**
 * Signed URLs of Zaqar. The holder of one may use some methods of some paths of a queue until it ends, without a token.
 * The headers `URL-Signature`, `URL-Paths`, `URL-Methods`, `URL-Expires` and `X-Project-ID` are its parts.
 *
 * S1 The signature covers every part, so that no part can be changed or exchanged.
 * S2 Only the listed paths count, and not what is below them, as in Zaqar.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { objectBody } from '../http/body.ts';
import { described } from '../http/document.ts';
import { requestPath } from '../http/base-url.ts';
import type { HolderCaller } from '../identity/caller.ts';
import { queueFor } from './access.ts';
import { queueHref, type Dialect } from './dialect.ts';
import { zaqarError } from './wording.ts';

interface Grant {
  readonly project: string;
  readonly paths: readonly string[];
  readonly methods: readonly string[];
  /** As it was sent. */
  readonly expires: string;
}

const shareable = ['messages', 'subscriptions', 'claims'] as const;
const usable = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE', 'PATCH'] as const;
const defaultMs = 86_400_000;

const sharedFields = {
  paths: z.array(z.enum(shareable)).min(1),
  methods: z.array(z.enum(usable)).min(1),
  expires: z.string().max(64).meta({ description: 'A time such as `2030-01-01T00:00:00`.' }),
};
const shares = described({
  summary: 'Sign a URL: its holder may use the queue without a token.',
  body: z.strictObject(sharedFields).partial().optional(),
  answer: z.object({
    project: z.string(),
    paths: z.array(z.string()),
    methods: z.array(z.string()),
    expires: z.string(),
    signature: z.string(),
  }),
});

const textOf = ({ project, paths, methods, expires }: Grant): string =>
  `signed url of a queue ${JSON.stringify([project, paths, methods, expires])}`;

const invalid = (description: string): AnnealError => zaqarError('InvalidRequest', 'Invalid API request', description);

/** A list of these words in the body. @throws AnnealError InvalidRequest */
function listIn(
  body: Readonly<Record<string, unknown>>,
  field: string,
  known: readonly string[],
): string[] | undefined {
  const given = body[field];
  if (given === undefined) return undefined;
  if (!Array.isArray(given) || given.length === 0 || !given.every((each) => known.includes(String(each)))) {
    throw invalid(`${field} must be a list of ${known.join(', ')}.`);
  }
  return [...new Set(given.map(String))];
}

/** The time of an end, which Zaqar writes without a zone. Undefined for a text of another form. */
function timeOf(expires: string): number | undefined {
  const time = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(expires) ? expires : `${expires}Z`);
  return Number.isNaN(time) ? undefined : time;
}

/** `POST /queues/{queue}/share` */
export function shareRoute(
  scope: FastifyInstance,
  { secrets, dialect, now }: { secrets: Secrets; dialect: Dialect; now: () => number },
): void {
  scope.post('/queues/:queue/share', shares, (request, reply) => {
    const { project, queue } = queueFor(request, 'manage');
    const body = request.body === undefined ? {} : objectBody(request);
    const unknown = Object.keys(body).filter((key) => !['paths', 'methods', 'expires'].includes(key));
    if (unknown.length > 0) throw invalid(`Unknown fields: ${unknown.join(', ')}.`);
    const paths = listIn(body, 'paths', shareable) ?? ['messages'];
    const methods = listIn(body, 'methods', usable) ?? ['GET'];
    const { expires = new Date(now() + defaultMs).toISOString().slice(0, 19) } = body;
    const end = typeof expires === 'string' ? timeOf(expires) : undefined;
    if (typeof expires !== 'string' || end === undefined || expires.length > 64) {
      throw invalid('expires must be a time such as 2030-01-01T00:00:00.');
    }
    if (end <= now()) throw invalid('expires must be in the future.');
    const grant = { project, paths: paths.map((path) => `${queueHref(dialect, queue)}/${path}`), methods, expires };
    return reply.header('cache-control', 'no-store').send({ ...grant, signature: secrets.sign(textOf(grant)) });
  });
}

const headerOf = ({ headers }: FastifyRequest, name: string): string => {
  const value = headers[name];
  return typeof value === 'string' ? value : '';
};

/** Whether the request comes with a signed URL. */
export const hasSignedUrl = (request: FastifyRequest): boolean =>
  request.headers['url-signature'] !== undefined && request.headers['url-paths'] !== undefined;

/** The holder of the signed URL of a request. @throws AnnealError Forbidden when it does not allow the request */
export function urlHolderOf(
  request: FastifyRequest,
  { secrets, now }: { secrets: Secrets; now: () => number },
): HolderCaller {
  const grant: Grant = {
    project: headerOf(request, 'x-project-id'),
    paths: headerOf(request, 'url-paths').split(','),
    methods: headerOf(request, 'url-methods').split(','),
    expires: headerOf(request, 'url-expires'),
  };
  const refuse = (why: string): never => {
    throw new AnnealError('Forbidden', `The signed URL does not allow this request: ${why}.`);
  };
  if (!secrets.isSigned(textOf(grant), headerOf(request, 'url-signature'))) {
    refuse('its signature is wrong, or a part of it was changed');
  }
  if ((timeOf(grant.expires) ?? 0) <= now()) refuse(`it ended at ${grant.expires}`);
  if (!grant.methods.includes(request.method)) refuse(`it is for ${grant.methods.join(', ')}`);
  const path = requestPath(request).replace(/^\/messaging/, '');
  if (!grant.paths.includes(path)) refuse(`it is for ${grant.paths.join(', ')}`);
  return { kind: 'holder', name: `signed URL of ${path}`, project: grant.project };
}
