/** Handlers of the queue calls. They apply the special rules of host queues. */
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import * as hostMessages from '@anneal/contracts/calls/host-messages.ts';
import * as queueCalls from '@anneal/contracts/calls/queues.ts';
import { AnnealError, toFailure, type Failure } from '@anneal/contracts/errors.ts';
import { queueMessagePosted } from '@anneal/contracts/events.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { MessageDocument } from './collections.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { change } from '@anneal/store/change.ts';
import { checkMetadata } from './queues/reserved-metadata.ts';
import { claimMessages, liveClaim, releaseClaim, renewClaim } from './queues/claim.ts';
import { hearOf, requireCurrent } from './hosts/host.ts';
import { takePosted } from './deployments/answers/posted.ts';
import type { SentBy } from './deployments/answers/read-posted.ts';
import { failAnswered } from './deployments/answers/refused.ts';
import type { HostMessageContext } from './deployments/runs/run-context.ts';
import { collectMessage } from './collectors/collect.ts';
import { findRunConfig, handOut, recordContact, watchClaimed } from './deployments/requests/hand-out.ts';
import {
  hidesSecrets,
  listMessages,
  makeOwnQueue,
  makeQueue,
  popMessages,
  purgeMessages,
  removeMessages,
  removeQueue,
  shownMessage,
  viewOfAbsent,
  viewQueue,
  wakeNext,
} from './queues/queue.ts';
import { pageOfQueues } from './queues/page.ts';
import { putMessages } from './queues/put.ts';
import { refusePost } from './queues/limits.ts';
import { resolveQueue, type QueueUse, type ResolvedQueue } from './hosts/queues.ts';
import type { NewMessage } from './queues/waiting-puts.ts';
import {
  deleteRequests,
  mayBegin,
  isReplaced,
  popRequest,
  purgeRequests,
  type SetAsideContext,
} from './deployments/requests/set-aside.ts';

/**
 * The same call, repeated, gets the same id. It begins with the time in the id of the call, a UUIDv7, so that new
 * messages are side by side in the indexes of a database, which then writes fewer pages.
 */
const repeatableId = (kind: string, call: string, index = 0): string =>
  call.slice(0, timeLength) + derivedId(`${kind}:${call}:${index}`, 'a').slice(timeLength);
/** The digits of the time in a UUIDv7, with their hyphen. */
const timeLength = 13;

export type CallContext = HostMessageContext & SetAsideContext;

