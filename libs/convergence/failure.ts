/** How a leaf fails, and its traversal with it. */
import type { Failure } from '@anneal/contracts/errors.ts';
import { jsonBytes, sameJson, type JsonObject } from '@anneal/contracts/json.ts';
import type { LeafFailure } from '@anneal/contracts/resource.ts';
import { isVisit, type PendingRequest, type ResourceDocument, type ResourceState, shownType } from './documents.ts';
import { announceResource, changeResource, changeStack, type Transaction } from './transaction.ts';
import { dropWaits } from './wait.ts';

/** Every text and list that is kept is bounded: a failed write of a long reason must never hold a stack. */
export const reasonLimit = 4096;
const messageLimit = 16_384;
const failureLimit = 100;
const codeLimit = 255;
const factsLimit = 65_536;

/** `a.resources.0.resources.b` is told as Heat does: `resources.a.resources[0].resources.b`. */
const leafPath = (path: string): string =>
  path
    .split('.resources.')
    .map((name) => (/^\d+$/.test(name) ? `resources[${name}]` : `resources.${name}`))
    .join('.');

export const leafReason = ({ resource, failure }: Pick<LeafFailure, 'resource' | 'failure'>): string =>
  `${failure.code}: ${leafPath(resource)}: ${failure.message}`.slice(0, reasonLimit);

/** What a provider says of a failure, as far as it is kept. Facts that exceed the limit are left out. */
export function bounded(failure: Failure): Failure {
  const { mistakes, details, ...rest } = failure;
  const keeps = (part: unknown): boolean => part !== undefined && jsonBytes(part, factsLimit) <= factsLimit;
  return {
    ...rest,
    code: failure.code.slice(0, codeLimit),
    message: failure.message.slice(0, messageLimit),
    ...(failure.remedy !== undefined && { remedy: failure.remedy.slice(0, messageLimit) }),
    ...(mistakes && keeps(mistakes) && { mistakes }),
    ...(details && keeps(details) && { details }),
  };
}

interface HowItFailed {
  readonly action: ResourceState;
  readonly failure: Failure;
  /** Of a nested stack: its leaves, by their paths in it. */
  readonly leaves?: readonly LeafFailure[] | undefined;
  readonly attempted?: ResourceDocument['attempted'];
  /** The one that wanted it; absent: the traversal that runs. */
  readonly traversal?: string;
}

/** Marks a resource as failed. The traversal fails with it when it was this traversal that wanted it. */
export function failLeaf(transaction: Transaction, id: string, how: HowItFailed): void {
  const { state, now } = transaction;
  const before = state.resources.get(id);
  if (!before) return;
  const failures = leavesOf(before, how);
  const { failure } = failures[0];
  // What is suspended is so still, whatever became of its snapshot, unless it is gone.
  const stays = before.action === 'SUSPEND' && before.request?.action === 'snapshot' && failure.code !== 'NotFound';
  const failed = changeResource(transaction, id, {
    action: how.action,
    status: stays ? 'COMPLETE' : 'FAILED',
    reason: leafReason(failures[0]),
    failure: stays ? null : failure,
    request: null,
    finished_at: now,
    // To one that overtook it, this is not done.
    traversal: how.traversal ?? state.stack.traversal,
    ...(how.attempted !== undefined && { attempted: how.attempted }),
  });
  announceResource(transaction, failed);
  if (stays) announceResource(transaction, failed, { action: 'SNAPSHOT', status: 'FAILED', failure });
  failTraversal(transaction, failures, how.traversal);
}

/** What was wanted is not allowed: the resource stays as it is, and the traversal fails. */
export function refuseLeaf(
  transaction: Transaction,
  resource: ResourceDocument,
  failure: Failure,
  action: ResourceState = 'UPDATE',
): void {
  // It was said before the process died.
  if (
    transaction.state.stack.failures
      .slice(transaction.state.stack.inherited)
      .some((leaf) => leaf.resource === resource.name)
  )
    return;
  announceResource(
    transaction,
    { ...resource, started_at: null },
    { action, status: 'FAILED', reason: failure.message, failure },
  );
  failTraversal(transaction, [{ resource: resource.name, type: shownType(resource), failure }]);
}

function leavesOf(resource: ResourceDocument, { failure, leaves = [] }: HowItFailed): [LeafFailure, ...LeafFailure[]] {
  const [first, ...rest] = leaves.map((leaf) => ({
    ...leaf,
    resource: `${resource.name}.resources.${leaf.resource}`,
    failure: bounded(leaf.failure),
  }));
  return first ? [first, ...rest] : [{ resource: resource.name, type: shownType(resource), failure: bounded(failure) }];
}

function failTraversal(transaction: Transaction, leaves: readonly LeafFailure[], traversal?: string): void {
  const { stack } = transaction.state;
  const wanted = traversal === undefined || traversal === stack.traversal;
  if (!wanted || (stack.phase !== 'converging' && stack.phase !== 'draining')) return;
  changeStack(transaction, { failures: [...stack.failures, ...leaves].slice(0, failureLimit) });
  // A check changes nothing: it goes on, so that all that failed is known.
  if (stack.action === 'CHECK') return;
  changeStack(transaction, { phase: 'draining' });
  dropWaits(transaction);
}

/** What may have come through in part: of this attempt, and of those before it that it did not undo. */
export function attemptOf(
  request: PendingRequest,
  { attempted, properties }: Pick<ResourceDocument, 'attempted' | 'properties'>,
): JsonObject | null {
  if (request.action !== 'update') return attempted;
  const before = Object.entries(attempted ?? {}).filter(([name]) =>
    sameJson(request.properties[name] ?? null, properties[name] ?? null),
  );
  return { ...request.properties, ...Object.fromEntries(before) };
}

/** What the stack says of it. */
export function failureReason(transaction: Transaction): string {
  const { action, failures, inherited } = transaction.state.stack;
  const first = failures[inherited];
  if (!first) return `Stack ${action} failed`;
  const told = action === 'CHECK' ? failures.map(leafReason).join('; ') : leafReason(first);
  return `Resource ${failedAction(transaction, first.resource)} failed: ${told}`.slice(0, reasonLimit);
}

function failedAction({ state }: Transaction, path: string): string {
  // What cannot be visited keeps the state that it is in.
  if (isVisit(state.stack.action)) return state.stack.action;
  const [name = ''] = path.split('.resources.');
  for (const id of state.byName.get(name) ?? []) {
    const resource = state.resources.get(id);
    if (resource?.status === 'FAILED') return resource.action;
  }
  return state.stack.action === 'CREATE' ? 'CREATE' : 'UPDATE';
}
