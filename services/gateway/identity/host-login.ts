/**
 * A host logs in as a user whose id is the host's and whose password is its token: that is how collectors that know
 * nothing but Keystone reach their queue. The token of Keystone that it gets is the same one, so that renewing the token
 * of the host ends both. A signaller logs in the same way: its user is the resource, its password the grant.
 */
import { hostAuthenticate } from '@anneal/contracts/configuration.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import { readSignalToken } from '@anneal/runtime/signal-grant.ts';
import type { Ask } from '../ask.ts';

export interface HostIdentity {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly token: string;
}

/** Undefined when the token is not that of this host or signaller. */
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
    if (error instanceof AnnealError && ['Unauthorized', 'NotFound'].includes(error.code)) return undefined;
    throw error;
  }
}
