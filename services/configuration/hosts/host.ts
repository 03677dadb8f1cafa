/**
 * Hosts: creation with queues and token, contact, silence and deletion.
 *
 * States: `expected` from creation until the first contact of its agent; `up` from then on; `silent` after no contact
 * for the time in the settings, and `up` again at the next contact; `deleting` until its parts and it are removed.
 *
 * H1 A repeated creation returns the same token.
 * H2 A change of status and the event that reports it are written together.
 * H3 A search of the index of `last_seen_at` finds silent hosts. The written contact of a host that is not silent is never
 *    older than half the time of silence and the interval of its reports, so the search reads no other hosts.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { HostCollector, HostView } from '@anneal/contracts/calls/hosts.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { hostEvent } from '@anneal/contracts/events.ts';
import { hostNameKey } from '@anneal/contracts/host-name.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { hostRequestsQueue, hostResponsesQueue, queueNamedLike } from '@anneal/contracts/queues.ts';
import { noPlace, type Occasion, type Origin, type TreePlace } from '@anneal/contracts/origin.ts';
import type { Condition } from '@anneal/contracts/calls/stacks.ts';
import type { HostDoor } from '@anneal/bus/hosts/door.ts';
import type { Admission, ProjectQuotas } from '@anneal/runtime/service/project-quotas.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { DuplicateError, type Draft } from '@anneal/store/port.ts';
import type { Timers } from '@anneal/store/timers.ts';
import type { ConfigurationCollections, HostDocument } from '../collections.ts';
import type { Contacts } from './contacts.ts';
import { mergeFacts } from './facts.ts';
import { actorOfHost, originOfHost } from './origin.ts';
import { rebootingText, viewReboot } from './reboot-view.ts';
import { flushOutbox, type Outgoing } from '@anneal/runtime/work/outbox.ts';
import { change } from '@anneal/store/change.ts';
import { newCredential } from '@anneal/runtime/secrets/new-credential.ts';
import { isQuotaRefusal, roomyQuota } from '../queues/limits.ts';
import { makeQueue, removeQueue, type QueueContext } from '../queues/queue.ts';
import { hostQueue } from './queues.ts';

export interface HostContext {
  readonly service: ServiceContext;
  readonly collections: ConfigurationCollections;
  readonly queues: QueueContext;
  readonly timers: () => Timers;
  readonly contacts: Contacts;
  /** The broker that hosts may use. Undefined without one. */
  readonly door: () => HostDoor | undefined;
  readonly silentAfterMs: number;
  /** Start of this service. Silence counts from here at the earliest, because no host could reach a stopped service. */
  readonly startedAt: number;
  /** How long a join token works. */
  readonly joinMs: number;
  readonly quotas: ProjectQuotas<'hosts' | 'queues'>;
}

/** The most hosts that one search marks as silent. */
const silentAtOnce = 1000;
/** Minimum interval between updates of `last_seen_at`. */
const contactStepMs = 5_000;

export const hostTokenHash = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Arms the revocation of the broker credentials that a host has. Done before the document forgets them. */
export async function armRevocation(context: HostContext, { id, broker }: HostDocument): Promise<void> {
  if (!broker) return;
  const data = { host: id, issued: broker.issued_at };
  await context.timers().set([{ id: `revoke:${id}`, dueAt: context.queues.now(), data }]);
}

