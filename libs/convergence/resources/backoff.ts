/** Retries of conflicts: a request that met other work on the same object is sent again, with growing delays. */
import { errorTable } from '@anneal/contracts/errors.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import { attemptOf, failLeaf } from '../node/failure.ts';
import { revisit } from '../node/node.ts';
import type { PendingRequest, ResourceDocument } from '../documents.ts';
import { addEffect, changeResource, type Transaction } from '../transaction.ts';

/** Attempts of one request, the first one included, before a conflict fails the resource. */
export const maxRequestAttempts = 5;
const firstMs = 1000;

/** Whether the request will be sent again. It stays pending meanwhile, with a new fence. */
export function triesAgain(
  transaction: Transaction,
  resource: ResourceDocument,
  request: PendingRequest,
  { error }: ResourceResponse,
): boolean {
  const { stack } = transaction.state;
  const passing = error?.code === 'Conflict' || error?.details?.['retryable'] === true;
  if (!passing || request.attempts + 1 >= maxRequestAttempts || stack.phase !== 'converging') return false;
  // A newer traversal sends its own requests.
  if (request.traversal !== stack.traversal) return false;
  const fence = request.fence + 1;
  const wait = firstMs * 2 ** request.attempts;
  const at = new Date(transaction.tools.now + wait / 2 + wait * jitter(resource.id, fence)).toISOString();
  changeResource(transaction, resource.id, {
    fence,
    reason: `${error?.message ?? errorTable.Conflict.remedy} Attempt ${request.attempts + 2} of ${maxRequestAttempts} follows at ${at}.`,
    request: { ...request, fence, attempts: request.attempts + 1, not_before: at },
  });
  const timer = { kind: 'retry', resource: resource.id, fence } as const;
  addEffect(transaction, { kind: 'timer', timer, at, traversal: stack.traversal });
  return true;
}

/**
 * Sends a postponed request again when its delay is over. Ignores the timer of another request. A request that a newer
 * traversal overtook fails, and that traversal decides again.
 */
export function retryTimer(transaction: Transaction, resource: ResourceDocument, fence: number): void {
  const { request } = resource;
  const { stack } = transaction.state;
  if (request?.fence !== fence || request.not_before === null) return;
  if (request.traversal !== stack.traversal || stack.phase !== 'converging') {
    // Its requirements may have changed: fail the request, and let the running traversal decide again.
    failLeaf(transaction, resource.id, {
      action: resource.action,
      failure: { code: 'Conflict', message: 'It was not tried again, because a newer action overtook it.' },
      attempted: attemptOf(request, resource),
      traversal: request.traversal,
    });
    const left = transaction.state.resources.get(resource.id);
    if (left) revisit(transaction, left);
    return;
  }
  changeResource(transaction, resource.id, { request: { ...request, not_before: null } });
  addEffect(transaction, { kind: 'request', resource: resource.id, fence });
}

/** From 0 to 1, the same for the same request. Spreads the retries of requests that met the same conflict. */
function jitter(id: string, fence: number): number {
  let hash = 2166136261 ^ fence;
  for (let index = 0; index < id.length; index += 1) hash = Math.imul(hash ^ id.charCodeAt(index), 16777619);
  return ((hash >>> 0) % 1000) / 1000;
}
