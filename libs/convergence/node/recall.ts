/**
 * The end of requests whose work has not begun: those that were sent ahead (`ahead.ts`: H2, H4), those of a cancelled
 * action, and those for something that a newer plan does not want.
 */
import { isNested, type PendingRequest, type ResourceDocument } from '../documents.ts';
import type { State } from '../state.ts';
import { addEffect, changeResource, type Transaction } from '../transaction.ts';

/** Asks the provider to end a request whose requirements are in progress. Its answer follows. */
export function recall(transaction: Transaction, { id, request, ...resource }: ResourceDocument): void {
  if (!request || request.recalled || !isBehind(transaction.state, request)) return;
  if (!transaction.tools.cancels(resource)) return;
  changeResource(transaction, id, { request: { ...request, recalled: true } });
  addEffect(transaction, { kind: 'cancel', resource: id, fence: request.fence });
}

/**
 * Asks the provider to end a request, which is not wanted any more, if its work has not begun. Then it answers that it was
 * withdrawn; otherwise with its result, as always.
 */
export function withdrawRequest(transaction: Transaction, id: string): void {
  const resource = transaction.state.resources.get(id);
  if (!resource?.request || resource.request.recalled || isNested(resource)) return;
  if (!transaction.tools.withdraws(resource)) return;
  changeResource(transaction, id, { request: { ...resource.request, recalled: true } });
  addEffect(transaction, { kind: 'withdraw', resource: id, fence: resource.request.fence });
}

/**
 * Recalls the requests whose requirements are still in progress. A request behind a failed one is left to its
 * provider, which fails it and knows why.
 */
export function recallAll(transaction: Transaction): void {
  const { resources, inFlight } = transaction.state;
  const known = new Map<string, boolean>();
  const isLost = (id: string): boolean => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const resource = resources.get(id);
    const lost = resource?.request
      ? (resource.request.after ?? []).some((other) => isLost(other.id))
      : resource?.status !== 'COMPLETE';
    known.set(id, lost);
    return lost;
  };
  for (const id of inFlight) {
    const resource = resources.get(id);
    if (resource && !isLost(id)) recall(transaction, resource);
  }
}

const isBehind = ({ resources }: State, { after = [] }: PendingRequest): boolean =>
  after.some(({ id }) => resources.get(id)?.request);

/** The clock up to which a request has seen its requirements: it reads nothing of those that it was sent ahead of. */
export function seenBy({ state }: Transaction, { after = [], requires, seen_at }: PendingRequest): number {
  const isOld = (id: string): boolean => (state.resources.get(id)?.shown_at ?? Infinity) <= seen_at;
  const hasSeenAll = requires.every((id) => isOld(id) || after.some((other) => other.id === id));
  return after.length > 0 && hasSeenAll ? state.stack.clock : seen_at;
}

/** Whether the request was sent ahead, and failed because it was recalled or a requirement failed. */
export function failsInConsequence({ state }: Transaction, { after, recalled }: PendingRequest): boolean {
  if (state.stack.phase === 'converging') return false;
  return recalled === true || (after ?? []).some(({ id }) => state.resources.get(id)?.status === 'FAILED');
}
