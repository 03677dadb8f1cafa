/**
 * Applies Zaqar's pop, delete and purge to the requests of a host without losing a request.
 *
 * S1 A request that a deployment waits for stays until it is answered or fails. A pop, a deletion or a purge sets it
 *    aside as a claim does, and it is offered again when the lease ends.
 * S2 The order stays: only the first request can be set aside. Later requests are offered in their turn.
 * S3 A message that a user posted, and that no deployment waits for, is deleted on request.
 */
import { claimMessages } from '../../queues/claim.ts';
import type { MessageDocument } from '../../collections.ts';
import { checkClaim, firstMessage, isClaimed, messagesInOrder, removeMessages } from '../../queues/queue.ts';
import type { MessageQueue } from '../../queues/message-queue.ts';
import { isInProgress } from '../decisions/run-states.ts';
import { byRun, hasEnded, takeInput } from '../runs/carry-out.ts';
import type { RunContext } from '../runs/run-context.ts';

export interface SetAsideContext extends RunContext {
  readonly popLeaseSeconds: number;
}

/** True when the run of a request has ended, or its deployment has another run by now. Ends a recalled run. */
export async function isReplaced(context: RunContext, message: MessageDocument): Promise<boolean> {
  const taken = await takeInput(context, { run: message.id }, { kind: 'claimed again' });
  if (taken.document) return hasEnded(taken) || !isInProgress(taken.document);
  const { deployment_id: id } = message.body as { deployment_id?: unknown };
  const current = typeof id === 'string' ? await context.collections.resources.get(id) : undefined;
  return current !== undefined && current.run_id !== message.id;
}

/**
 * C7: whether the deployments before a request have completed, or their current requests are in the batch. A deployment
 * that no longer exists cannot complete: then the request waits for the end of its own.
 */
export async function mayBegin(
  { collections }: Pick<RunContext, 'collections'>,
  { after = [] }: Pick<MessageDocument, 'after'>,
  batch: readonly MessageDocument[],
): Promise<boolean> {
  if (after.length === 0) return true;
  const found = await collections.resources.getMany(after.map(({ id }) => id));
  return after.every(({ id, fence }) => {
    const before = found.find((each) => each.id === id);
    if (!before || before.fence < fence) return false;
    if (before.status !== 'IN_PROGRESS') return before.status === 'COMPLETE';
    return batch.some((message) => message.id === before.run_id);
  });
}

const isWanted = async (context: RunContext, message: MessageDocument): Promise<boolean> =>
  (await byRun(context, message.id))?.deployment?.status === 'IN_PROGRESS';

/** Sets the first request of a host aside and returns it. Undefined while it is already set aside or claimed. */
export async function popRequest(
  context: SetAsideContext,
  queue: MessageQueue,
  claim_id: string,
): Promise<MessageDocument | undefined> {
  const { messages } = await claimMessages(context.queues, {
    queue,
    claim_id,
    client_id: null,
    ttl: context.popLeaseSeconds,
    grace: 0,
    limit: 1,
    isReplaced: (message) => isReplaced(context, message),
    mayBegin: (message, batch) => mayBegin(context, message, batch),
  });
  return messages[0];
}

/** @throws AnnealError Forbidden or InvalidRequest for a claimed message, as in every queue. */
export async function deleteRequests(
  context: SetAsideContext,
  options: { queue: MessageQueue; ids: readonly string[]; claim_id?: string | undefined },
): Promise<MessageDocument | undefined> {
  const { queue, ids, claim_id } = options;
  const { messages } = context.collections;
  const here = (await messages.getMany(ids)).filter((message) => message.queue === queue.id);
  checkClaim(here, { claim_id, now: context.queues.now() });
  const wanted: MessageDocument[] = [];
  const others: string[] = [];
  for (const message of here) {
    if (await isWanted(context, message)) wanted.push(message);
    else others.push(message.id);
  }
  if (others.length > 0) await removeMessages(context.queues, { queue, ids: others, claim_id });
  const first = await firstMessage(context.queues, queue);
  const head = wanted.find((message) => message.id === first?.id);
  return head && setAside(context, head);
}

/** Removes the messages that no deployment waits for, and sets the first of the others aside. */
export async function purgeRequests(
  context: SetAsideContext,
  queue: MessageQueue,
): Promise<MessageDocument | undefined> {
  const { messages } = context.collections;
  for await (const message of messagesInOrder(context.queues, queue)) {
    if (!(await isWanted(context, message))) await messages.remove(message.id);
  }
  const first = await firstMessage(context.queues, queue);
  return first && !isClaimed(first, context.queues.now()) ? setAside(context, first) : undefined;
}

function setAside(context: SetAsideContext, message: MessageDocument): Promise<MessageDocument | undefined> {
  const now = context.queues.now();
  const ttl = context.popLeaseSeconds;
  return context.collections.messages.replace(
    {
      ...message,
      claim_id: message.claim_id ?? `set-aside:${message.id}`,
      claim_client: null,
      claimed_at: now,
      claim_ttl: ttl,
      claim_expires_at: now + ttl * 1000,
      claim_count: message.claim_count + 1,
      taken_at: message.taken_at ?? now,
    },
    message.version,
  );
}
