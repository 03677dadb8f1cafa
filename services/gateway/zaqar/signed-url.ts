/**
 * Signed URLs of Zaqar. The holder of one may use some methods of some paths of a queue until it ends, without a token.
 * The headers `URL-Signature`, `URL-Paths`, `URL-Methods`, `URL-Expires` and `X-Project-ID` are its parts.
 *
 * S1 The signature covers every part, so that no part can be changed or exchanged.
 * S2 Only the listed paths count, and not what is below them, as in Zaqar.
 */
import { isoMoment } from '@anneal/contracts/readers/moment.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { requestPath } from '../http/base-url.ts';
import { route, type Route } from '../http/route.ts';
import type { HolderCaller } from '../identity/caller.ts';
import { queueFor } from './access.ts';
import { orNothing } from './bodies.ts';
import { queueHref, type Dialect } from './dialect.ts';

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

/** A list of these words, each once. */
const listOf = (field: string, known: readonly string[]) => {
  const error = `${field} must be a list of ${known.join(', ')}.`;
  return z
    .array(z.enum(known, { error }), { error })
    .min(1, { error })
    .transform((given) => [...new Set(given)]);
};

const noTime = 'expires must be a time such as 2030-01-01T00:00:00.';

const textOf = ({ project, paths, methods, expires }: Grant): string =>
  `signed url of a queue ${JSON.stringify([project, paths, methods, expires])}`;

/** `POST /queues/{queue}/share` */
export const shareRoute = ({
  secrets,
  dialect,
  now,
}: {
  secrets: Secrets;
  dialect: Dialect;
  now: () => number;
}): Route => {
  const end = z
    .string({ error: noTime })
    .max(64, { error: noTime })
    .refine((text) => isoMoment(text) !== undefined, { error: noTime, abort: true })
    .refine((text) => (isoMoment(text) ?? 0) > now(), { error: 'expires must be in the future.' });
  return route({
    method: 'POST',
    path: '/queues/{queue}/share',
    summary: 'Sign a URL: its holder may use the queue without a token.',
    body: orNothing(
      z.strictObject({
        paths: listOf('paths', shareable).default(['messages']),
        methods: listOf('methods', usable).default(['GET']),
        expires: end.optional().meta({ description: 'A time such as `2030-01-01T00:00:00`. In a day when absent.' }),
      }),
    ),
    answer: z.object({
      project: z.string(),
      paths: z.array(z.string()),
      methods: z.array(z.string()),
      expires: z.string(),
      signature: z.string(),
    }),
    handle: ({ body, request, reply }) => {
      const { project, queue } = queueFor(request, 'manage');
      const { methods, expires = new Date(now() + defaultMs).toISOString().slice(0, 19) } = body;
      const paths = body.paths.map((path) => `${queueHref(dialect, queue)}/${path}`);
      const grant = { project, paths, methods, expires };
      void reply.header('cache-control', 'no-store');
      return { ...grant, signature: secrets.sign(textOf(grant)) };
    },
  });
};

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
  if ((isoMoment(grant.expires) ?? 0) <= now()) refuse(`it ended at ${grant.expires}`);
  if (!grant.methods.includes(request.method)) refuse(`it is for ${grant.methods.join(', ')}`);
  const path = requestPath(request).replace(/^\/messaging/, '');
  if (!grant.paths.includes(path)) refuse(`it is for ${grant.paths.join(', ')}`);
  return { kind: 'holder', name: `signed URL of ${path}`, project: grant.project };
}
