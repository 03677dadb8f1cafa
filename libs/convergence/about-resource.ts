/** What a person says about one resource: it is unhealthy, take it as it is, go on from a hook. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { leafReason } from './failure.ts';
import { revisit } from './node.ts';
import { clearHook, completeHook, heartbeat } from './hook.ts';
import { answerParent } from './nested.ts';
import type { Input } from './protocol.ts';
import { isNested, representative, type ResourceDocument } from './documents.ts';
import { announceResource, changeResource, type Transaction } from './transaction.ts';
import { inProgress, retry } from './traversal.ts';

type Given = Extract<Input, { kind: 'resource' }>;

export function takeWord(transaction: Transaction, { resource: name, action }: Given): void {
  const all = incarnationsOf(transaction, name);
  switch (action.kind) {
    case 'mark':
      mark(transaction, standing(transaction, name, all.length > 0 ? all : withPhysicalId(transaction, name)), action);
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
  [...(state.byName.get(name) ?? [])].flatMap((id) => state.resources.get(id) ?? []);

/** Who found something broken may know it by its physical id only. */
function withPhysicalId({ state }: Transaction, id: string): ResourceDocument[] {
  const all = [...state.resources.values()].filter(({ physical_id }) => physical_id === id);
  const names = [...new Set(all.map(({ name }) => name))];
  if (names.length < 2) return all;
  throw new AnnealError('InvalidRequest', `Several resources have the physical id ${id}: ${names.join(', ')}.`);
}

export function standing(
  transaction: Transaction,
  name: string,
  all = incarnationsOf(transaction, name),
): ResourceDocument {
  const found = representative(all);
  if (found) return found;
  const { stack } = transaction.state;
  throw new AnnealError('NotFound', `The Resource (${name}) could not be found in Stack ${stack.name}.`);
}

/** Any incarnation may wait, whichever stands for the name. */
const waiting = (
  transaction: Transaction,
  name: string,
  all: readonly ResourceDocument[],
  at: string,
): ResourceDocument => all.find(({ hook }) => hook?.name === at) ?? standing(transaction, name, [...all]);

/** The next update replaces what is called unhealthy, and what reads it follows. */
function mark(
  transaction: Transaction,
  resource: ResourceDocument,
  { unhealthy, reason }: { unhealthy: boolean; reason: string },
): void {
  if (resource.request) {
    throw new AnnealError('Conflict', `The resource ${resource.name} is being worked on; wait, or cancel the action.`);
  }
  // Those that come after it in the action that runs rely on it.
  if (transaction.state.stack.status === 'IN_PROGRESS') throw inProgress(transaction.state.stack);
  // What was never made is made anew in any case.
  if (resource.status === 'FAILED' && (resource.action === 'CREATE' || resource.action === 'ADOPT')) return;
  const isUnhealthy = resource.action === 'CHECK' && resource.status === 'FAILED';
  if (resource.action === 'DELETE' || resource.action === 'INIT' || unhealthy === isUnhealthy) return;
  const failure = { code: 'Unhealthy', message: reason === '' ? 'marked unhealthy' : reason };
  const marked = changeResource(transaction, resource.id, {
    action: 'CHECK',
    status: unhealthy ? 'FAILED' : 'COMPLETE',
    reason: unhealthy ? failure.message : reason,
    failure: unhealthy ? failure : null,
    // What failed in a nested stack is still there: the next update goes into it.
    ...(!unhealthy && isNested(resource) && { attempted: resource.properties }),
  });
  announceResource(transaction, { ...marked, started_at: null });
  if (unhealthy) answerParent(transaction, failure);
}

/** A failed resource is taken as it is, for as long as this plan is the target. When it was the last one, all goes on. */
function skip(transaction: Transaction, name: string, all: readonly ResourceDocument[]): void {
  const { stack } = transaction.state;
  // A retry that failed too leaves two of that name: the later one is meant, and the earlier one goes.
  const failed = representative(all.filter(({ status, request }) => status === 'FAILED' && !request));
  if (!failed) {
    standing(transaction, name, [...all]);
    throw new AnnealError('NotSupported', `The resource ${name} has not failed; there is nothing to skip.`);
  }
  if (stack.phase === 'converging' || stack.phase === 'draining') {
    throw inProgress(stack);
  }
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
  // A snapshot is made anew, and not gone on with.
  if (!others && failedSo && stack.action !== 'SNAPSHOT') retry(transaction);
}
