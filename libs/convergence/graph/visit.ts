/**
 * Visits: CHECK, SUSPEND, RESUME and SNAPSHOT send one request to each resource, and change no plan.
 *
 * | resource is             | CHECK      | SUSPEND    | RESUME     | SNAPSHOT   |
 * | ----------------------- | ---------- | ---------- | ---------- | ---------- |
 * | COMPLETE                | ask        | ask        | leave      | ask        |
 * | SUSPEND_COMPLETE        | ask        | done       | ask        | ask ¹      |
 * | SUSPEND_FAILED          | ask        | ask        | ask        | refuse     |
 * | RESUME_FAILED           | ask        | ask        | ask        | refuse     |
 * | CREATE_ or ADOPT_FAILED | fail ²     | refuse     | leave      | refuse     |
 * | another FAILED          | ask        | refuse     | leave      | refuse     |
 * ¹ The resource stays suspended, during its snapshot and after, so that it can be resumed.
 * ² The resource becomes CHECK_FAILED with the cause. Later checks do not ask for it either.
 * A resource at its `launching` hook is awaited. `ask` sends no request and only changes the state when the type does
 * not serve the visit, and for external resources, except for CHECK. `leave` counts as done. A refused resource fails
 * the visit, and stays as it is. After an operator skips it, it is COMPLETE and asked; if no provider was ever asked to
 * make it, only its state changes. Resources that are INIT or being deleted are not visited.
 * A failure ends a visit like any traversal, except for CHECK: it changes nothing, so it continues and names all
 * failures.
 */
import type { Failure } from '@anneal/contracts/errors.ts';
import { failLeaf, refuseLeaf } from '../node/failure.ts';
import { markDone } from '../node/node.ts';
import { passThrough, send } from '../resources/incarnation.ts';
import {
  isNested,
  isUncreated,
  isUnrequested,
  notCreated,
  type ResourceDocument,
  type VisitAction,
} from '../documents.ts';
import type { Graph } from '../state.ts';
import { changeResource, type Transaction } from '../transaction.ts';

/** Takes the next step of a visit to one resource, by the table above. A repeated visit sends nothing twice. */
export function visitNode(transaction: Transaction, id: string): void {
  const { state, tools } = transaction;
  const graph = state.graph as Graph;
  if (!graph.waiting.has(id) || graph.current.has(id) || (graph.waiting.get(id) ?? 0) > 0) return;
  const resource = state.resources.get(id);
  if (!resource) {
    markDone(transaction, id, id);
    return;
  }
  // A resource at its `launching` hook is not ready for use yet.
  if (resource.request || resource.hook) return;
  const action = state.stack.action as VisitAction;
  const as = action === 'SNAPSHOT' && resource.action === 'SUSPEND' ? 'SUSPEND' : action;
  const visited = resource.action === as && resource.traversal === state.stack.traversal;
  const verdict = visited ? 'done' : judge(action, resource);
  if (verdict === 'done') {
    markDone(transaction, id, id);
    return;
  }
  if (verdict === 'fail') {
    changeResource(transaction, id, { started_at: transaction.now });
    failLeaf(transaction, id, { action: 'CHECK', failure: uncreated(resource) });
    markDone(transaction, id, id);
    return;
  }
  if (verdict === 'refuse') {
    const failure = {
      code: 'InvalidState',
      message: `State ('${resource.action}', '${resource.status}') invalid for ${action.toLowerCase()}`,
      remedy: 'Update the stack, which repairs the failed resources; then try again.',
    };
    refuseLeaf(transaction, resource, failure, action);
    return;
  }
  const verb = action.toLowerCase() as Lowercase<VisitAction>;
  // External resources are only checked, and so are resources that were skipped before any request for them.
  const serves = tools.serves(resource, verb);
  const onlyLook = resource.external || isUnrequested(resource);
  if (onlyLook ? serves && action === 'CHECK' : serves || isNested(resource)) {
    send(transaction, resource, verb, { properties: resource.properties }, [], as);
    return;
  }
  const reason = action === 'CHECK' ? { reason: `CHECK not supported for ${resource.type}` } : {};
  if (as === action) passThrough(transaction, id, { action, ...reason });
  markDone(transaction, id, id);
}

/** Keeps the cause, because the check replaces the failure of the creation. */
function uncreated(resource: ResourceDocument): Failure {
  const { action, failure, reason } = resource;
  if (failure?.code === notCreated) return failure;
  return {
    code: notCreated,
    // The reason of a nested stack has the path of the resource inside.
    message: `Its ${action.toLowerCase()} failed: ${(!isNested(resource) && failure?.message) || reason}`,
    remedy: 'Update the stack, which creates it again.',
    ...(failure?.details && { details: failure.details }),
  };
}

function judge(action: VisitAction, resource: ResourceDocument): 'ask' | 'done' | 'fail' | 'refuse' {
  const failed = resource.status === 'FAILED';
  const halted = resource.action === 'SUSPEND' || resource.action === 'RESUME';
  switch (action) {
    case 'CHECK':
      return isUncreated(resource) ? 'fail' : 'ask';
    case 'SUSPEND':
      if (failed && !halted) return 'refuse';
      return resource.action === 'SUSPEND' && !failed ? 'done' : 'ask';
    case 'RESUME':
      return halted && (failed || resource.action === 'SUSPEND') ? 'ask' : 'done';
    case 'SNAPSHOT':
      return failed && resource.action !== 'SNAPSHOT' ? 'refuse' : 'ask';
  }
}
