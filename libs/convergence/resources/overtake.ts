/**
 * Overtaking: a request of the running traversal replaces the pending one of an earlier traversal, and does not wait for
 * its answer. The higher fence makes the earlier answer void.
 *
 * A nested stack takes any newer request. Another resource does when its type announces `supersedes`:
 *
 * | pending request        | newer request | then                                                                    |
 * | ---------------------- | ------------- | ----------------------------------------------------------------------- |
 * | create                 | create        | made from the new properties, in the same incarnation                   |
 * | update                 | update        | names also all that the earlier update may have changed                 |
 * | create, must replace   | delete        | deleted before its replacement is made: nothing can use it              |
 * | update, must replace   | cancel        | its replacement is made now; it is deleted later, as always             |
 * | any but delete         | delete        | deleted now, unless a hook, a snapshot or a policy comes first: awaited |
 * Properties as requested are awaited, and so are adoptions, and resources that an update hook holds first. A cancel is
 * sent where the type announces `cancels`. Without it the work goes on, perhaps in the way of the replacement.
 */
import type { PlanResource } from '@anneal/contracts/plan.ts';
import { attemptOf } from '../node/failure.ts';
import { isNested, type ResourceDocument } from '../documents.ts';
import { addEffect, changeResource, type Transaction } from '../transaction.ts';

/** Whether the running traversal may replace the pending request of the resource. False without such a request. */
function isOvertakable({ state, tools }: Transaction, resource: ResourceDocument): boolean {
  if (resource.request === null) return false;
  if (isNested(resource)) return true;
  return resource.request.traversal !== state.stack.traversal && tools.supersedes(resource);
}

/** Whether the resource may be brought to this plan entry while its request is pending. */
export function yieldsToUpdate(transaction: Transaction, resource: ResourceDocument, planned: PlanResource): boolean {
  if (!isOvertakable(transaction, resource)) return false;
  return isNested(resource) || (isApplied(resource) && !declaresHook(planned, ['pre-update', 'updating']));
}

/** Whether the pending request applies properties, and is no adoption. */
const isApplied = ({ action, request }: ResourceDocument): boolean =>
  (action === 'CREATE' && request?.action === 'create') || (action === 'UPDATE' && request?.action === 'update');

/** Whether a deletion may replace the pending request. The steps that come before a deletion need its answer. */
export function yieldsToDeletion(
  transaction: Transaction,
  resource: ResourceDocument,
  hasStepsBefore: boolean,
): boolean {
  if (!isOvertakable(transaction, resource) || resource.request?.action === 'delete') return false;
  return isNested(resource) || !(hasStepsBefore || declaresHook(resource, deletionHooks));
}

const deletionHooks = ['pre-delete', 'terminating'];

function declaresHook(
  { hooks = [], lifecycle_hooks: others = [] }: Pick<PlanResource, 'hooks' | 'lifecycle_hooks'> | ResourceDocument,
  names: readonly string[],
): boolean {
  return hooks.some((hook) => names.includes(hook)) || others.some(({ transition }) => names.includes(transition));
}

/** Whether an earlier traversal began to make the resource, and a newer request may replace that one. */
export const isBeingMade = (transaction: Transaction, resource: ResourceDocument): boolean =>
  resource.action === 'CREATE' && !isNested(resource) && isOvertakable(transaction, resource);

/** Whether to delete such a resource at once: it never completed, so nothing uses it, and no rollback restores it. */
export const isDisposable = (transaction: Transaction, resource: ResourceDocument): boolean =>
  isBeingMade(transaction, resource) && resource.deletion_policy !== 'Retain' && !declaresHook(resource, deletionHooks);

/** Stops the work of a pending request whose resource is replaced. Its answer follows, and may be a failure. */
export function cancelReplaced(transaction: Transaction, { id, request, ...resource }: ResourceDocument): void {
  if (request === null || !transaction.tools.cancels(resource)) return;
  addEffect(transaction, { kind: 'cancel', resource: id, fence: request.fence });
}

/** Notes what the update that is about to be overtaken may have changed, so that the newer one sends all of it. */
export function noteOvertaken(transaction: Transaction, resource: ResourceDocument): ResourceDocument {
  if (resource.request?.action !== 'update' || isNested(resource)) return resource;
  return changeResource(transaction, resource.id, { attempted: attemptOf(resource.request, resource) });
}
