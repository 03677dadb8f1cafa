/** The form in which a client receives a host's request, and the timers that start when it does. */
import { hostRequestSchema, type QueueMessage, type runConfig } from '@anneal/contracts/calls/configuration.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import type { MessageDocument } from '../collections.ts';
import { inlineCharacters } from '../contents/stored-contents.ts';
import { requireCurrent } from '../hosts/host.ts';
import { firstMessage, isClaimed, shownMessage, type QueueContext } from './queue.ts';
import { hostQueue, type ResolvedQueue } from './names.ts';
import type { RunContext } from '../deployments/runs/run-context.ts';
import { limitAnswer, limitWait } from '../deployments/runs/run-timer.ts';
import { handedOut } from '../deployments/runs/time-limit.ts';

/** One timer a host, because a host has one claim at a time. */
export const claimTimer = (hostId: string): string => `claim:${hostId}`;

/**
 * Shows a message, with the remaining time in a request to a host.
 * @param handed.byReference true for a host that fetches a long config by itself
 */
export function handOut(
  context: QueueContext,
  queue: ResolvedQueue,
  handed: { message: MessageDocument; byReference?: boolean },
): QueueMessage {
  const isReferred = handed.byReference === true && queue.role === 'requests';
  const message = isReferred ? withReference(context, handed.message) : handed.message;
  const plain = shownMessage(context, message);
  if (queue.role !== 'requests') return plain;
  const request = hostRequestSchema.safeParse(plain.body);
  if (!request.success) return plain;
  const now = context.now();
  const body = handedOut(request.data, { now, takenAt: message.taken_at ?? now });
  return { ...plain, body: body as unknown as Json };
}

/** A request whose config is a long text, with the reference to it in its place. A sealed config stays in the request. */
function withReference({ collections }: QueueContext, message: MessageDocument): MessageDocument {
  const { body } = message;
  const config = isObject(body) ? body['config'] : undefined;
  if (!isObject(body) || typeof config !== 'string' || config.length <= inlineCharacters) return message;
  return { ...message, body: { ...body, config: '', config_ref: collections.contents.referenceTo(config) } };
}

/**
 * Finds the config of a run that its host has claimed. @throws AnnealError Unauthorized for a host whose token is not
 * current, NotFound for a run of another host and one whose request is no longer there
 */
export async function findRunConfig(
  { collections }: Pick<RunContext, 'collections'>,
  { caller, run }: typeof runConfig.data._output,
): Promise<{ blob: string }> {
  const [host, message] = await Promise.all([
    caller && collections.hosts.get(caller.host_id),
    collections.messages.get(run),
  ]);
  requireCurrent(host ?? null, caller);
  const config = isObject(message?.body) ? message.body['config'] : undefined;
  const isOwn = host !== undefined && message?.queue === hostQueue(host, 'requests').id;
  if (isOwn && typeof config === 'string') return { blob: await collections.contents.put(config) };
  throw new AnnealError('NotFound', `There is no request ${run} with a config in the queue of this host.`);
}

/** Counts a host's read of its queue as taking the first request, because some hosts apply requests without a claim. */
export async function recordContact(context: RunContext, queue: ResolvedQueue): Promise<void> {
  const first = await firstMessage(context.queues, queue);
  if (first && first.taken_at === undefined) await countAsTaken(context, first);
}

/** Starts the time limit of a request that became the first of its host: on its run if the host has it, else on the wait. */
export async function limitFirst(context: RunContext, message: MessageDocument): Promise<void> {
  const now = context.queues.now();
  if (message.taken_at === undefined && isClaimed(message, now)) await countAsTaken(context, message);
  else await limitWait(context, message, now);
}

async function countAsTaken(context: RunContext, message: MessageDocument): Promise<void> {
  const taken = { ...message, taken_at: context.queues.now() };
  const saved = await context.collections.messages.replace(taken, message.version);
  if (saved) await context.timers().set(limitAnswer(saved));
}

/** Sets the timers that wake waiting clients when the claim ends and that fail the run without an answer. */
export async function watchClaimed(context: RunContext, queue: ResolvedQueue, message: MessageDocument): Promise<void> {
  const claim = {
    id: claimTimer(queue.host?.id ?? ''),
    dueAt: message.claim_expires_at,
    data: { host: queue.host?.id ?? '' },
  };
  const isNew = message.taken_at === message.claimed_at;
  // Both timers look again when they fire, so an earlier one is enough.
  await context.timers().setAtLatest([claim, ...(isNew ? limitAnswer(message) : [])]);
}
