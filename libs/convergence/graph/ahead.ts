/**
 * Requests that are sent ahead: the requirements of the resource are still in progress, but their provider puts all of
 * them into one queue and works on that queue in order. So a list of such resources costs one round trip.
 *
 * H1 A resource is sent ahead only to be created, and only when each of its requirements is done, or in flight as the
 *    plan wants it, in the same queue. It reads no attribute of a requirement in flight. Neither has a hook, rolls in
 *    batches, or makes room first. An update is not sent ahead: were it skipped, the resource would count as changed.
 * H2 The request names the requirements in flight, with their fences. Its provider begins it after they have completed,
 *    and fails it when one of them fails: then the resource fails as a consequence, and is no cause of its own.
 * H3 A node that was sent ahead is done only after its requirements, like every other node.
 * H4 A request that was sent ahead is recalled when its traversal fails or is cancelled before the requirements are
 *    complete, and when a newer plan wants something else.
 */
import { sameJson } from '@anneal/contracts/json.ts';
import type { PlanResource } from '@anneal/contracts/plan.ts';
import { goesToNothing, type ResourceDocument } from '../documents.ts';
import type { QueuePlace } from '../protocol.ts';
import { createIncarnation, send, type ResolvedResource } from '../resources/incarnation.ts';
import { isBeingMade, yieldsToUpdate } from '../resources/overtake.ts';
import { canBecome, candidatesOf, choose } from '../resources/pick-incarnation.ts';
import type { Graph, State } from '../state.ts';
import type { Transaction } from '../transaction.ts';
import { recall, withdrawRequest } from '../node/recall.ts';
import { resolvePlanned } from './resolve-planned.ts';

const plannedOf = ({ plan }: State, name: string): PlanResource | undefined =>
  Object.hasOwn(plan.resources, name) ? plan.resources[name] : undefined;

/** H1: the queue of a plan entry that may be sent ahead, or before others. */
function placeOf({ state, tools }: Transaction, planned: PlanResource): QueuePlace | undefined {
  const isPlain =
    !planned.hooks?.length &&
    !planned.lifecycle_hooks?.length &&
    !planned.external_id &&
    !planned.replacement &&
    !planned.renewed &&
    !(state.graph as Graph).rolling.has(planned.name);
  return isPlain && state.stack.action !== 'ADOPT' && !state.stack.observe ? tools.queuePlace?.(planned) : undefined;
}

/** Queues the dependents of a node whose request is in flight as the plan wants it, so that they may be sent ahead. */
export function lookAhead(transaction: Transaction, name: string): void {
  const { state, tools } = transaction;
  const graph = state.graph as Graph;
  const dependents = graph.dependents.get(name);
  if (!tools.queuePlace || !dependents || graph.current.has(name)) return;
  const planned = plannedOf(state, name);
  const [only, ...others] = candidatesOf(transaction, name).filter(({ request }) => request !== null);
  if (!planned || !only || others.length > 0 || state.doomed.has(only.id) || !placeOf(transaction, planned)) return;
  if (only.request?.action !== 'create' && only.request?.action !== 'update') return;
  if (graph.ahead.get(name) === only.id) return;
  graph.ahead.set(name, only.id);
  for (const dependent of dependents) {
    const next = plannedOf(state, dependent);
    if (next && placeOf(transaction, next)) state.ready.ahead.items.push(dependent);
  }
}

/** Sends a plan entry ahead, if H1 allows it. A repeated visit does nothing. */
export function visitAhead(transaction: Transaction, name: string): void {
  const { state } = transaction;
  const graph = state.graph as Graph;
  const planned = plannedOf(state, name);
  if (!planned || graph.current.has(name) || (graph.waiting.get(name) ?? 0) === 0) return;
  const candidates = candidatesOf(transaction, name);
  const [only] = candidates;
  if (only?.request?.recalled) return;
  if (only?.request?.traversal === state.stack.traversal) {
    // After a restart of the process, those behind it may not be sent yet.
    lookAhead(transaction, name);
    return;
  }
  const resolved = candidates.length < 2 ? resolveAhead(transaction, planned) : undefined;
  if (!resolved) {
    if (only) recall(transaction, only);
    return;
  }
  if (!only || isNew(only, planned)) {
    send(transaction, only ?? createIncarnation(transaction, planned, resolved, null), 'create', resolved, []);
    lookAhead(transaction, name);
    return;
  }
  if (!isBeingMade(transaction, only) || !yieldsToUpdate(transaction, only, planned)) return;
  const verdict = choose(transaction, [only], planned, resolved)?.comparison.verdict;
  if (verdict === 'replace' || planned.restricted_actions?.includes('update')) {
    recall(transaction, only);
    return;
  }
  if (verdict === 'update') send(transaction, only, 'create', resolved, []);
  lookAhead(transaction, name);
}

/** An incarnation that was added before, and never requested. */
const isNew = (resource: ResourceDocument, planned: PlanResource): boolean =>
  resource.action === 'INIT' && resource.request === null && resource.hook === null && canBecome(resource, planned);

/** H1 */
function resolveAhead(transaction: Transaction, planned: PlanResource): ResolvedResource | undefined {
  const { state, tools } = transaction;
  const { current, ahead } = state.graph as Graph;
  const place = placeOf(transaction, planned);
  if (!place) return undefined;
  const before = planned.requires.filter(
    (name) => name !== planned.name && plannedOf(state, name) && !current.has(name),
  );
  if (before.length === 0 || before.some((name) => place.reads.has(name))) return undefined;
  const inFlight = before.map((name) => state.resources.get(ahead.get(name) ?? ''));
  if (inFlight.some((resource) => !resource?.request)) return undefined;
  const resolved = resolvePlanned(transaction, planned, { before: undefined, ahead: true });
  if (!resolved.ok || resolved.external_id !== undefined) return undefined;
  const queue = resolved.properties[place.property];
  const sharesQueue = before.every((name, index) => {
    const required = plannedOf(state, name);
    const other = required && tools.queuePlace?.(required);
    const properties = inFlight[index]?.request?.properties ?? {};
    // A host that is hidden is sealed, and equal secrets have equal seals.
    return other?.kind === place.kind && (queue ?? null) !== null && sameJson(properties[other.property], queue);
  });
  return sharesQueue ? resolved : undefined;
}

/**
 * H4: what the new plan does with the requests of an earlier traversal: those that it sent ahead are sent again or
 * recalled, and those for what the plan does not have are withdrawn.
 */
export function reviewInFlight(transaction: Transaction): void {
  const { state } = transaction;
  for (const id of state.inFlight) {
    const resource = state.resources.get(id);
    if (!resource?.request || resource.request.traversal === state.stack.traversal) continue;
    const isPlanned = !goesToNothing(state.stack) && plannedOf(state, resource.name) !== undefined;
    if (resource.request.after && isPlanned) state.ready.ahead.items.push(resource.name);
    else if (resource.request.after) recall(transaction, resource);
    if (!isPlanned && resource.request.action !== 'delete') withdrawRequest(transaction, id);
  }
}
