/**
 * Pre-signed addresses, at the same place as in Heat's CloudFormation endpoint. A client with such an address may
 * signal that resource. It needs no token and no header, so that `curl` and alarms can use it.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import { readSignalToken, type SignalGrant } from '@anneal/runtime/signal-grant.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { queryValue, readJsonBodies } from '../http/body.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { signalByGrant } from '../heat/signal.ts';

export const cfnPrefix = '/cfn/v1';

export interface CfnOptions {
  ask: Ask;
  secrets: Secrets;
  wording: FamilyWording;
  report: (error: unknown, request: FastifyRequest) => void;
}

export function cfnFamily(scope: FastifyInstance, { ask, secrets, wording, report }: CfnOptions): void {
  readJsonBodies(scope);
  wordErrors(scope, wording, report);

  const grantOf = (request: FastifyRequest): SignalGrant => {
    const grant = readSignalToken(secrets, queryValue(request, 'Signature') ?? '');
    if (grant) return grant;
    throw new AnnealError('Forbidden', 'The signature of this address is missing or wrong; use the address unchanged.');
  };
  const bodyOf = (request: FastifyRequest): Json => (request.body as Json | undefined) ?? null;

  scope.post('/signal/*', async (request, reply) => {
    await signalByGrant(ask, grantOf(request), bodyOf(request));
    return reply.type('application/json').send('{}');
  });
  scope.put('/waitcondition/*', async (request) => {
    const grant = grantOf(request);
    const signal = bodyOf(request);
    await signalByGrant(ask, grant, signal);
    return { resource: grant.resource_name, metadata: signal };
  });
}
