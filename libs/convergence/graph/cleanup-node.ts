/**
 * Clean-up of an incarnation that the plan does not want, once no existing incarnation uses it. A skipped user that
 * stays does not count: it would block the clean-up for ever.
 *
 * | incarnation                                     | action                                                    |
 * | ----------------------------------------------- | --------------------------------------------------------- |
 * | goes before its replacement (`delete_first`)    | neither the next row nor its users hold it up             |
 * | of an update that may roll back or pause        | stays until all update nodes are done, unless unfinished  |
 * | has a request pending                           | awaited, or overtaken: see `overtake.ts`                  |
 * | waits at a hook of its deletion                 | awaited                                                   |
 * | was deleted (and waited at post-delete)         | forgotten                                                 |
 * | unknown to every provider                       | forgotten                                                 |
 * | external, Retain, abandoned, skipped            | forgotten; the object stays                               |
 * | Snapshot, and there is an object to save        | snapshot, if its type serves it; then deleted             |
 * | otherwise                                       | deleted                                                   |
 */
import { mustStay } from '../node/node.ts';
import { dropWait, holdAt, hasPassed, markPassed } from '../node/wait.ts';
import { passThrough, send } from '../resources/incarnation.ts';
import { isDisposable, yieldsToDeletion } from '../resources/overtake.ts';
import { isNested, isUnrequested, type ResourceDocument } from '../documents.ts';
import type { State } from '../state.ts';
import { removeResource, type Transaction } from '../transaction.ts';

/**
 * Deletes an incarnation that is no longer wanted, or takes the next step towards it. Does nothing while another
 * incarnation uses it. A repeated visit sends nothing twice.
 */
export function visitCleanup(transaction: Transaction, id: string): void {
  const { state, tools } = transaction;
  const found = state.resources.get(id);
  if (!found || !state.doomed.has(id)) return;
  const first = state.graph?.first.has(id) ?? false;
  const disposable = isDisposable(transaction, found);
  if (!first && (isUsed(state, id) || (mustStay(transaction) && !disposable))) return;
  const snapshots = !disposable && wantsSnapshot(found) && tools.serves(found, 'snapshot');
  const hasStepsBefore = snapshots || isKept(found) || state.stack.abandoned;
  if (found.request && !yieldsToDeletion(transaction, found, hasStepsBefore)) return;
  if (found.hook && isOfDeletion(found.hook.name)) return;
  const resource = found.hook ? dropWait(transaction, found) : found;
  if (resource.action === 'DELETE' && resource.status === 'COMPLETE') {
    removeResource(transaction, id);
    return;
  }
  const { abandoned } = state.stack;
  if (isUnrequested(resource) || (isKept(resource) && !abandoned) || (abandoned && !isNested(resource))) {
    passThrough(transaction, id, { action: 'DELETE' });
    removeResource(transaction, id);
    return;
  }
  if (!abandoned && !resource.request) {
    if (holdAt(transaction, resource, 'pre-delete') || holdAt(transaction, resource, 'terminating')) return;
    if (snapshots && !hasPassed(state.stack, resource, 'snapshot')) {
      const marked = markPassed(transaction, resource, 'snapshot');
      send(transaction, marked, 'snapshot', { properties: resource.properties }, []);
      return;
    }
  }
  const latest = state.resources.get(id) ?? resource;
  send(transaction, latest, 'delete', { properties: latest.properties }, []);
}

/** Whether another incarnation uses this one. A skipped user that stays is left out: it would block for ever. */
function isUsed({ requiredBy, resources, doomed, stack }: State, id: string): boolean {
  for (const user of requiredBy.get(id) ?? [])
    if (doomed.has(user) || resources.get(user)?.skipped !== stack.target.plan) return true;
  return false;
}

const isKept = (resource: ResourceDocument): boolean =>
  resource.external ||
  resource.deletion_policy === 'Retain' ||
  (resource.skipped !== null && resource.action === 'DELETE');

/** Whether to take a snapshot first. A failed creation, a missing object and a begun deletion have nothing to save. */
function wantsSnapshot({ deletion_policy, action, status, failure }: ResourceDocument): boolean {
  if (deletion_policy !== 'Snapshot' || action === 'DELETE' || failure?.code === 'NotFound') return false;
  return status !== 'FAILED' || (action !== 'CREATE' && action !== 'ADOPT');
}

const isOfDeletion = (hook: string): boolean =>
  hook === 'pre-delete' || hook === 'post-delete' || hook === 'terminating';
