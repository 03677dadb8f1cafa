/**
 * Heat's CloudFormation endpoint: hosts read the metadata of their server, and clients with a pre-signed address may
 * signal its resource. An address needs no token and no header, so that `curl` and alarms can use it.
 */
import { stackSignal } from '@anneal/contracts/calls/resources.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { json } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { readSignalToken, type SignalGrant } from '@anneal/runtime/secrets/signal-grant.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { readJsonBodies } from '../http/body.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import type { UserEc2Key } from '../identity/routes/credential-routes.ts';
import { describeRoutes } from './describe.ts';
import { signalByGrant } from '../heat/resources/signal.ts';

export const cfnPrefix = '/cfn/v1';

/**
 * Sends a signed request at `/v1/` here: the programs of heat-cfntools know the host and the port of the endpoint, and
 * always use this path. Other requests at `/v1/` are for the queues, which take no POST there: cfn-push-stats has its
 * action in the body of one.
 */
export const withCfnPrefix = (url: string, method = 'GET'): string =>
  (method === 'POST' ? /^\/v1\/?(?:\?|$)/ : /^\/v1\/?\?(?:[^#]*&)?Action=/).test(url) ? `/cfn${url}` : url;

export interface CfnOptions {
  ask: Ask;
  secrets: Secrets;
  wording: FamilyWording;
  report: (error: unknown, request: FastifyRequest) => void;
  /** The EC2 key of a user. */
  userKey: (accessKey: string) => Promise<UserEc2Key | undefined>;
  /** The system clock, in milliseconds. */
  now: () => number;
}

export function cfnFamily(scope: FastifyInstance, options: CfnOptions): void {
  const { ask, secrets, wording, report } = options;
  readJsonBodies(scope);
  wordErrors(scope, wording, report);

  const grantOf = (signature: string): SignalGrant => {
    const grant = readSignalToken(secrets, signature);
    if (grant) return grant;
    throw new AnnealError('Forbidden', 'The signature of this address is missing or wrong; use the address unchanged.');
  };
  const signed = { query: z.object({ Signature: z.string().default('') }), body: json.optional() } as const;

  scope.register((described, _options, done) => {
    describeRoutes(described, options);
    done();
  });
  serveRoutes(scope, [
    route({
      method: 'POST',
      path: '/signal/*',
      summary: 'Signal a resource.',
      answersRuns: true,
      ...signed,
      // As in Heat, a refused scaling is no error of the request: the body has the reason.
      answer: stackSignal.answer,
      handle: ({ query, body = null, request }) =>
        signalByGrant(ask, { grant: grantOf(query.Signature), request }, body),
    }),
    route({
      method: 'PUT',
      path: '/waitcondition/*',
      summary: 'Signal a wait condition.',
      ...signed,
      answer: z.object({ resource: z.string(), metadata: json }),
      handle: async ({ query, body: metadata = null, request }) => {
        const grant = grantOf(query.Signature);
        await signalByGrant(ask, { grant, request }, metadata);
        return { resource: grant.resource_name, metadata };
      },
    }),
  ]);
}
