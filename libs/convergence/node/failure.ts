/** Failures of leaves, and how they fail the traversal. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { Failure } from '@anneal/contracts/errors.ts';
import { jsonBytes, sameJson, type JsonObject } from '@anneal/contracts/json.ts';
import type { LeafFailure } from '@anneal/contracts/resource.ts';
import {
  isVisit,
  newestFirst,
  type PendingRequest,
  type ResourceDocument,
  type ResourceState,
  shownType,
} from '../documents.ts';
import { announceResource, changeResource, changeStack, type Transaction } from '../transaction.ts';
import { recallAll } from './recall.ts';
import { dropWaits } from './wait.ts';

/** Limits of all stored texts and lists: a failed write of a long reason must never block a stack. */
export const reasonLimit = 4096;
const messageLimit = 16_384;
const failureLimit = 100;
const codeLimit = 255;
const factsLimit = 65_536;

/** Formats `a.resources.0.resources.b` as Heat does: `resources.a.resources[0].resources.b`. */
const leafPath = (path: string): string =>
  path
    .split('.resources.')
    .map((name) => (/^\d+$/.test(name) ? `resources[${name}]` : `resources.${name}`))
    .join('.');

/** The failure of a leaf as one line, with its path as Heat writes it. At most 4096 characters. */
export const leafReason = ({ resource, failure }: Pick<LeafFailure, 'resource' | 'failure'>): string =>
  `${failure.code}: ${leafPath(resource)}: ${failure.message}`.slice(0, reasonLimit);

/** Cuts a provider's failure to the stored limits. Details that exceed the limit are left out. */
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
  /** Failed leaves of a nested stack, by their paths in it. */
  readonly leaves?: readonly LeafFailure[] | undefined;
  readonly attempted?: ResourceDocument['attempted'];
  /** The traversal that sent the request; absent: the running one. */
  readonly traversal?: string;
  /** True when it failed because another one did: then the traversal has failed already. */
  readonly isConsequence?: boolean;
}

/** Marks a resource as failed. The running traversal fails too, if it sent the request. */
export function failLeaf(transaction: Transaction, id: string, how: HowItFailed): void {
  const { state, now } = transaction;
  const before = state.resources.get(id);
  if (!before) return;
  const failures = leavesOf(before, how);
  const { failure } = failures[0];
  // A suspended resource stays suspended when its snapshot fails, unless the object no longer exists.
  const stays = before.action === 'SUSPEND' && before.request?.action === 'snapshot' && failure.code !== 'NotFound';
  const failed = changeResource(transaction, id, {
    action: how.action,
    status: stays ? 'COMPLETE' : 'FAILED',
    reason: leafReason(failures[0]),
    failure: stays ? null : failure,
    request: null,
    finished_at: now,
    // For a traversal that overtook this one, the node is not done.
    traversal: how.traversal ?? state.stack.traversal,
    ...(how.attempted !== undefined && { attempted: how.attempted }),
  });
  announceResource(transaction, failed);
  if (stays) announceResource(transaction, failed, { action: 'SNAPSHOT', status: 'FAILED', failure });
  if (how.isConsequence !== true) failTraversal(transaction, failures, how.traversal);
}

/** Fails the traversal because a change is not allowed; the resource stays as it is. */
export function refuseLeaf(
  transaction: Transaction,
  resource: ResourceDocument,
  failure: Failure,
  action: ResourceState = 'UPDATE',
): void {
  // Already reported, before a restart of the process.
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
  // A check changes nothing: it continues, so that it finds all failures.
  if (stack.action === 'CHECK') return;
  if (stack.phase === 'converging') recallAll(transaction);
  changeStack(transaction, { phase: 'draining' });
  dropWaits(transaction);
}

/** Properties that may be partly applied: those of this attempt, and those of earlier attempts that it did not undo. */
export function attemptOf(
  request: PendingRequest,
  { attempted, properties }: Pick<ResourceDocument, 'attempted' | 'properties'>,
): JsonObject | null {
  if (request.action !== 'update') return attempted;
  const before = Object.entries(attempted ?? {}).filter(([name]) =>
    sameJson(request.properties[name] ?? null, properties[name] ?? null),
  );
  return { ...request.properties, ...toRecord(before) };
}

/** The stack's reason for the failure. */
export function failureReason(transaction: Transaction): string {
  const { action, failures, inherited } = transaction.state.stack;
  const first = failures[inherited];
  if (!first) return `Stack ${action} failed`;
  const reasons = action === 'CHECK' ? failures.map(leafReason).join('; ') : leafReason(first);
  return `Resource ${failedAction(transaction, first.resource)} failed: ${reasons}`.slice(0, reasonLimit);
}

function failedAction({ state }: Transaction, path: string): string {
  // A visit does not change the action of a resource that it refuses: name the visit itself.
  if (isVisit(state.stack.action)) return state.stack.action;
  const [name = ''] = path.split('.resources.');
  const all = [...(state.byName.get(name) ?? [])].flatMap((id) => state.resources.get(id) ?? []);
  const [failed] = all.filter(({ status }) => status === 'FAILED').sort(newestFirst);
  if (failed) return failed.action;
  return state.stack.action === 'CREATE' ? 'CREATE' : 'UPDATE';
}
