/**
 * Identifies the caller of a request. A token belongs to a user, is a grant to signal a resource, or belongs to a host
 * that the configuration service knows. Hosts and signallers may use only routes that are explicitly open to them. A
 * token without a project may use only the identity API.
 *
 * A1 Every request of a host has its token checked by the configuration service. Every gateway therefore refuses the
 *    token at once after a renewal or after the host's deletion.
 * A2 The gateway remembers which host a token belonged to. It trusts its memory only for routes whose call carries the
 *    hash of the token (`ofHost`), because the configuration service checks the hash in that call, and answers
 *    Unauthorized. All other routes ask first.
 */
import { createHash } from 'node:crypto';
import { credentialAuthenticate, credentialPrefix, type CredentialRight } from '@anneal/contracts/calls/credentials.ts';
import { hostAuthenticate } from '@anneal/contracts/calls/hosts.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { hasRole, isOperator, type UserAccess } from '@anneal/directory/access.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { readSignalToken, type SignalGrant } from '@anneal/runtime/secrets/signal-grant.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { requestPath } from '../http/base-url.ts';
import { requireRule } from './access-rules.ts';
import type { KnownUsers, TokenAccess } from './known-users.ts';
import { allowsRoute, needOfRoute, requireRole } from './rights.ts';
import { tokenOf } from './session.ts';

export interface UserCaller extends TokenAccess {
  readonly kind: 'user';
  readonly name: string;
  /** Null for a token without a project: without a scope, or with a domain or the system as its scope. */
  readonly project: string | null;
}

export interface HostCaller {
  readonly kind: 'host';
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly requestsQueue: string;
  readonly responsesQueue: string;
  readonly tokenHash: string;
}

/** A client with a grant to signal one resource. */
export interface SignallerCaller {
  readonly kind: 'signaller';
  readonly name: string;
  readonly project: string;
  readonly grant: SignalGrant;
}

/** A program with a few rights in one stack. */
export interface CredentialCaller {
  readonly kind: 'credential';
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly can: readonly CredentialRight[];
  readonly stack: { readonly id: string; readonly name: string };
}

/** The holder of a signed URL, which allows some methods of some paths of one queue (`zaqar/signed-url.ts`). */
export interface HolderCaller {
  readonly kind: 'holder';
  readonly name: string;
  readonly project: string;
}

export type Caller = UserCaller | HostCaller | SignallerCaller | CredentialCaller | HolderCaller;

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    /** Needs no token. */
    public?: boolean;
    /** Hosts may use it too. */
    hosts?: boolean;
    /** Its calls carry the hash of a host's token, which the configuration service checks (A2). */
    checksHost?: boolean;
    /** Changes something although its method only reads, so that the audit has a line for it. */
    audited?: boolean;
    /** Whether the audit log has the field `reason` of the body, because a person gives it for the log. */
    reasoned?: boolean;
    /** The setting of its own limit for the size of a body. */
    limitedBy?: string;
    /** Signallers may use it too, for the resource that their grant is for. */
    signallers?: boolean;
  }
}

/** `remembered`: a host that the gateway remembers will do, because the call that follows checks its token (A2). */
export type Authenticate = (token: string, options?: { remembered?: boolean }) => Promise<Caller | undefined>;

/** How long an unknown token stays cached. Short, because the token of a new host may become valid at any moment. */
const strangerCacheMs = 2_000;
const mostCached = 50_000;

export function createAuthenticate({
  users,
  secrets,
  ask,
  askForHost,
  now,
}: {
  users: KnownUsers;
  secrets: Secrets;
  ask: Ask;
  askForHost: Ask;
  now: () => number;
}): Authenticate {
  /** Unknown tokens, and until when each counts as unknown. */
  const strangers = new Map<string, number>();
  const rememberStranger = (token: string): void => {
    strangers.delete(token);
    strangers.set(token, now() + strangerCacheMs);
    if (strangers.size > mostCached) {
      const [oldest] = strangers.keys();
      if (oldest !== undefined) strangers.delete(oldest);
    }
  };

  const known = new Map<string, HostCaller>();
  const rememberHost = (token: string, host: HostCaller): void => {
    known.delete(token);
    known.set(token, host);
    if (known.size > mostCached) {
      const [oldest] = known.keys();
      if (oldest !== undefined) known.delete(oldest);
    }
  };

  return async (text, { remembered = false } = {}) => {
    if (text.length > 4096) return undefined;
    const host = remembered ? known.get(text) : undefined;
    if (host) return host;
    const grant = readSignalToken(secrets, text);
    if (grant) return { kind: 'signaller', name: grant.resource_name, project: grant.project, grant };
    if (text.startsWith(credentialPrefix)) return credentialOf(ask, text);
    if ((strangers.get(text) ?? 0) > now()) return undefined;
    const user = await users.find(text);
    if (user !== undefined) return user ? userCaller(user) : undefined;
    try {
      const found = await askForHost('configuration', hostAuthenticate, { data: { token: text } });
      const caller: HostCaller = {
        kind: 'host',
        id: found.host_id,
        name: found.name,
        project: found.project,
        requestsQueue: found.requests_queue,
        responsesQueue: found.responses_queue,
        tokenHash: createHash('sha256').update(text).digest('hex'),
      };
      rememberHost(text, caller);
      return caller;
    } catch (error) {
      known.delete(text);
      if (hasCode(error, 'Unauthorized', 'NotFound', 'Forbidden')) {
        rememberStranger(text);
        return undefined;
      }
      throw error;
    }
  };
}

