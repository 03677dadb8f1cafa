/**
 * Who is asking. A token is a user's, or a grant to signal a resource, or the configuration service knows it as a host's.
 * A host may do nothing but what a route explicitly opens to hosts, and so with signallers. A token without a project may
 * use identity alone.
 *
 * A1 Every request of a host, and every look of one that waits, asks the configuration service for its token: a token that
 *    was renewed or whose host is gone is refused at once by every gateway. Only refusals are remembered.
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
  /** Until when a token counts as unknown. */
  const strangers = new Map<string, number>();
  const rememberStranger = (token: string): void => {
    strangers.delete(token);
    strangers.set(token, now() + strangerCacheMs);
    if (strangers.size > mostCached) {
      const [oldest] = strangers.keys();
      if (oldest !== undefined) strangers.delete(oldest);
    }
  };

  return async (text) => {
    if (text.length > 4096) return undefined;
    const grant = readSignalToken(secrets, text);
    if (grant) return { kind: 'signaller', name: grant.resource_name, project: grant.project, grant };
    if ((strangers.get(text) ?? 0) > now()) return undefined;
    const token = await tokens.find(text);
    if (token) return { kind: 'user', name: adminUser.name, project: token.project_id, token };
    try {
      const host = await ask('configuration', hostAuthenticate, { data: { token: text } });
      return {
        kind: 'host',
        id: host.host_id,
        name: host.name,
        project: host.project,
        requestsQueue: host.requests_queue,
        responsesQueue: host.responses_queue,
      };
    } catch (error) {
      if (error instanceof AnnealError && ['Unauthorized', 'NotFound', 'Forbidden'].includes(error.code)) {
        rememberStranger(text);
        return undefined;
      }
      throw error;
    }
  };
}

/** Every route of the scope needs a token, unless it says that it is public. */
export function requireToken(
  scope: FastifyInstance,
  authenticate: Authenticate,
  options: { skip?: (request: FastifyRequest) => boolean; unscoped?: boolean } = {},
): void {
  scope.addHook('onRequest', async (request) => {
    const { config } = request.routeOptions;
    if (config.public === true || options.skip?.(request)) return;
    const caller = await authenticated(request, authenticate);
    if (caller.project === null && options.unscoped !== true) throw withoutProject();
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

/** Who sends the request by its token now. @throws AnnealError Unauthorized, also for a token that was good before. */
export async function authenticated(request: FastifyRequest, authenticate: Authenticate): Promise<Caller> {
  const token = request.headers['x-auth-token'];
  const caller = typeof token === 'string' && token !== '' ? await authenticate(token) : undefined;
  if (!caller) throw new AnnealError('Unauthorized', 'The request you have made requires authentication.');
  return caller;
}

const withoutProject = (): AnnealError =>
  new AnnealError('Forbidden', 'This token has no project; ask for one with "scope": {"project": …}.');

export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new AnnealError('Unauthorized', 'The request you have made requires authentication.');
  return request.caller;
}

/** The project that a request works in. @throws AnnealError Forbidden for a token without one. */
export function projectOf(request: FastifyRequest): string {
  const { project } = callerOf(request);
  if (project === null) throw withoutProject();
  return project;
}