export function queueCallRoutes(context: CallContext): MessageRoute[] {
  const { service, queues, collections } = context;
  const resolve = (question: { project: string; queue: string }, use: QueueUse): Promise<ResolvedQueue> =>
    resolveQueue(collections, { ...question, use });
  /** Records a contact: a client that claims from a host's request queue counts as that host's agent. */
  const contact = async (queue: ResolvedQueue): Promise<void> => {
    if (queue.host && queue.role === 'requests') await hearOf(context, queue.host);
  };

  return [
    answer(service, queueCalls.queueCreate, async ({ data }) => {
      const queue = named(await resolve(data, 'read'));
      if (data.metadata) checkMetadata(queue, data.metadata, queues.limits);
      const { metadata } = data;
      const { created, queue: known } = queue.host
        ? await makeQueue(queues, queue, metadata ?? {})
        : await makeOwnQueue(queues, queues.limits, { ...queue, metadata });
      if (!created && data.metadata) await replaceMetadata(context, known.id, data.metadata);
      if (data.notifies === true && !queue.host) {
        await change(collections.queues, known, (current) =>
          current.notifies === true ? undefined : { ...current, notifies: true },
        );
      }
      return { created };
    }),
    answer(service, queueCalls.queueShow, async ({ data }) => {
      const queue = await resolve(data, 'read');
      const view = await viewQueue(queues, queue);
      if (view) return view;
      if (data.or_empty === true) return viewOfAbsent(queues, queue);
      throw new AnnealError('NotFound', `Queue ${data.queue} does not exist for project ${data.project}`);
    }),
    answer(service, queueCalls.queueList, async ({ data }) => {
      if (data.page) {
        const { documents, ...counts } = await pageOfQueues(queues, { project: data.project, page: data.page });
        return { queues: documents, ...counts };
      }
      const found = await collections.queues.find({
        where: { project: data.project, ...(data.marker !== undefined && { name: { gt: data.marker } }) },
        orderBy: ['name'],
        limit: data.limit ?? 1000,
      });
      const views = await Promise.all(
        found.map((document) => viewQueue(queues, { ...document, kind: 'open', owner: null })),
      );
      return { queues: views.filter((view) => view !== undefined) };
    }),
    answer(service, queueCalls.queueDelete, async ({ data }) => {
      const queue = await resolve(data, 'read');
      if (queue.host) {
        throw new AnnealError(
          'Forbidden',
          `Cannot delete ${queue.name}: it belongs to host ${queue.host.name}. Delete the host instead.`,
        );
      }
      await removeQueue(queues, queue);
      return {};
    }),
    answer(service, queueCalls.queuePost, async ({ id, data }) => {
      await refuseLong(context, data);
      const queue = named(await resolve(data, 'write'));
      requireCurrent(queue.host, data.caller);
      const messages = data.messages.map((message, index) => ({ ...message, id: repeatableId('post', id, index) }));
      await post(context, queue, { ...data, messages });
      return { ids: messages.map((message) => message.id) };
    }),
    answer(service, queueCalls.queueMessages, async ({ data }) => {
      const queue = await resolve(data, 'read');
      // Reading removes no message. A read by the host itself counts as a contact and starts its time limit.
      const isOwn = data.host_id !== undefined && data.host_id === queue.host?.id;
      if (isOwn) {
        await contact(queue);
        if (queue.role === 'requests') await recordContact(context, queue);
      }
      const mayBeginNow = (message: MessageDocument) => mayBegin(context, message, []);
      return listMessages(queues, { ...data, queue, limit: data.limit ?? 10, ...(isOwn && { mayBegin: mayBeginNow }) });
    }),
    answer(service, queueCalls.queueMessageDelete, async ({ id, data }) => {
      const queue = await resolve(data, 'read');
      requireCurrent(queue.host, data.caller);
      if (data.pop !== undefined) {
        await contact(queue);
        if (queue.role !== 'requests') return { messages: await popMessages(queues, queue, data.pop) };
        const claim_id = repeatableId('pop', id);
        if (queue.host && data.host_id === queue.host.id) {
          // A host that pops may be os-collect-config, which understands only metadata.
          const message = await collectMessage(context, queue.host, claim_id);
          const { collector } = queue.host;
          return { messages: message ? [message] : [], ...(message && collector && { collector }) };
        }
        const taken = await popRequest(context, queue, claim_id);
        if (!taken) return { messages: [] };
        await watchClaimed(context, queue, taken);
        return { messages: [{ ...handOut(queues, queue, { message: taken }), claim_id: null }] };
      }
      if (queue.role === 'requests') {
        const kept = data.purge
          ? await purgeRequests(context, queue)
          : await deleteRequests(context, { queue, ids: data.ids ?? [], claim_id: data.claim_id });
        if (kept) await watchClaimed(context, queue, kept);
      } else if (data.purge) await purgeMessages(queues, queue);
      else await removeMessages(queues, { queue, ids: data.ids ?? [], claim_id: data.claim_id });
      return { messages: [] };
    }),
    answer(service, queueCalls.queueClaim, ({ id, data, time }, { attempt }) => {
      if (data.caller) context.contacts.noteDelay(time, queues.now());
      return takeAndClaim(context, { id, attempt, data });
    }),
    answer(service, hostMessages.runConfig, ({ data }) => findRunConfig(context, data)),
    answer(service, queueCalls.queueClaimShow, async ({ data }) => {
      const queue = await resolve(data, 'read');
      const held = await liveClaim(queues, queue, data.claim_id);
      const [first] = held;
      return {
        claim_id: data.claim_id,
        age: first ? Math.floor((queues.now() - first.claimed_at) / 1000) : 0,
        ttl: first?.claim_ttl ?? 0,
        messages: held.map((message) => shownMessage(queues, message, { isHidden: hidesSecrets(queue, data.host_id) })),
      };
    }),
    answer(service, queueCalls.queueClaimRenew, async ({ data }) => {
      const queue = await resolve(data, 'read');
      requireCurrent(queue.host, data.caller);
      await contact(queue);
      await renewClaim(queues, { ...data, queue });
      return {};
    }),
    answer(service, queueCalls.queueClaimRelease, async ({ data }) => {
      const queue = await resolve(data, 'read');
      await releaseClaim(queues, queue, data.claim_id);
      return {};
    }),
  ];
}

