/** The form in which a client receives a host's request, and the timers that start when it does. */
import { hostRequestSchema, type runConfig } from '@anneal/contracts/calls/host-messages.ts';
import { type QueueMessage } from '@anneal/contracts/calls/queues.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { contentsOf } from '@anneal/runtime/secrets/secrets.ts';
import type { MessageDocument } from '../../collections.ts';
import { inlineCharacters, inlineInputCharacters } from '../../contents/stored-contents.ts';
import { sizeWithin } from '../../contents/with-contents.ts';
import { requireCurrent } from '../../hosts/host.ts';
import { firstMessage, isClaimed, shownMessage, type QueueContext } from '../../queues/queue.ts';
import { hostQueue } from '../../hosts/queues.ts';
import type { MessageQueue } from '../../queues/message-queue.ts';
import type { RunContext } from '../runs/run-context.ts';
import { limitWait } from '../runs/limit-wait.ts';
import { takenDueAt } from '../decisions/run-limits.ts';
import { lookBy, runsTimer } from '../runs/run-timer.ts';
import { handedOut } from '../../configs/time-limit.ts';

/** One timer a host, because a host has one claim at a time. */
export const claimTimer = (hostId: string): string => `claim:${hostId}`;

/** The long parts of a request that a host fetches by itself. */
interface Refers {
  readonly config: boolean;
  readonly inputs: boolean;
}

/** Shows a message, with the remaining time in a request to a host. */
export function handOut(
  context: QueueContext,
  queue: MessageQueue,
  handed: { message: MessageDocument; refers?: Refers },
): QueueMessage {
  const { refers } = handed;
  const isReferred = refers !== undefined && queue.kind === 'strict';
  const message = isReferred ? withReferences(context, handed.message, refers) : handed.message;
  const plain = shownMessage(context, message);
  if (queue.kind !== 'strict') return plain;
  const request = hostRequestSchema.safeParse(plain.body);
  if (!request.success) return plain;
  const now = context.now();
  const body = handedOut(request.data, { now, takenAt: message.taken_at ?? now });
  return { ...plain, body: body as unknown as Json };
}

/** A request with references in place of its long config and inputs. What is sealed stays in the request. */
function withReferences(context: QueueContext, message: MessageDocument, refers: Refers): MessageDocument {
  const { body } = message;
  if (!isObject(body)) return message;
  const { contents } = context.collections;
  const { config, inputs } = body;
  const isLong = refers.config && typeof config === 'string' && config.length > inlineCharacters;
  return {
    ...message,
    body: {
      ...body,
      ...(isLong && { config: '', config_ref: contents.referenceTo(config) }),
      ...(refers.inputs &&
        Array.isArray(inputs) && { inputs: inputs.map((input) => withValueReference(context, input)) }),
    },
  };
}

function withValueReference({ collections, secrets }: QueueContext, input: Json): Json {
  if (!isObject(input)) return input;
  const { value = null } = input;
  if (sizeWithin(value, inlineInputCharacters) !== undefined || contentsOf(secrets, value).length > 0) return input;
  return { ...input, value: '', value_ref: collections.contents.referenceTo(JSON.stringify(value)) };
}

/**
 * Finds the config of a run that its host has claimed, or the value of an input. @throws AnnealError Unauthorized for a host whose token is not
 * current, NotFound for a run of another host and one whose request is no longer there
 */
export async function findRunConfig(
  { collections }: Pick<RunContext, 'collections'>,
  { caller, run, input }: typeof runConfig.data._output,
): Promise<{ blob: string }> {
  const [host, message] = await Promise.all([
    caller && collections.hosts.get(caller.host_id),
    collections.messages.get(run),
  ]);
  requireCurrent(host ?? null, caller);
  const isOwn = host !== undefined && message?.queue === hostQueue(host, 'requests').id;
  const value = isOwn && isObject(message?.body) ? valueIn(message.body, input) : undefined;
  if (value !== undefined) return { blob: await collections.contents.put(value) };
  const what = input === undefined ? 'a config' : `an input ${input}`;
  throw new AnnealError('NotFound', `There is no request ${run} with ${what} in the queue of this host.`);
}

function valueIn(body: JsonObject, input: string | undefined): Json | undefined {
  const { config, inputs } = body;
  if (input === undefined) return typeof config === 'string' ? config : undefined;
  const found = Array.isArray(inputs) ? inputs.find((each) => isObject(each) && each['name'] === input) : undefined;
  return isObject(found) ? found['value'] : undefined;
}

/** Counts a host's read of its queue as taking the first request, because some hosts apply requests without a claim. */
export async function recordContact(context: RunContext, queue: MessageQueue): Promise<void> {
  const first = await firstMessage(context.queues, queue);
  if (first && first.taken_at === undefined) await countAsTaken(context, queue, first);
}

/** Starts the time limit of a request that became the first of its host: on its run if the host has it, else on the wait. */
export async function limitFirst(context: RunContext, queue: MessageQueue, message: MessageDocument): Promise<void> {
  const isHeld = isClaimed(message, context.queues.now());
  if (message.taken_at === undefined && isHeld) await countAsTaken(context, queue, message);
  else await limitWait(context, queue, message);
}

async function countAsTaken(context: RunContext, queue: MessageQueue, message: MessageDocument): Promise<void> {
  const taken = { ...message, taken_at: context.queues.now() };
  const saved = await context.collections.messages.replace(taken, message.version);
  if (saved) context.acceptances.note(saved);
  const dueAt = saved && takenDueAt(saved);
  if (queue.owner !== null && dueAt !== undefined) await lookBy(context, queue.owner, dueAt);
}

/** Sets the timers that wake waiting clients when the claim ends and that fail the run without an answer. */
export async function watchClaimed(context: RunContext, queue: MessageQueue, message: MessageDocument): Promise<void> {
  const host = queue.owner ?? '';
  const claim = { id: claimTimer(host), dueAt: message.claim_expires_at, data: { host } };
  const isFirstTime = message.taken_at === message.claimed_at;
  if (isFirstTime) context.acceptances.note(message);
  const dueAt = isFirstTime ? takenDueAt(message) : undefined;
  // Both timers look again when they fire, so an earlier one is enough.
  await context.timers().setAtLatest([claim, ...(dueAt === undefined ? [] : [runsTimer(context, host, dueAt)])]);
}
