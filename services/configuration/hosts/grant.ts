/**
 * Credentials with which a host uses the broker directly.
 *
 * B1 The document knows the credentials before the broker does, and forgets them before the broker does. So a crash in
 *    between leaves credentials that reach no request and whose messages change nothing.
 * B2 New credentials replace the earlier ones. A new token of the host and its deletion revoke them.
 * B3 A durable timer repeats a revocation until the broker has taken it.
 * B4 A deleted host gets a last message before its credentials end, if it listens. Any process may die before it, so the
 *    refusal of its credentials is what a host can rely on.
 */
import type { BrokerAccess, HostDoor } from '@anneal/bus/hosts/door.ts';
import type { HostFarewell } from '@anneal/contracts/calls/host-messages.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { change } from '@anneal/store/change.ts';
import { newCredential } from '@anneal/runtime/secrets/new-credential.ts';
import type { HostDocument } from '../collections.ts';
import { hostTokenHash, type HostContext } from './host.ts';

/** @throws AnnealError NotSupported when the operator has set no broker */
function requireDoor({ door }: HostContext): HostDoor {
  const open = door();
  if (open) return open;
  throw new AnnealError(
    'NotSupported',
    'Cannot make credentials for a broker: this installation has no broker for hosts. Set ANNEAL_CONFIGURATION_HOST_BROKER_URL (see docs/tasks/use-a-broker-on-a-host.md), or use HTTP: anneal host join.',
  );
}

/**
 * Issues credentials, instead of the earlier ones (B2).
 * @throws AnnealError NotSupported without a broker, NotFound for a deleted host, Unavailable when the broker is away
 */
export async function grantBroker(
  context: HostContext,
  host: HostDocument,
): Promise<{ host: HostDocument; access: BrokerAccess & { password: string } }> {
  const door = requireDoor(context);
  const password = newCredential(24);
  const broker = { hash: hostTokenHash(password), issued_at: context.service.now().toISOString(), seen_at: 0 };
  const { document, changed } = await change(context.collections.hosts, host.id, (current) =>
    current.status === 'deleting' ? undefined : { ...current, broker },
  );
  if (!document || !changed) throw new AnnealError('NotFound', `Host ${host.name} was deleted in the meantime.`);
  return { host: document, access: { ...(await door.grant(host.id, password)), password } };
}

/** Revokes credentials. A repeat is harmless. @throws AnnealError NotSupported, Unavailable: then repeat it */
export async function revokeBroker(context: HostContext, host: HostDocument): Promise<HostDocument> {
  const door = requireDoor(context);
  const { document } = await change(context.collections.hosts, host.id, (current) => {
    if (!current.broker) return undefined;
    const { broker: _revoked, ...rest } = current;
    return rest;
  });
  await door.revoke(host.id);
  return document ?? host;
}

/** Completes the revocation that a timer repeats (B3), unless the host has newer credentials, which replaced them. */
export async function endGrant(
  context: HostContext,
  { host, issued }: { host: string; issued: string },
): Promise<void> {
  const current = await context.collections.hosts.get(host);
  if (current?.broker && current.status !== 'deleting' && current.broker.issued_at !== issued) return;
  const door = context.door();
  const isDeleted = !current || current.status === 'deleting';
  const farewell: HostFarewell = { deleted: true, host_id: host };
  if (door) return door.revoke(host, isDeleted ? JSON.stringify(farewell) : undefined); // B4
  context.service.log.warn(
    { host },
    'credentials of a host not removed from the broker, because no broker for hosts is set; remove its user by hand',
  );
}

/** True for the current password of a host. */
export async function isGranted({ collections }: HostContext, hostId: string, password: string): Promise<boolean> {
  const host = await collections.hosts.get(hostId);
  return host?.broker !== undefined && host.status !== 'deleting' && host.broker.hash === hostTokenHash(password);
}