/**
 * Takes the answers of a host first, if there are any, and then claims. A repeat with the same id changes nothing.
 * @throws AnnealError InvalidRequest for an invalid answer, Unauthorized for a host whose token is not current
 */
export async function takeAndClaim(
  context: CallContext,
  { id, attempt, data }: { id: string; attempt: number; data: queueCalls.QueueClaim },
): Promise<queueCalls.QueueClaimed> {
  const { queues, collections } = context;
  const queue = await resolveQueue(collections, { ...data, use: 'read' });
  requireCurrent(queue.host, data.caller);
  const { answers } = data;
  if (answers) await takeAnswers(context, queue, { id, isNew: attempt === 1, data: { ...data, answers } });
  else if (queue.host && queue.role === 'requests') await hearOf(context, queue.host);
  const claim_id = repeatableId('claim', id);
  const { messages: claimed, isEmpty } = await claimMessages(queues, {
    queue,
    claim_id,
    client_id: data.client_id ?? null,
    ttl: data.ttl,
    grace: data.grace,
    limit: data.limit ?? 10,
    batch: data.batch ?? 1,
    isRepeat: attempt > 1,
    isReplaced: (message) => isReplaced(context, message),
    mayBegin: (message, batch) => mayBegin(context, message, batch),
  });
  const answered = answers ? { answered: true } : {};
  const [first] = claimed;
  if (!first) {
    // Another client holds the queue, so the limit of its first message has to start here.
    if (answers && !isEmpty) await wakeNext(queues, queue);
    return { claim_id: null, messages: [], ...answered };
  }
  if (queue.role === 'requests') {
    await watchClaimed(context, queue, first);
    for (const message of claimed) context.acceptances.remember(message);
  }
  const refers = { config: data.by_reference === true, inputs: data.inputs_by_reference === true };
  return {
    claim_id,
    messages: claimed.map((message) => handOut(queues, queue, { message, refers })),
    ...answered,
  };
}

type NewAnswer = Pick<NewMessage, 'ttl'> & { readonly body: Json };

/** @throws AnnealError InvalidRequest when the queue is not the requests queue of a host, or for an invalid answer */
async function takeAnswers(
  context: CallContext,
  queue: ResolvedQueue,
  { id, isNew, data }: { id: string; isNew: boolean; data: queueCalls.QueueClaim & { answers: readonly NewAnswer[] } },
): Promise<void> {
  if (!queue.host || queue.role !== 'requests') {
    throw new AnnealError(
      'InvalidRequest',
      `Only a claim of the requests of a host may have answers, not ${queue.name}.`,
    );
  }
  const messages = data.answers.map((message, index) => ({ ...message, id: repeatableId('post', id, index) }));
  await takePosted(context, queue.host, {
    client_id: data.client_id ?? queue.host.id,
    messages,
    sentBy: { kind: 'host' },
    claimed: { queue: queue.id, isNew },
  });
}

async function post(
  context: HostMessageContext,
  queue: ResolvedQueue,
  posted: Omit<queueCalls.QueuePost, 'messages'> & { messages: readonly NewMessage[] },
): Promise<void> {
  const { client_id, messages, most_default_ttl: mostDefaultTtl } = posted;
  if (queue.host) refuseDelays(queue, messages);
  if (queue.role === 'requests') refuseForeign(queue, messages);
  if (queue.host && queue.role === 'responses') {
    return takePosted(context, queue.host, { client_id, messages, sentBy: senderOf(posted) });
  }
  const limits = queue.host ? undefined : context.queues.limits;
  const stored = await putMessages(context.queues, { queue, client_id, messages, mostDefaultTtl, limits });
  // A repeat of the call after a crash publishes the same events.
  if (!queue.host) await publishPosted(context, queue, stored);
  await context.queues.wake(queue);
}