export async function createHost(
  context: HostContext,
  { id, name, project, place }: { id: string; name: string; project: string; place?: TreePlace | undefined },
): Promise<{ host: HostDocument; token: string }> {
  const { collections, service } = context;
  const token = newCredential(32);
  const created_at = service.now().toISOString();
  const insert = (): Promise<HostDocument> =>
    collections.hosts.insert({
      id,
      project,
      name,
      name_key: hostNameKey(name),
      status: 'expected',
      status_since: created_at,
      token_hash: hostTokenHash(token),
      token_sealed: service.secrets.seal(token),
      facts: {},
      created_at,
      first_seen_at: null,
      last_seen_at: null,
      ...(place && { place }),
      outbox: [],
      unsent: false,
    });
  const host = await createOnce(context, { id, name, project }, insert);
  if (host.project !== project) throw new AnnealError('AlreadyExists', `Host ${id} exists in another project.`);
  // Also create them on a repeat, because the first call may have died before the queues existed.
  await Promise.all([
    makeQueue(context.queues, hostQueue(host, 'requests'), {}),
    makeQueue(context.queues, hostQueue(host, 'responses'), {}),
  ]);
  return { host, token: openHostToken(context, host) };
}

/**
 * Inserts a host within the quota of its project, or returns the one that the same request made before.
 * @throws AnnealError QuotaExceeded or InvalidRequest
 */
async function createOnce(
  { collections: { hosts }, quotas }: HostContext,
  { id, name, project }: { id: string; name: string; project: string },
  insert: () => Promise<HostDocument>,
): Promise<HostDocument> {
  const like = queueNamedLike(name);
  if (like !== undefined && !(await hosts.get(id))) {
    const message = `it would give the queue of the host the name ${like}, which is that of another queue`;
    throw new AnnealError('InvalidRequest', `Cannot create host ${name}: ${message}. Choose another name.`, {
      mistakes: [{ code: 'NameInUse', path: 'name', message }],
    });
  }
  const admission: Admission = {
    wanted: 1,
    roomy: roomyQuota,
    count: () => hosts.count({ project }),
    refusal: ({ there, limit: { most, setting } }) =>
      new AnnealError(
        'QuotaExceeded',
        `Cannot create host ${name}: the project has ${there} hosts and the limit is ${most} (${setting}). Delete some hosts first.`,
      ),
  };
  try {
    return await quotas.admit({ name: 'hosts', project }, admission, insert);
  } catch (error) {
    // A repeat of the request that made it is refused at the limit too.
    const made = error instanceof DuplicateError || isQuotaRefusal(error) ? await hosts.get(id) : undefined;
    if (made) return made;
    throw error;
  }
}

export const openHostToken = (context: HostContext, host: HostDocument): string =>
  context.service.secrets.open(host.token_sealed) as unknown as string;

/** The fields of a host with this token. */
export const withToken = ({ service }: HostContext, token: string) => ({
  token_hash: hostTokenHash(token),
  token_sealed: service.secrets.seal(token),
});

export async function renewToken(
  context: HostContext,
  host: HostDocument,
): Promise<{ host: HostDocument; token: string }> {
  const token = newCredential(32);
  await armRevocation(context, host);
  const { document: renewed } = await change(
    context.collections.hosts,
    host.id,
    ({ broker: _revoked, ...current }) => ({
      ...current,
      ...withToken(context, token),
    }),
  );
  if (!renewed) throw new AnnealError('NotFound', `Host ${host.id} was deleted in the meantime.`);
  // Ends the waits of clients that hold the old token.
  await context.queues.wake(hostQueue(renewed, 'requests'));
  return { host: renewed, token };
}

/** Notes the server of a stack that the host is, and where the server is. A repeat changes nothing. */
export async function noteServer(
  { collections }: HostContext,
  host: HostDocument,
  given: { collector?: HostCollector | undefined; place?: TreePlace | undefined },
): Promise<HostDocument> {
  const { collector = host.collector, place = host.place } = given;
  const server = { ...(collector && { collector }), ...(place && { place }) };
  const { document } = await change(collections.hosts, host.id, (current) =>
    isDeepStrictEqual({ ...current, ...server }, current) ? undefined : { ...current, ...server },
  );
  return document ?? host;
}

/** @throws AnnealError NotFound for an unknown host and one that is deleted */
export async function livingHost({ collections }: HostContext, id: string): Promise<HostDocument> {
  const host = await collections.hosts.get(id);
  if (host && host.status !== 'deleting') return host;
  throw new AnnealError('NotFound', `There is no host ${id}.`);
}

