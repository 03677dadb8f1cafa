/** Answers a claim of a host with its request as a script. */
import { hostRequestSchema, type HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Ask } from '../../ask.ts';
import { baseUrl } from '../../http/base-url.ts';
import { callerOf } from '../../identity/caller.ts';
import type { QueueAccess } from '../access.ts';
import { returnClaim, type ClaimAnswer } from './claim.ts';
import { renderShellRequest } from '../../scripts/request.ts';

/** The routes that the scripts of hosts use: `door.ts`. */
export const agentPrefix = '/agent';
export const doorPath = '/v1';

/** @throws AnnealError InvalidRequest when the message is no request for a host. The claim is released then. */
export async function sendScript(
  ask: Ask,
  parameters: {
    request: FastifyRequest;
    reply: FastifyReply;
    access: QueueAccess;
    claimed: ClaimAnswer;
    ttl: number;
    /** Reads the config of a request that only refers to it. */
    configOf?: (run: string) => Promise<string>;
  },
): Promise<FastifyReply> {
  const { request, reply, access, claimed, ttl, configOf } = parameters;
  const caller = callerOf(request);
  const [message] = claimed.messages;
  const parsed = hostRequestSchema.safeParse(message?.body);
  if (caller.kind !== 'host' || !message || !parsed.success) {
    await returnClaim(ask, access, claimed.id);
    throw new AnnealError(
      'InvalidRequest',
      caller.kind === 'host'
        ? 'The first message of the queue is not a request for a host, so there is no script for it.'
        : 'Only a host can claim its requests as scripts; log in with the token of the host.',
    );
  }
  const token = request.headers['x-auth-token'];
  const script = renderShellRequest({
    request: configOf ? await withProgram(parsed.data, configOf) : parsed.data,
    token: typeof token === 'string' ? token : '',
    doorUrl: `${baseUrl(request)}${agentPrefix}${doorPath}`,
    claimId: claimed.id,
    messageId: message.id,
    ttl,
  });
  return reply.type('text/x-shellscript').send(script);
}

/** A script fetches a config that it runs as it is. The program of another tool is made here, from the whole config. */
async function withProgram(request: HostRequest, configOf: (run: string) => Promise<string>): Promise<HostRequest> {
  const { config_ref: reference, ...rest } = request;
  return reference && request.group !== 'script' ? { ...rest, config: await configOf(request.id) } : request;
}
