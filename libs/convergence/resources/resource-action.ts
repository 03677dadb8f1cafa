/** Operator actions on one resource: mark unhealthy, skip, clear or complete a hook. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { leafReason } from '../node/failure.ts';
import { revisit } from '../node/node.ts';
import { clearHook, completeHook, heartbeat } from './hook.ts';
import { answerParent } from '../nested.ts';
import type { Input } from '../protocol.ts';
import { newestFirst, isNested, isUncreated, representative, type ResourceDocument } from '../documents.ts';
import { announceResource, changeResource, type Transaction } from '../transaction.ts';
import { allows, retry } from '../traversal/traversal.ts';

type Given = Extract<Input, { kind: 'resource' }>;

/**
 * Applies the action of an operator. @throws AnnealError NotFound for an unknown resource, Conflict or InvalidRequest
 * when its state does not allow the action; nothing is changed then
 */
export function applyResourceAction(transaction: Transaction, { resource: name, action }: Given): void {
  const all = incarnationsOf(transaction, name);
  switch (action.kind) {
    case 'mark':
      mark(
        transaction,
        representativeOf(transaction, name, all.length > 0 ? all : withPhysicalId(transaction, name)),
        action,
      );
      return;
    case 'skip':
      skip(transaction, name, all);
      return;
    case 'clear hook':
      clearHook(transaction, waiting(transaction, name, all, action.hook), action.hook);
      return;
    case 'heartbeat':
      heartbeat(transaction, waiting(transaction, name, all, action.hook), action);
      return;
    case 'complete hook':
      completeHook(transaction, waiting(transaction, name, all, action.hook), action);
  }
}

const incarnationsOf = ({ state }: Transaction, name: string): ResourceDocument[] =>
  [...(state.byName.get(name) ?? [])].flatMap((id) => state.resources.get(id) ?? []).sort(newestFirst);

/** An operator who finds a broken object may only know its physical id. */
function withPhysicalId({ state }: Transaction, id: string): ResourceDocument[] {
  const all = [...state.resources.values()].filter(({ physical_id }) => physical_id === id);
  const names = [...new Set(all.map(({ name }) => name))];
  if (names.length < 2) return all;
  throw new AnnealError('InvalidRequest', `Several resources have the physical id ${id}: ${names.join(', ')}.`);
}

/** The incarnation that readers see for a name. @throws AnnealError NotFound when the stack has no such resource */
export function representativeOf(
  transaction: Transaction,
  name: string,
  all = incarnationsOf(transaction, name),
): ResourceDocument {
  const found = representative(all);
  if (found) return found;
  const { stack } = transaction.state;
  throw new AnnealError('NotFound', `The Resource (${name}) could not be found in Stack ${stack.name}.`);
}

/** Finds the incarnation that waits at the hook: it need not be the one that readers see for the name. */
const waiting = (
  transaction: Transaction,
  name: string,
  all: readonly ResourceDocument[],
  at: string,
): ResourceDocument => all.find(({ hook }) => hook?.name === at) ?? representativeOf(transaction, name, [...all]);

/** Marks a resource as unhealthy or healthy. The next update replaces an unhealthy one; its readers follow. */
function mark(
  transaction: Transaction,
  resource: ResourceDocument,
  { unhealthy, reason }: { unhealthy: boolean; reason: string },
): void {
  if (resource.request) {
    throw new AnnealError('Conflict', `The resource ${resource.name} is being worked on; wait, or cancel the action.`);
  }
  // Later resources of the running action rely on this one.
  if (!allows(transaction, 'mark unhealthy')) return;
  // A resource that was never made is recreated in any case.
  if (isUncreated(resource)) return;
  const isUnhealthy = resource.action === 'CHECK' && resource.status === 'FAILED';
  if (resource.action === 'DELETE' || resource.action === 'INIT' || unhealthy === isUnhealthy) return;
  const failure = { code: 'Unhealthy', message: reason === '' ? 'marked unhealthy' : reason };
  const marked = changeResource(transaction, resource.id, {
    action: 'CHECK',
    status: unhealthy ? 'FAILED' : 'COMPLETE',
    reason: unhealthy ? failure.message : reason,
    failure: unhealthy ? failure : null,
    // A failure inside a nested stack remains: with `attempted` set, the next update goes into that stack.
    ...(!unhealthy && isNested(resource) && { attempted: resource.properties }),
  });
  announceResource(transaction, { ...marked, started_at: null });
  if (unhealthy) answerParent(transaction, failure);
}

/** Accepts a failed resource as it is while this plan is the target. After the last failed one, retries the action. */
function skip(transaction: Transaction, name: string, all: readonly ResourceDocument[]): void {
  const { stack } = transaction.state;
  // A retry that failed too leaves two incarnations. The operator means the later one; the earlier one is cleaned up.
  const failed = representative(all.filter(({ status, request }) => status === 'FAILED' && !request));
  if (!failed) {
    representativeOf(transaction, name, [...all]);
    throw new AnnealError('NotSupported', `The resource ${name} has not failed; there is nothing to skip.`);
  }
  if (!allows(transaction, 'skip')) return;
  const said = failed.failure ? leafReason({ resource: name, failure: failed.failure }) : failed.reason;
  const skipped = changeResource(transaction, failed.id, {
    skipped: stack.target.plan,
    attempted: null,
    must_replace: false,
    reason: `Skipped: ${said}`,
    ...(failed.action !== 'DELETE' && { status: 'COMPLETE' }),
  });
  announceResource(transaction, { ...skipped, started_at: null });
  revisit(transaction, skipped);
  const others = [...transaction.state.resources.values()].some(
    (other) => other.status === 'FAILED' && other.skipped === null && other.name !== name,
  );
  const failedSo = stack.status === 'FAILED' || stack.phase === 'paused';
  // A snapshot cannot be continued: the client makes another one.
  if (!others && failedSo && stack.action !== 'SNAPSHOT') retry(transaction);
}
