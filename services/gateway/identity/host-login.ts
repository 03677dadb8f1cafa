/**
 * Lets a host log in as a user with the host's id and with its token as password, so that collectors that know only
 * Keystone can reach their queue. The Keystone token that it gets is the same token, so that a renewal of the host's
 * token ends both. A signaller logs in the same way: its user is the resource and its password is the grant.
 */
import { hostAuthenticate } from '@anneal/contracts/calls/hosts.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { readSignalToken } from '@anneal/runtime/secrets/signal-grant.ts';
import type { Ask } from '../ask.ts';

export interface HostIdentity {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly token: string;
}

/** Undefined when the token does not belong to this host or signaller. */
export async function hostLogin(
  { ask, secrets }: { ask: Ask; secrets: Secrets },
  { id, token }: { id: string; token: string },
): Promise<HostIdentity | undefined> {
  const grant = readSignalToken(secrets, token);
  if (grant) {
    return grant.resource_id === id ? { id, name: grant.resource_name, project: grant.project, token } : undefined;
  }
  try {
    const host = await ask('configuration', hostAuthenticate, { data: { token } });
    return host.host_id === id ? { id, name: host.name, project: host.project, token } : undefined;
  } catch (error) {
    if (hasCode(error, 'Unauthorized', 'NotFound')) return undefined;
    throw error;
  }
}
