/**
 * Fails the right part of a stack when a message that the stack waits for becomes a dead letter. If the message was
 * about a request, that request fails; otherwise the traversal fails. The failure names the dead letter in both cases.
 *
 * E1 Deaths go through the core like any other input, so that the failure is recorded, published as an event, and
 *    reported to the stack around.
 * E2 A stack that the core cannot step any more is marked as failed in its document, because an operator must be able
 *    to see the failure, and to update or delete the stack.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { kindOf, type Failure } from '@anneal/contracts/errors.ts';
import { type requestDied, resourceResponse, type ResourceResponse } from '@anneal/contracts/resource.ts';
import { groupAct, groupAdjust, groupLost } from '@anneal/contracts/calls/scaling.ts';
import { resourceAct, stackSignal } from '@anneal/contracts/calls/resources.ts';
import { stackAct, stackDelete, stackUpdate } from '@anneal/contracts/calls/stacks.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { Input } from '@anneal/convergence/protocol.ts';
import type { State } from '@anneal/convergence/state.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { z } from 'zod';
import type { SchedulingCollections } from '../collections.ts';
import { requestOfId } from './request-id.ts';

/** A dead letter in the form that the shard of a stack processes. */
export interface Died {
  readonly letter: string;
  /** The parts of the dead message that its shard needs. */
  readonly message: Pick<Envelope, 'id' | 'type' | 'subject' | 'correlationid'> & { readonly data?: unknown };
  readonly failure: Failure;
}

export const diedOf = (message: Envelope): Died => {
  const { dead_letter: letter, request, failure } = message.data as z.infer<typeof requestDied.data>;
  return { letter, failure, message: { ...request, correlationid: message.correlationid } };
};

/** Messages that start an action. One that dies has changed nothing, and its client has been answered. */
const leavesAsItWas = new Set<string>([
  stackUpdate.type,
  stackDelete.type,
  stackAct.type,
  stackSignal.type,
  resourceAct.type,
  groupAdjust.type,
  groupAct.type,
  groupLost.type,
]);

/** Returns undefined when the stack no longer waits for the message. */
export function inputOfDeath({ letter, message, failure }: Died, state: State): Input | undefined {
  const id = `died:${letter}`;
  const request = requestOf(message, state);
  if (request === 'none') return undefined;
  if (request) {
    const response: ResourceResponse = { ...request, stack_id: state.stack.id, status: 'failed', error: failure };
    return { kind: 'response', id, response };
  }
  if (leavesAsItWas.has(message.type)) return undefined;
  return { kind: 'timer', id, timer: { kind: 'deadline' }, traversal: state.stack.traversal, failure };
}

type Asked = Pick<ResourceResponse, 'resource_id' | 'action' | 'fence'>;

/** The request that the message carries or answers; `none` when the stack no longer waits for it. */
function requestOf({ type, id, subject, data }: Died['message'], state: State): Asked | 'none' | undefined {
  if (type === resourceResponse.type) {
    const answered = data as Partial<ResourceResponse> | undefined;
    return pending(answered?.resource_id ?? subject, answered?.fence, state);
  }
  const resource = state.resources.get(subject ?? '');
  if (!resource || !type.startsWith('resource.')) return undefined;
  const named = requestOfId(id);
  switch (named?.kind) {
    case 'signal':
      return { resource_id: resource.id, action: 'signal', fence: Math.max(1, resource.fence) };
    // A withdrawal that does not arrive changes nothing: the work goes on.
    case 'withdraw':
      return 'none';
    // A cancellation ends what is pending.
    case 'cancel':
    case 'request':
      return pending(resource.id, named.fence, state);
    case undefined:
      return 'none';
  }
}

function pending(id: string | undefined, fence: number | undefined, state: State): Asked | 'none' {
  const request = state.resources.get(id ?? '')?.request;
  // An unreadable response may lack its fence. In that case it counts as the response to the pending request.
  if (!id || !request || (fence !== undefined && fence !== request.fence)) return 'none';
  return { resource_id: id, action: request.action, fence: request.fence };
}

/** For a message that is not addressed to a stack: the stack of the resource that the message is about. */
export async function stackBehind(
  { resources }: Pick<SchedulingCollections, 'resources'>,
  subject: string | undefined,
): Promise<string | undefined> {
  return subject === undefined ? undefined : (await resources.get(subject))?.stack_id;
}

/** E2. Leaves a stack alone that is not in progress, or that another writer changes at the same time. */
export async function failStack(
  { stacks }: Pick<SchedulingCollections, 'stacks'>,
  { now, log }: Pick<ServiceContext, 'now' | 'log'>,
  { stackId, failure }: { stackId: string; failure: Failure },
): Promise<void> {
  const stack: StackDocument | undefined = await stacks.get(stackId);
  if (stack?.status !== 'IN_PROGRESS') return;
  log.error({ stack: stackId, failure }, 'step of a stack failed; stack marked as failed');
  const { version, ...draft } = stack;
  const reason = `Stack ${stack.action} failed: ${failure.message}`.slice(0, 4096);
  const at = now().toISOString();
  await stacks.replace({ ...draft, status: 'FAILED', phase: 'idle', reason, updated_at: at, finished_at: at }, version);
}

/** Whether a later retry may succeed. Any other error fails again in the same way. */
export const mayPass = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && kindOf(error) === 'retry';