/** The caller with a token of a user. */
export const userCaller = ({ token, access }: TokenAccess): UserCaller => ({
  kind: 'user',
  name: access.user.name,
  project: access.project?.id ?? null,
  token,
  access,
});

/** The caller of a machine credential. Each request asks, so that a revoked one is refused at once. */
async function credentialOf(ask: Ask, token: string): Promise<CredentialCaller | undefined> {
  try {
    const { id, name, project, can, stack } = await ask('notification', credentialAuthenticate, { data: { token } });
    return { kind: 'credential', id, name, project, can, stack };
  } catch (error) {
    if (hasCode(error, 'Unauthorized', 'InvalidRequest')) return undefined;
    throw error;
  }
}

/** Requires a token for every route of the scope that is not public. */
export function requireToken(
  scope: FastifyInstance,
  authenticate: Authenticate,
  options: { skip?: (request: FastifyRequest) => boolean; unscoped?: boolean } = {},
): void {
  scope.addHook('onRequest', async (request) => {
    const { config } = request.routeOptions;
    if (config.public === true || options.skip?.(request)) return;
    const caller = await authenticated(request, authenticate, { remembered: config.checksHost === true });
    // The audit of a refusal names its caller.
    request.caller = caller;
    if (caller.kind === 'user') {
      const path = requestPath(request);
      requireRule(caller.access.applicationCredential, { method: request.method, path });
    }
    const { url } = request.routeOptions;
    // An address that does not exist is a 404 for every user.
    if (caller.kind === 'user' && options.unscoped !== true && url !== undefined) {
      const need = needOfRoute(request.method, url);
      const isAllowed = need.operator || (need.system && caller.access.system);
      if (caller.project === null && !isAllowed) throw withoutProject();
      requireRole(caller.access, need);
    }
    if (caller.kind === 'host' && config.hosts !== true) {
      throw new AnnealError(
        'Forbidden',
        `The token of host ${caller.name} may only claim from its own requests queue, post to its own responses queue, and read the contexts of its host.`,
      );
    }
    if (caller.kind === 'signaller' && config.signallers !== true) {
      throw new AnnealError('Forbidden', `This token may only signal the resource ${caller.name}.`);
    }
    if (caller.kind === 'credential' && !allowsRoute(caller.can, request.method, request.routeOptions.url)) {
      throw new AnnealError(
        'Forbidden',
        `The credential ${caller.name} may only use ${caller.can.join(', ')} in stack ${caller.stack.name}.`,
      );
    }
  });
  forgetRefusedHosts(scope, authenticate);
}

/**
 * Forgets a remembered host whose token was refused, so that its next request learns whether it was renewed (401) or the
 * host was deleted (410, on which an agent ends).
 */
export function forgetRefusedHosts(scope: FastifyInstance, authenticate: Authenticate): void {
  scope.addHook('onError', async (request, _reply, error) => {
    if (request.caller?.kind !== 'host' || !hasCode(error, 'Unauthorized')) return;
    const token = tokenOf(request);
    if (token !== undefined) await authenticate(token).catch(() => undefined);
  });
}

/** The current caller, by token or by the cookie of a session. @throws AnnealError Unauthorized, also for a token that is no longer valid. */
export async function authenticated(
  request: FastifyRequest,
  authenticate: Authenticate,
  options?: { remembered?: boolean },
): Promise<Caller> {
  const token = tokenOf(request);
  const caller = token === undefined ? undefined : await authenticate(token, options);
  if (!caller) throw new AnnealError('Unauthorized', 'The request you have made requires authentication.');
  return caller;
}

/** The part of a call by which the configuration service checks the token of a host (A2). Empty for other callers. */
export function ofHost(caller: Caller): { caller?: { host_id: string; token_hash: string } } {
  return caller.kind === 'host' ? { caller: { host_id: caller.id, token_hash: caller.tokenHash } } : {};
}

export const withoutProject = (): AnnealError =>
  new AnnealError('Forbidden', 'This token has no project; request one with "scope": {"project": …}.');

export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new AnnealError('Unauthorized', 'The request you have made requires authentication.');
  return request.caller;
}

/** The caller's access. @throws AnnealError Forbidden for a host, a signaller or a machine credential */
export function accessOf(request: FastifyRequest): UserAccess {
  const caller = callerOf(request);
  if (caller.kind === 'user') return caller.access;
  throw new AnnealError('Forbidden', 'Only users may use the identity API.');
}

/** The project that a request works in. @throws AnnealError Forbidden for a token without one. */
export function projectOf(request: FastifyRequest): string {
  const { project } = callerOf(request);
  if (project === null) throw withoutProject();
  return project;
}

/** Whether the request comes from a user who may change the project, not only read it. */
export function mayChange(request: FastifyRequest): boolean {
  const caller = callerOf(request);
  return caller.kind === 'user' && hasRole(caller.access, 'member');
}

/** Whether the request comes from an operator, who also sees what belongs to no project. */
export function isFromOperator(request: FastifyRequest): boolean {
  const caller = callerOf(request);
  return caller.kind === 'user' && isOperator(caller.access, 'reader');
}