/** A host sends its token, or the address of its run. */
const senderOf = ({ caller, run }: Pick<queueCalls.QueuePost, 'caller' | 'run'>): SentBy =>
  caller === undefined && run === undefined ? { kind: 'user' } : { kind: 'host', run };

/**
 * Refuses a post that is too long. The run that such an answer of a host names fails, because the host cannot shorten it.
 * @throws AnnealError TooLarge
 */
async function refuseLong(context: HostMessageContext, data: queueCalls.QueuePost): Promise<void> {
  try {
    refusePost(data.messages, context.queues.limits);
  } catch (error) {
    if (senderOf(data).kind === 'host') await failLong(context, data, toFailure(error));
    throw error;
  }
}

async function failLong(context: HostMessageContext, data: queueCalls.QueuePost, failure: Failure): Promise<void> {
  const { host, role } = await resolveQueue(context.collections, { ...data, use: 'write' });
  requireCurrent(host, data.caller);
  if (!host || role !== 'responses') return;
  for (const { body } of data.messages) await failAnswered(context, host, { run: data.run, body, failure });
}

/** Refuses a delay in the queue of a host, because its messages are handled in order. */
function refuseDelays({ name }: ResolvedQueue, messages: readonly NewMessage[]): void {
  const mistakes = messages.flatMap(({ delay = 0 }, index) => {
    const message = 'a queue of a host has no delays, because its messages are handled in order';
    return delay > 0 ? [{ code: 'HostQueue', path: `messages.${index}.delay`, message }] : [];
  });
  if (mistakes.length === 0) return;
  const lines = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('InvalidRequest', `Rejected by queue ${name}: ${lines}`, { mistakes });
}

/** Refuses messages that an agent cannot read, because such a message would block the queue behind it. */
function refuseForeign(queue: ResolvedQueue, messages: readonly NewMessage[]): void {
  const mistakes = messages.flatMap(({ body }, index) => {
    const parsed = hostMessages.hostRequestSchema.safeParse(body);
    if (parsed.success) return [];
    return parsed.error.issues.map((issue) => ({
      code: 'InvalidBody',
      path: ['messages', index, 'body', ...issue.path].join('.'),
      message: issue.message,
    }));
  });
  if (mistakes.length === 0) return;
  const lines = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('InvalidRequest', `Rejected by queue ${queue.name}: ${lines}`, { mistakes });
}

/** Refuses a name with a dot that is not a host's queue. Only hosts' queues have dots, so it is a typing error. */
function named(queue: ResolvedQueue): ResolvedQueue {
  if (queue.host || !queue.name.includes('.')) return queue;
  throw new AnnealError(
    'InvalidRequest',
    `There is no host for queue ${queue.name}; names of other queues may contain only letters, digits, "_" and "-".`,
  );
}

async function replaceMetadata(context: HostMessageContext, id: string, metadata: queueCalls.QueueView['metadata']) {
  await change(context.collections.queues, id, (known) => ({ ...known, metadata }));
}

/** Publishes the messages of a queue that has subscriptions. */
async function publishPosted(
  { service, queues, collections }: HostMessageContext,
  queue: ResolvedQueue,
  stored: readonly MessageDocument[],
): Promise<void> {
  const known = await collections.queues.get(queue.id);
  if (known?.notifies !== true) return;
  const { name, project } = queue;
  const events = stored.map((message) => {
    const { id, body, ttl } = shownMessage(queues, message);
    const data = { queue: name, message_id: id, ttl, body, version: message.sequence };
    return service.mint(queueMessagePosted, { id: derivedId(`posted\n${id}`), data, subject: name, project });
  });
  await service.bus.publish(events);
}