/** @throws AnnealError Unauthorized; Gone for the token of a deleted host, so that its agent stops what it runs */
export async function authenticateHost({ collections }: HostContext, token: string): Promise<HostDocument> {
  const hash = hostTokenHash(token);
  const [host] = await collections.hosts.find({ where: { token_hash: hash }, limit: 1 });
  if (host && host.status !== 'deleting') return host;
  const departed = host ?? (await collections.departed.get(hash));
  if (departed) throw new AnnealError('Gone', `Host ${departed.name} was deleted.`);
  throw strangeToken();
}

/** How long the agent of a deleted host learns of the deletion. Longer than almost any config runs. */
const rememberDepartedMs = 7 * 24 * 3_600_000;

/** Forgets hosts that were deleted long ago. */
export async function sweepDeparted({ departed }: ConfigurationCollections, now: number): Promise<void> {
  const old = await departed.find({ where: { deleted_at: { lt: now - rememberDepartedMs } }, limit: 1000 });
  await departed.bulk(old.map(({ id, version }) => ({ kind: 'remove', id, version })));
}

/**
 * Refuses a call by a host whose token is not current. It costs nothing, because the call reads the host anyway.
 * @throws AnnealError Unauthorized
 */
export function requireCurrent(
  host: HostDocument | null,
  caller: { readonly host_id: string; readonly token_hash: string } | undefined,
): void {
  if (!caller) return;
  const isCurrent = host?.id === caller.host_id && host.token_hash === caller.token_hash;
  if (!isCurrent || host.status === 'deleting') throw strangeToken();
}

const strangeToken = (): AnnealError =>
  new AnnealError('Unauthorized', 'This token does not belong to an existing host.');

/**
 * Changes the document of a host and sends its events, one change after another in this process: many messages of a host
 * at once would otherwise overtake each other's changes again and again.
 */
export function changeHost(
  { service, collections, queues }: Pick<HostContext, 'service' | 'collections' | 'queues'>,
  id: string,
  decide: (current: HostDocument) => Draft<HostDocument> | undefined,
): Promise<void> {
  return queues.serial.run(`host ${id}`, async () => {
    const { document, changed } = await change(collections.hosts, id, decide);
    if (changed && document?.unsent) await flushOutbox(service, collections.hosts, document);
  });
}

/**
 * Records a contact: the host asked for work or sent a message, perhaps with facts. A status that changes and facts are
 * durable on return.
 */
export async function hearOf(context: HostContext, host: HostDocument, facts?: JsonObject): Promise<void> {
  const now = context.service.now();
  // Each contact counts, because a server that resumes waits for the first one after its boot.
  if (host.status === 'up' && facts === undefined) return context.contacts.note(host, now.toISOString());
  let dropped: string[] = [];
  const record = (current: HostDocument): Draft<HostDocument> | undefined => {
    if (current.status === 'deleting') return undefined;
    const merged = facts && mergeFacts(current.facts, facts);
    dropped = merged?.dropped ?? [];
    const isRecent = now.getTime() - (Date.parse(current.last_seen_at ?? '') || 0) < contactStepMs;
    if (current.status === 'up' && !merged?.changed && isRecent) return undefined;
    const seen: Draft<HostDocument> = {
      ...current,
      ...(merged?.changed && { facts: merged.facts, facts_version: (current.facts_version ?? 0) + 1 }),
      first_seen_at: current.first_seen_at ?? now.toISOString(),
      last_seen_at: now.toISOString(),
    };
    if (current.status !== 'up') {
      return announce(context, { ...seen, status: 'up', status_since: now.toISOString() }, current.version + 1, 'up');
    }
    return merged?.changed ? announce(context, seen, current.version + 1, 'factsChanged') : seen;
  };
  await changeHost(context, host.id, record);
  if (dropped.length > 0) {
    const facts_left_out = dropped.slice(0, 10);
    context.service.log.warn({ host: host.id, facts_left_out }, 'facts of a host exceed 64 KiB; some are left out');
  }
}

