/**
 * The audit log: a line for each call of a user, with who, what, from where, and the outcome.
 *
 * A1 A line has the pattern of the route and the names in the address. It has no query, no body and no header, because
 *    these hold secrets. A route may demand a reason for the log in its body, which is in the line then.
 * A2 A refused call has a line too. Without a valid token its line has no names, because a stranger chose them.
 * A3 Hosts, signals and machine credentials have none: their calls are progress and measurements, which are events.
 */
import { isObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import type { Caller } from './caller.ts';

/** The calls that have a line. */
export const auditLevels = ['off', 'changes', 'all'] as const;
export type AuditLevel = (typeof auditLevels)[number];

export interface AuditLine {
  /** The method and the pattern of the address. */
  readonly action: string;
  /** The names and ids in the address. */
  readonly names: Readonly<Record<string, string>>;
  /** Why, in the words of the user. Absent: the route takes no reason. */
  readonly reason?: string;
  /** Null without a valid token. */
  readonly user: { readonly id: string; readonly name: string; readonly domain: string } | null;
  /** The id of the application credential that the user's token comes from. */
  readonly application_credential?: string;
  /** Null for a token without a project. */
  readonly project: string | null;
  /** The address of the client. */
  readonly from: string;
  readonly status: number;
  /** `refused`: no valid token, or not enough rights. */
  readonly outcome: 'success' | 'refused' | 'failure';
  readonly request: string;
}

/** The parts of a request that a line is made from. */
type Audited = Pick<FastifyRequest, 'method' | 'params' | 'ip' | 'id' | 'body'> & {
  readonly caller: Caller | null;
  readonly routeOptions: {
    readonly url?: string | undefined;
    readonly config: FastifyRequest['routeOptions']['config'];
  };
};

const reads = new Set(['GET', 'HEAD', 'OPTIONS']);
const longestName = 255;
const longestReason = 1024;

/** The line of an answered call; undefined when it has none. `isForUsers`: the API is one that users call. */
export function auditLineOf(
  { method, params, ip, id, body, caller, routeOptions: { url, config } }: Audited,
  { status, level, isForUsers }: { status: number; level: AuditLevel; isForUsers: boolean },
): AuditLine | undefined {
  const isRead = reads.has(method) && config.audited !== true;
  if (level === 'off' || url === undefined || (level === 'changes' && isRead)) return undefined;
  const action = `${method} ${url}`;
  const answered = { from: ip, status, outcome: outcomeOf(status), request: id } as const;
  if (caller === null) {
    const isOfUsers = isForUsers && config.hosts !== true && config.signallers !== true;
    if (!isOfUsers || answered.outcome !== 'refused') return undefined;
    return { action, names: {}, user: null, project: null, ...answered };
  }
  if (caller.kind !== 'user') return undefined;
  const { user } = caller.access;
  const credential = caller.token.application_credential_id;
  return {
    action,
    names: Object.fromEntries(
      Object.entries(params as Record<string, string>).map(([name, value]) => [name, value.slice(0, longestName)]),
    ),
    ...(config.reasoned &&
      isObject(body) &&
      typeof body['reason'] === 'string' && { reason: body['reason'].slice(0, longestReason) }),
    user: { id: user.id, name: user.name, domain: user.domain_id },
    ...(credential !== undefined && { application_credential: credential }),
    project: caller.project,
    ...answered,
  };
}

function outcomeOf(status: number): AuditLine['outcome'] {
  if (status < 400) return 'success';
  return status === 401 || status === 403 ? 'refused' : 'failure';
}
