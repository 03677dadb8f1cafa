/**
 * Who is asking. A token is a user's, or a grant to signal a resource, or the configuration service knows it as a host's.
 * A host may do nothing but what a route explicitly opens to hosts, and so with signallers.
 */
import { hostAuthenticate } from '@anneal/contracts/configuration.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import { readSignalToken, type SignalGrant } from '@anneal/runtime/signal-grant.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { adminUser } from './principals.ts';
import type { TokenDocument, Tokens } from './tokens.ts';

export interface UserCaller {
  readonly kind: 'user';
  readonly name: string;
  /** Null for a token without a scope, which only identity takes. */
  readonly project: string | null;
  readonly token: TokenDocument;
}

export interface HostCaller {
  readonly kind: 'host';
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly requestsQueue: string;
  readonly responsesQueue: string;
}

/** Whoever was handed a grant to signal one resource. */
export interface SignallerCaller {
  readonly kind: 'signaller';
  readonly name: string;
  readonly project: string;
  readonly grant: SignalGrant;
}

export type Caller = UserCaller | HostCaller | SignallerCaller;

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    /** Needs no token. */
    public?: boolean;
    /** Hosts may use it too. */
    hosts?: boolean;
    /** Signallers may use it too, for the resource that their grant is for. */
    signallers?: boolean;
  }
}

export type Authenticate = (token: string) => Promise<Caller | undefined>;

const hostCacheMs = 30_000;
/** An unknown token is asked again soon: a host's token may be minutes old, or a moment. */
const strangerCacheMs = 2_000;
const mostCached = 20_000;

export function createAuthenticate({
  tokens,
  secrets,
  ask,
  now,
}: {
  tokens: Tokens;
  secrets: Secrets;
  ask: Ask;
  now: () => number;
}): Authenticate {
  const cache = new Map<string, { caller: HostCaller | undefined; until: number }>();
  const remember = (token: string, caller: HostCaller | undefined): HostCaller | undefined => {
    cache.delete(token);
    cache.set(token, { caller, until: now() + (caller ? hostCacheMs : strangerCacheMs) });
    if (cache.size > mostCached) {
      const [oldest] = cache.keys();
      if (oldest !== undefined) cache.delete(oldest);
    }
    return caller;
  };

  return async (text) => {
    if (text.length > 4096) return undefined;
    const grant = readSignalToken(secrets, text);
    if (grant) return { kind: 'signaller', name: grant.resource_name, project: grant.project, grant };
    const cached = cache.get(text);
    if (cached && cached.until > now()) return cached.caller;
    const token = await tokens.find(text);
    if (token) return { kind: 'user', name: adminUser.name, project: token.project_id, token };
    try {
      const host = await ask('configuration', hostAuthenticate, { data: { token: text } });
      return remember(text, {
        kind: 'host',
        id: host.host_id,
        name: host.name,
        project: host.project,
        requestsQueue: host.requests_queue,
        responsesQueue: host.responses_queue,
      });
    } catch (error) {
      if (error instanceof AnnealError && ['Unauthorized', 'NotFound', 'Forbidden'].includes(error.code)) {
        return remember(text, undefined);
      }
      throw error;
    }
  };
}

/** Every route of the scope needs a token, unless it says that it is public. */
export function requireToken(
  scope: FastifyInstance,
  authenticate: Authenticate,
  options: { skip?: (request: FastifyRequest) => boolean } = {},
): void {
  scope.addHook('onRequest', async (request) => {
    const { config } = request.routeOptions;
    if (config.public === true || options.skip?.(request)) return;
    const token = request.headers['x-auth-token'];
    const caller = typeof token === 'string' && token !== '' ? await authenticate(token) : undefined;
    if (!caller) throw new AnnealError('Unauthorized', 'The request you have made requires authentication.');
    if (caller.kind === 'host' && config.hosts !== true) {
      throw new AnnealError(
        'Forbidden',
        `The token of host ${caller.name} may only take requests from its own queue and post to its own responses.`,
      );
    }
    if (caller.kind === 'signaller' && config.signallers !== true) {
      throw new AnnealError('Forbidden', `This token may only signal the resource ${caller.name}.`);
    }
    request.caller = caller;
  });
}

export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new AnnealError('Unauthorized', 'The request you have made requires authentication.');
  return request.caller;
}

/** The project that a request works in. @throws AnnealError Forbidden for a token without one. */
export function projectOf(request: FastifyRequest): string {
  const { project } = callerOf(request);
  if (project === null) {
    throw new AnnealError('Forbidden', 'This token has no project; ask for one with "scope": {"project": …}.');
  }
  return project;
}
