/** The sender and the id of a request, for the events that follow from it. */
import type { Actor, Occasion } from '@anneal/contracts/origin.ts';
import type { HookGrant } from '@anneal/runtime/secrets/hook-grant.ts';
import type { SignalGrant } from '@anneal/runtime/secrets/signal-grant.ts';
import type { FastifyRequest } from 'fastify';
import { callerOf, type Caller } from './caller.ts';
import { isOperator } from '@anneal/directory/access.ts';

/** The caller and the id of the request. Clients find the id in the header `x-openstack-request-id` of the answer. */
export const occasionOf = (request: FastifyRequest): Occasion => occasionFor(actorFrom(callerOf(request)), request);

/**
 * The same for a request that changes a stack: with the operator for whom the stack then acts at the identity API. A
 * token with access rules gives no such right, because its rules do not allow the identity API.
 */
export function occasionOfChange(request: FastifyRequest): Occasion {
  const caller = callerOf(request);
  const occasion = occasionOf(request);
  if (caller.kind !== 'user' || caller.access.applicationCredential?.access_rules) return occasion;
  return isOperator(caller.access, 'member') ? { ...occasion, operator: caller.access.user.id } : occasion;
}

/** The same for a request that is allowed by a signed URL: the URL acts, because its holder is not known. */
export const occasionOfGrant = (grant: SignalGrant, request: FastifyRequest): Occasion =>
  occasionFor(actorFromGrant(grant), request);

/** The same for a request that is allowed by the address in the event of a wait at a hook. */
export const occasionOfHook = ({ resource_name: name, hook }: HookGrant, request: FastifyRequest): Occasion =>
  occasionFor({ kind: 'hook', id: '', name: `signed URL of ${hook} on ${name}` }, request);

const occasionFor = (actor: Actor, { id }: FastifyRequest): Occasion => ({
  actor,
  cause: { kind: 'request', id, reason: null },
});

function actorFrom(caller: Caller): Actor {
  switch (caller.kind) {
    case 'user':
      return { kind: 'user', id: caller.access.user.id, name: caller.name };
    case 'host':
      return { kind: 'host', id: caller.id, name: caller.name };
    case 'signaller':
      return actorFromGrant(caller.grant);
    case 'holder':
      return { kind: 'system', id: '', name: caller.name };
    case 'credential':
      return { kind: 'system', id: caller.id, name: `credential ${caller.name}` };
  }
}

const actorFromGrant = ({ resource_id: id, resource_name: name }: SignalGrant): Actor => ({
  kind: 'system',
  id,
  name: `signed URL of ${name}`,
});