/** Records that these hosts waited on open connections at this time. A host that was silent is up again. */
export async function hearOfPresent(context: HostContext, ids: readonly string[], at: Date): Promise<void> {
  const unknown = context.contacts.notePresent(ids, at.toISOString());
  for (const host of await context.collections.hosts.getMany(unknown)) {
    if (host.status === 'up') context.contacts.note(host, at.toISOString());
    else await hearOf(context, host);
  }
}

/** H3 */
export async function findSilent(context: HostContext): Promise<void> {
  const now = context.queues.now();
  const silentAfterMs = context.silentAfterMs + context.contacts.delayMs;
  if (now < context.startedAt + silentAfterMs) return;
  const before = new Date(now - silentAfterMs).toISOString();
  const { hosts } = context.collections;
  for (let after = '', isFull = true; isFull;) {
    const found = await hosts.find({
      where: { status: 'up', last_seen_at: { gt: after, lte: before } },
      orderBy: ['last_seen_at'],
      limit: silentAtOnce,
    });
    for (const { id } of found) await checkSilence(context, id);
    // Hosts that reboot on purpose do not hide the others.
    isFull = found.length === silentAtOnce && found.every(({ reboot }) => reboot !== undefined);
    after = found.at(-1)?.last_seen_at ?? '';
  }
}

async function checkSilence(context: HostContext, id: string): Promise<void> {
  const now = context.service.now();
  const silentAfterMs = context.silentAfterMs + context.contacts.delayMs;
  const dueAt = (host: HostDocument): number =>
    Math.max(
      Date.parse(context.contacts.lastOf(host) ?? host.created_at),
      context.startedAt,
      Date.parse(host.reboot?.until ?? '') || 0,
    ) + silentAfterMs;
  const { document: host, changed } = await change(context.collections.hosts, id, (current) =>
    current.status === 'up' && dueAt(current) <= now.getTime()
      ? announce(
          context,
          { ...current, status: 'silent', status_since: now.toISOString() },
          current.version + 1,
          'silent',
        )
      : undefined,
  );
  if (!host || !changed) return;
  context.contacts.forget(id);
  context.service.log.warn(
    { host: id, name: host.name, last_seen_at: host.last_seen_at },
    'host is silent; its deployments wait until it returns or until their deadline, check its console',
  );
  await flushOutbox(context.service, context.collections.hosts, host);
}

/** Marks a host as `deleting`. Succeeds when the host is already absent. */
export async function deleteHost(context: HostContext, id: string): Promise<HostDocument | undefined> {
  const { document } = await change(context.collections.hosts, id, (current) =>
    current.status === 'deleting'
      ? undefined
      : { ...current, status: 'deleting' as const, status_since: context.service.now().toISOString() },
  );
  return document;
}

/** Completes a deletion. A restart repeats it after a crash. */
export async function forgetHost(context: HostContext, host: HostDocument, occasion?: Occasion): Promise<void> {
  context.contacts.forget(host.id);
  await armRevocation(context, host);
  await removeQueue(context.queues, hostQueue(host, 'requests'));
  await removeQueue(context.queues, hostQueue(host, 'responses'));
  await context.service.bus.publish([
    context.service.mint(hostEvent.deleted, {
      id: `host.deleted:${host.id}`,
      subject: host.id,
      project: host.project,
      data: hostEventData(host, host.version + 1, deletionOf(host, occasion)),
    }),
  ]);
  await noteDeparted(context, host);
  await context.collections.hosts.remove(host.id);
}

async function noteDeparted({ collections, queues }: HostContext, { name, token_hash }: HostDocument): Promise<void> {
  await collections.departed.insert({ id: token_hash, name, deleted_at: queues.now() }).catch((error: unknown) => {
    // A repeat after a crash.
    if (!(error instanceof DuplicateError)) throw error;
  });
}

