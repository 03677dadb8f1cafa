/**
 * Temporary URLs, in the form of Swift's TempURLs: GET and HEAD of a host's metadata, PUT of the answer to a run. The
 * signature is made with a key of the host, so it ends with the host's token.
 */
import { hostKeys } from '@anneal/contracts/calls/hosts.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { json, jsonObject } from '@anneal/contracts/json.ts';
import { isTempUrlSignature, metadataObject, type TempUrl } from '@anneal/runtime/secrets/host-keys.ts';
import { openText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from './ask.ts';
import { answerByGrant } from './heat/resources/signal.ts';
import { readJsonBodies } from './http/body.ts';
import { wordErrors, type FamilyWording } from './http/family.ts';
import { route, type ParametersOf } from './http/route.ts';
import { serveRoutes } from './http/serve-routes.ts';
import { collectFor } from './host-metadata.ts';

export interface TempUrlOptions {
  ask: Ask;
  secrets: Secrets;
  wording: FamilyWording;
  report: (error: unknown, request: FastifyRequest) => void;
  /** The clock of the hosts' requests, in milliseconds. */
  now: () => number;
}

const path = '/v1/{account}/{host}/{object}';
const querySchema = z.object({ temp_url_sig: z.string(), temp_url_expires: z.int() });

const invalid = (): AnnealError =>
  new AnnealError('Unauthorized', 'The temporary URL is wrong, has expired or was revoked.');

export function tempUrlFamily(scope: FastifyInstance, options: TempUrlOptions): void {
  const { ask, wording, report } = options;
  readJsonBodies(scope);
  wordErrors(scope, wording, report);
  const routes = [
    route({
      method: 'HEAD',
      path,
      summary: 'Check the temporary URL of the metadata of a host.',
      query: querySchema,
      answer: jsonObject,
      handle: async ({ params, query, reply }) => {
        await signedUrl(options, { params, query, method: 'GET' });
        // Without `Last-Modified`, whose unit is a second, the collector always reads and compares.
        return reply.type('application/json').send();
      },
    }),
    route({
      method: 'GET',
      path,
      summary: 'Show the metadata of a host.',
      query: querySchema,
      answer: jsonObject,
      handle: async ({ params, query }) => {
        const { hostId } = await signedUrl(options, { params, query, method: 'GET' });
        return (await collectFor(ask, { host_id: hostId })).metadata;
      },
    }),
    route({
      method: ['PUT', 'POST'],
      path,
      summary: 'Send the answer to a run.',
      query: querySchema,
      body: json.optional(),
      answersRuns: true,
      status: 201,
      handle: async ({ params, query, body = null }) => {
        const { project, hostId, object } = await signedUrl(options, { params, query, method: 'PUT' });
        await answerByGrant(ask, { project, hostId, runId: object }, body);
      },
    }),
  ];
  serveRoutes(scope, routes, { refuse: invalid });
}

/** @throws AnnealError Unauthorized for a signature that is wrong, expired, or of a host that is deleted */
async function signedUrl(
  { ask, secrets, now }: TempUrlOptions,
  asked: { params: ParametersOf<typeof path>; query: z.output<typeof querySchema>; method: TempUrl['method'] },
): Promise<TempUrl> {
  const { params, query, method } = asked;
  const { account, host: hostId, object } = params;
  const { temp_url_expires: expires, temp_url_sig: signature } = query;
  if (expires * 1000 <= now()) throw invalid();
  const { project, token } = await ask('configuration', hostKeys, { data: { host_id: hostId } }).catch(
    (error: unknown) => {
      throw hasCode(error, 'NotFound') ? invalid() : error;
    },
  );
  const url = { method, project, hostId, object, expires };
  const isOwn = account === `AUTH_${project}` && (method === 'PUT') === (object !== metadataObject);
  if (isOwn && isTempUrlSignature(openText(secrets, token), url, signature)) return url;
  throw invalid();
}
