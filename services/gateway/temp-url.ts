/**
 * Temporary URLs, in the form of Swift's TempURLs: GET and HEAD of a host's metadata, PUT of the answer to a run. The
 * signature is made with a key of the host, so it ends with the host's token.
 */
import { hostKeys } from '@anneal/contracts/calls/configuration.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { isTempUrlSignature, metadataObject, type TempUrl } from '@anneal/runtime/secrets/host-keys.ts';
import { openText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from './ask.ts';
import { answerByGrant } from './heat/resources/signal.ts';
import { queryValue, readJsonBodies } from './http/body.ts';
import { wordErrors, type FamilyWording } from './http/family.ts';
import { collectFor } from './host-metadata.ts';

export interface TempUrlOptions {
  ask: Ask;
  secrets: Secrets;
  wording: FamilyWording;
  report: (error: unknown, request: FastifyRequest) => void;
  /** The clock of the hosts' requests, in milliseconds. */
  now: () => number;
}

interface ObjectPath {
  Params: { account: string; host: string; object: string };
}
const objectPath = '/v1/:account/:host/:object';

export function tempUrlFamily(scope: FastifyInstance, options: TempUrlOptions): void {
  const { ask, wording, report } = options;
  readJsonBodies(scope);
  wordErrors(scope, wording, report);

  scope.head<ObjectPath>(objectPath, async (request, reply) => {
    await signedUrl(options, request, 'GET');
    // Without `Last-Modified`, whose unit is a second, the collector always reads and compares.
    return reply.type('application/json').send();
  });
  scope.get<ObjectPath>(objectPath, async (request) => {
    const { hostId } = await signedUrl(options, request, 'GET');
    return (await collectFor(ask, { host_id: hostId })).metadata;
  });
  for (const method of ['PUT', 'POST'] as const) {
    scope.route<ObjectPath>({
      method,
      url: objectPath,
      handler: async (request, reply) => {
        const { project, hostId, object } = await signedUrl(options, request, 'PUT');
        await answerByGrant(ask, { project, hostId, runId: object }, (request.body as Json | undefined) ?? null);
        return reply.code(201).send();
      },
    });
  }
}

/** @throws AnnealError Unauthorized for a signature that is wrong, expired, or of a host that is deleted */
async function signedUrl(
  { ask, secrets, now }: TempUrlOptions,
  request: FastifyRequest<ObjectPath>,
  method: TempUrl['method'],
): Promise<TempUrl> {
  const { account, host: hostId, object } = request.params;
  const expires = Number(queryValue(request, 'temp_url_expires'));
  const invalid = new AnnealError('Unauthorized', 'The temporary URL is wrong, has expired or was revoked.');
  if (!Number.isSafeInteger(expires) || expires * 1000 <= now()) throw invalid;
  const { project, token } = await ask('configuration', hostKeys, { data: { host_id: hostId } }).catch(
    (error: unknown) => {
      throw hasCode(error, 'NotFound') ? invalid : error;
    },
  );
  const url = { method, project, hostId, object, expires };
  const isOwn = account === `AUTH_${project}` && (method === 'PUT') === (object !== metadataObject);
  if (isOwn && isTempUrlSignature(openText(secrets, token), url, queryValue(request, 'temp_url_sig') ?? '')) return url;
  throw invalid;
}
