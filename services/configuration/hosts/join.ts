/**
 * Joining: a machine that already runs becomes a host with one line. An operator gets a join token; the machine exchanges
 * it for the token of the host.
 *
 * J1 The store has only the hash of a join token. It works once, for a limited time, and a newer one replaces it.
 * J2 A repeat of the exchange with the same key returns the same token, because the answer may have been lost.
 * J3 An exchange replaces the token of the host, so that the machine that joined last is the host.
 *
 * A joined host exists without a stack. An `OS::Heat::DeployedServer` whose name means it (`names.ts`) takes it while no
 * other one does: the host is then that server, and returns when the server is deleted.
 */
import { randomUUID } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { change } from '@anneal/store/change.ts';
import { newCredential } from '@anneal/runtime/secrets/new-credential.ts';
import type { HostDocument } from '../collections.ts';
import { checkHostName, findHost, joinedHosts } from './names.ts';
import { armRevocation, createHost, hostTokenHash, openHostToken, withToken, type HostContext } from './host.ts';

export interface JoinToken {
  readonly host: HostDocument;
  readonly join_token: string;
  readonly expires_at: string;
}

/**
 * A host that exists keeps the name that it has, whatever an earlier release accepted.
 * @throws AnnealError InvalidRequest for the name of a new host, QuotaExceeded for a new host, NotFound for one that is
 * deleted meanwhile
 */
export async function issueJoinToken(
  context: HostContext,
  { project, host: named }: { project: string; host: string },
): Promise<JoinToken> {
  const { collections, service } = context;
  const found = await findHost(collections, { project, host: named });
  if (!found) checkHostName(named);
  const { host } = found ? { host: found } : await createHost(context, { id: randomUUID(), name: named, project });
  const join_token = newCredential(24);
  const expires_at = new Date(service.now().getTime() + context.joinMs).toISOString();
  const { document: saved } = await change(collections.hosts, host.id, ({ join_key_hash: _used, ...current }) => ({
    ...current,
    ...(!found && { joined: true }),
    join_hash: hostTokenHash(join_token),
    join_expires_at: expires_at,
  }));
  if (!saved) throw new AnnealError('NotFound', `Host ${named} was deleted in the meantime.`);
  return { host: saved, join_token, expires_at };
}

/** @throws AnnealError NotFound for a token that is wrong or expired, Conflict for one that another machine used */
export async function exchangeJoinToken(
  context: HostContext,
  { join_token, key }: { join_token: string; key: string },
): Promise<{ host: HostDocument; token: string }> {
  const join_hash = hostTokenHash(join_token);
  const [host] = await context.collections.hosts.find({ where: { join_hash }, limit: 1 });
  const valid =
    host && host.status !== 'deleting' && (host.join_expires_at ?? '') > context.service.now().toISOString();
  if (!valid) {
    throw new AnnealError(
      'NotFound',
      'This line to join is wrong, expired or replaced by a newer one. Get a new one: anneal host join NAME.',
    );
  }
  const join_key_hash = hostTokenHash(key);
  const token = newCredential(32);
  // The machine that had the broker credentials is the host no more (J3).
  if (host.join_key_hash === undefined) await armRevocation(context, host);
  const { document, changed } = await change(context.collections.hosts, host.id, ({ broker: _revoked, ...current }) =>
    current.join_hash === join_hash && current.join_key_hash === undefined
      ? { ...current, ...withToken(context, token), join_key_hash }
      : undefined,
  );
  if (document && changed) return { host: document, token };
  if (document?.join_hash === join_hash && document.join_key_hash === join_key_hash) {
    return { host: document, token: openHostToken(context, document) };
  }
  throw new AnnealError(
    'Conflict',
    `Another machine used this line to join as ${host.name}. Get a new one: anneal host join ${host.name}.`,
  );
}

/**
 * Gives a free joined host to the server of a stack: the one with the id `take`, otherwise one with the name. Undefined
 * when the name means no free joined host.
 * @throws AnnealError NotFound or Conflict when the host `take` cannot be given, InvalidRequest when the name fits several
 */
export async function takeHost(
  context: HostContext,
  { id, name, project, take }: { id: string; name: string; project: string; take?: string | undefined },
): Promise<HostDocument | undefined> {
  const [mine] = await context.collections.hosts.find({ where: { taken_by: id }, limit: 1 });
  if (mine) return mine;
  if (take !== undefined) return takeExisting(context, { id, project, take });
  // An earlier call made a host for the server.
  if (await context.collections.hosts.get(id)) return undefined;
  const named = await joinedHosts(context.collections, { project, name });
  const free = named.find((each) => isFree(each));
  if (!free) return undefined;
  const { document, changed } = await change(context.collections.hosts, free.id, (current) =>
    isFree(current) ? { ...current, taken_by: id } : undefined,
  );
  return changed ? document : undefined;
}

async function takeExisting(
  { collections: { hosts } }: HostContext,
  { id, project, take }: { id: string; project: string; take: string },
): Promise<HostDocument> {
  const { document, changed } = await change(hosts, take, (current) =>
    current.project === project && isFree(current) ? { ...current, taken_by: id } : undefined,
  );
  if (document?.project !== project) throw new AnnealError('NotFound', `There is no host ${take}.`);
  if (changed) return document;
  throw new AnnealError('Conflict', `Host ${document.name} did not join by itself, or belongs to another stack.`);
}

const isFree = ({ joined, taken_by, status }: HostDocument): boolean =>
  joined === true && taken_by === undefined && status !== 'deleting';

/** Returns the host of a deleted server, so that it exists without a stack again. Undefined when the server took none. */
export async function returnHost(context: HostContext, server: string): Promise<HostDocument | undefined> {
  const [host] = await context.collections.hosts.find({ where: { taken_by: server }, limit: 1 });
  if (!host) return undefined;
  const { document } = await change(
    context.collections.hosts,
    host.id,
    ({ taken_by: _server, collector: _collector, place: _place, ...current }) => current,
  );
  return document;
}

/** @throws AnnealError Conflict for a host of a stack, which only its stack deletes */
export function refuseStackHost({ joined, taken_by, name }: HostDocument): void {
  if (joined === true && taken_by === undefined) return;
  throw new AnnealError('Conflict', `Host ${name} belongs to a stack. Delete its server from the stack instead.`);
}