export async function viewHost(context: HostContext, host: HostDocument): Promise<HostView> {
  const requests = hostQueue(host, 'requests');
  const pending = await context.collections.messages.count({ queue: requests.id });
  return {
    id: host.id,
    name: host.name,
    project: host.project,
    status: host.status,
    requests_queue: hostRequestsQueue(host.id),
    responses_queue: hostResponsesQueue(host.id),
    facts: host.facts,
    facts_version: host.facts_version ?? 0,
    created_at: host.created_at,
    first_seen_at: host.first_seen_at,
    last_seen_at: context.contacts.lastOf(host),
    pending,
    ...(host.collector && {
      server: {
        stack_id: host.collector.stack_id,
        stack_name: host.collector.stack_name,
        resource_name: host.collector.resource_name,
      },
    }),
    ...(host.broker && {
      broker_access: {
        issued_at: host.broker.issued_at,
        seen_at: host.broker.seen_at === 0 ? null : new Date(host.broker.seen_at).toISOString(),
      },
    }),
    ...viewReboot(host),
    unexpected_answers: [...(host.unexpected ?? [])],
    unexpected_total: host.unexpected_total ?? 0,
    version: host.version,
    conditions: conditionsOf(host, pending),
  };
}

function conditionsOf(host: HostDocument, pending: number): Condition[] {
  const since = host.status_since;
  const said = {
    expected: ['NeverSeen', 'Its agent has not asked for work yet.'],
    up: ['AgentAsks', 'Its agent is asking for work.'],
    silent:
      host.suspended_at === undefined
        ? ['AgentSilent', `Its agent last asked for work at ${host.last_seen_at}.`]
        : ['Suspended', `Its server was suspended at ${host.suspended_at}.`],
    deleting: ['Deleting', 'It is being deleted.'],
  }[host.status];
  const [reason = '', message = ''] = host.reboot ? ['Rebooting', rebootingText(host.reboot)] : said;
  const stalled = host.status === 'silent' && host.suspended_at === undefined && pending > 0;
  return [
    { type: 'Ready', status: host.status === 'up' && !host.reboot ? 'True' : 'False', reason, message, since },
    {
      type: 'Stalled',
      status: stalled ? 'True' : 'False',
      reason: stalled ? 'AgentSilent' : 'NotStalled',
      message: stalled ? `${pending} requests wait in ${hostRequestsQueue(host.id)}, and no client takes them.` : '',
      since,
    },
  ];
}

function announce(
  { service }: HostContext,
  host: Draft<HostDocument>,
  version: number,
  what: 'up' | 'silent' | 'factsChanged',
): Draft<HostDocument> {
  const outgoing: Outgoing = {
    queue: null,
    message: service.mint(hostEvent[what], {
      id: `${hostEvent[what].type}:${host.id}:${version}`,
      subject: host.id,
      project: host.project,
      data: hostEventData(host, version, originOfChange(host, what)),
    }),
  };
  return { ...host, outbox: [...host.outbox, outgoing], unsent: true };
}

const changes = {
  up: { kind: 'system', reason: 'its agent asked for work' },
  silent: { kind: 'timer', reason: 'its agent stopped asking for work' },
  factsChanged: { kind: 'system', reason: 'it reported other facts' },
} as const;

const originOfChange = (host: Draft<HostDocument>, what: keyof typeof changes): Origin =>
  originOfHost(host, { ...changes[what], ...(what !== 'silent' && { actor: actorOfHost(host) }) });

const deletionOf = (host: HostDocument, occasion: Occasion | undefined): Origin =>
  occasion ? { ...(host.place ?? noPlace), ...occasion } : originOfHost(host, { reason: 'it was deleted' });

export const hostEventData = (host: Draft<HostDocument>, version: number, origin: Origin) => ({
  origin,
  host_id: host.id,
  name: host.name,
  status: host.status,
  facts: host.facts,
  version,
});
