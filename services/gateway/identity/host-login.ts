/**
 * A host logs in as a user whose id is the host's and whose password is its token: that is how collectors that know
 * nothing but Keystone reach their queue. The token of Keystone that it gets is the same one, so that renewing the token
 * of the host ends both.
 */
import { hostAuthenticate } from '@anneal/contracts/configuration.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Ask } from '../ask.ts';

export interface HostIdentity {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly token: string;
}

/** Undefined when the token is not that of this host. */
export async function hostLogin(
  ask: Ask,
  { id, token }: { id: string; token: string },
): Promise<HostIdentity | undefined> {
  try {
    const host = await ask('configuration', hostAuthenticate, { data: { token } });
    return host.host_id === id ? { id, name: host.name, project: host.project, token } : undefined;
  } catch (error) {
    if (error instanceof AnnealError && ['Unauthorized', 'NotFound'].includes(error.code)) return undefined;
    throw error;
  }
}
