/**
 * Update of a plan entry whose requirements are met.
 *
 * | incarnations of the name                             | action                                                 |
 * | ---------------------------------------------------- | ------------------------------------------------------ |
 * | one, applied from the same entry; inputs unchanged   | nothing: done, without evaluating it                   |
 * | one, skipped by an operator for this plan            | nothing: done                                          |
 * | one with a request pending                           | awaited, or overtaken: see `overtake.ts`               |
 * | one that waits at a hook                             | awaited                                                |
 * | none                                                 | made; on ADOPT taken over; with external_id checked    |
 * | some; the one with the smallest change is chosen:    | (healthy and equal, then update, then replacement)     |
 * | - not made yet                                       | made                                                   |
 * | - equal                                              | nothing: done; other incarnations are cleaned up       |
 * | - differs where the type allows it                   | updated in place                                       |
 * | - differs elsewhere, or its provider requires it     | replaced; the original stays while anything uses it    |
 * | - equal, and every update renews it                  | replaced once per update; a nested stack is updated    |
 * | - ... and the plan says `delete_first`               | all of that name is deleted first, then it is made     |
 * | - failed to be made, or a check: unhealthy           | replaced; of a nested stack: updated                   |
 * | - failed to be updated                               | updated with all that was tried, or replaced: the type |
 * | equal, and no longer held in the warm pool           | enters service: waits at its hook `launching`, if any  |
 * In a rolling group, each of these waits for its batch. An action in `restricted_actions` fails and changes nothing.
 */
import { sameJson } from '@anneal/contracts/json.ts';
import type { PlanResource } from '@anneal/contracts/plan.ts';
import { adoptOne, visitExternal } from '../resources/adopt.ts';
import { conditionOf } from '../resources/health.ts';
import { failLeaf, refuseLeaf } from '../node/failure.ts';
import { markForDeletion, markDone, waitsForPlace } from '../node/node.ts';
import { holdAt } from '../node/wait.ts';
import { createIncarnation, currentRequires, send, type ResolvedResource } from '../resources/incarnation.ts';
import { candidatesOf, canBecome, choose, hasOtherSources, isDue, type Choice } from '../resources/pick-incarnation.ts';
import type { Comparison } from '../protocol.ts';
import { resolvePlanned } from './resolve-planned.ts';
import { joinsBatch, waitsForBatch } from '../node/rolling.ts';
import { cancelReplaced, isBeingMade, isDisposable, noteOvertaken, yieldsToUpdate } from '../resources/overtake.ts';
import { isNested, isWarm, type ResourceDocument } from '../documents.ts';
import { withdrawRequest } from '../node/recall.ts';
import type { Graph } from '../state.ts';
import { announceResource, changeResource, type Transaction } from '../transaction.ts';

/**
 * Takes the next step of a plan entry, by the table above. Does nothing while a requirement is open or the entry is
 * done, so a repeated visit is harmless.
 */
export function visitUpdate(transaction: Transaction, name: string): void {
  const { state } = transaction;
  const graph = state.graph as Graph;
  const planned = Object.hasOwn(state.plan.resources, name) ? state.plan.resources[name] : undefined;
  if (!planned || graph.current.has(name) || (graph.waiting.get(name) ?? 0) > 0) return;
  const untouched = untouchedOf(transaction, planned);
  if (untouched) {
    // The sources may differ in what it has not read. The older ones need not stay in the store.
    const { sources } = state.plan;
    if (planned.nested && untouched.sources !== sources) changeResource(transaction, untouched.id, { sources });
    markDone(transaction, name, untouched.id);
    return;
  }
  const candidates = candidatesOf(transaction, name);
  const skipped = candidates.find((candidate) => candidate.skipped === state.stack.target.plan);
  if (skipped) {
    settle(transaction, skipped, planned);
    return;
  }
  const [only] = candidates;
  if (candidates.length === 1 && only?.request && !yieldsToUpdate(transaction, only, planned)) {
    if (!wants(transaction, only, planned)) withdrawRequest(transaction, only.id);
    return;
  }
  if (candidates.some(({ hook }) => hook !== null)) return;
  if (waitsForBatch(transaction, name, candidates.length > 0)) return;

  const resolved = resolvePlanned(transaction, planned, { before: candidates[0] });
  // The other nodes go on, so that one try of the step finds all results that are missing.
  if (!resolved.ok && resolved.isPending) return;
  if (!resolved.ok) {
    const failed =
      candidates.find(({ request }) => !request) ?? createIncarnation(transaction, planned, {}, only?.id ?? null);
    failLeaf(transaction, failed.id, {
      // Keep the action of an earlier failure: it shows whether the resource was made, and whether it is healthy.
      action: failed.status === 'FAILED' ? failed.action : failed.action === 'INIT' ? 'CREATE' : 'UPDATE',
      failure: resolved.failure,
    });
    return;
  }
  // External objects are never changed. A replaced external incarnation may still exist, and is not used again.
  const ours = candidates.filter(({ external, type }) => !external || type !== planned.type);
  if (resolved.external_id !== undefined || (only && ours.length === 0)) {
    visitExternal(transaction, { planned, resolved, candidates, settle });
    return;
  }
  const choice = choose(transaction, ours, planned, resolved);
  for (const other of ours) {
    // Its work may hold up that of the chosen one, for example on the same host.
    if (other.id !== choice?.resource.id && isDisposable(transaction, other)) markForDeletion(state, other.id);
  }
  if (choice) reconcile(transaction, choice, planned, resolved);
  else if (joinsBatch(transaction, name, false)) make(transaction, planned, resolved);
}

/** Makes the first incarnation of a plan entry. */
function make(transaction: Transaction, planned: PlanResource, resolved: ResolvedResource): void {
  if (transaction.state.stack.action === 'ADOPT') {
    adoptOne(transaction, planned, resolved);
    return;
  }
  if (waitsForPlace(transaction, planned)) return;
  const resource = createIncarnation(transaction, planned, resolved, null);
  if (!holdAt(transaction, resource, 'pre-create')) send(transaction, resource, 'create', resolved, []);
}

/** Reconciles the chosen incarnation with the plan. */
function reconcile(transaction: Transaction, choice: Choice, planned: PlanResource, resolved: ResolvedResource): void {
  const { state, tools } = transaction;
  const { resource, comparison } = choice;
  const { name } = planned;
  if (resource.action === 'INIT' && canBecome(resource, planned)) {
    if (resource.request || !joinsBatch(transaction, name, false)) return;
    if (waitsForPlace(transaction, planned, resource.id)) return;
    if (!holdAt(transaction, resource, 'pre-create')) {
      send(transaction, resource, 'create', resolved, []);
    }
    return;
  }
  const overtakes = resource.request !== null;
  if (overtakes && (!yieldsToUpdate(transaction, resource, planned) || isAsked(transaction, resource, comparison)))
    return;
  // A resource that this traversal made or changed is neither held nor observed again by it.
  const fresh = resource.traversal === state.stack.traversal;
  if (!resource.request && !fresh && holdAt(transaction, resource, 'pre-update', planned)) return;
  if (looksFirst(transaction, resource)) {
    send(transaction, resource, 'check', { properties: resource.properties }, []);
    return;
  }
  const { broken, replaced } = conditionOf(resource, comparison, tools);
  const observed = state.stack.observe && isNested(resource) && !fresh;
  if (!replaced && !broken && comparison.verdict === 'same' && !observed && !overtakes) {
    settle(transaction, resource, planned, resolved);
    return;
  }
  const restricted = replaced ? 'replace' : 'update';
  if (planned.restricted_actions?.includes(restricted)) {
    const message = `${restricted} is restricted for resource.`;
    refuseLeaf(transaction, resource, { code: 'ResourceActionRestricted', message });
    return;
  }
  if (!joinsBatch(transaction, name, !replaced)) return;
  if (replaced) {
    if (waitsForPlace(transaction, planned)) return;
    if (isBeingMade(transaction, resource)) {
      if (isDisposable(transaction, resource)) markForDeletion(state, resource.id);
      return;
    }
    // Create before delete: the original stays, and is cleaned up once its dependents have moved.
    const replacement = createIncarnation(transaction, planned, resolved, resource.id);
    changeResource(transaction, resource.id, { replaced_by: replacement.id });
    cancelReplaced(transaction, resource);
    send(transaction, replacement, 'create', resolved, []);
    return;
  }
  if (!resource.request && holdAt(transaction, resource, 'updating', planned)) return;
  if (isBeingMade(transaction, resource)) {
    if (!waitsForPlace(transaction, planned, resource.id)) send(transaction, resource, 'create', resolved, []);
    return;
  }
  // The effects of a failed or overtaken update are unknown: send all properties that it touched again.
  const { attempted, ...last } = noteOvertaken(transaction, resource);
  const tried =
    attempted &&
    tools.compare({
      type: last.type,
      isTemplate: last.nested === 'template',
      before: last.properties,
      after: attempted,
    });
  const changed = [...changedOf(comparison), ...(tried ? changedOf(tried) : [])];
  send(transaction, resource, 'update', resolved, [...new Set(changed)]);
}

/** Whether the plan wants what an earlier traversal requested, as far as its properties are known. */
function wants(transaction: Transaction, { request, ...resource }: ResourceDocument, planned: PlanResource): boolean {
  const { state, tools } = transaction;
  const isForeign = request !== null && request.traversal !== state.stack.traversal && isApplied({ request });
  if (!isForeign || !tools.withdraws(resource)) return true;
  if (!canBecome(resource, planned)) return false;
  const resolved = resolvePlanned(transaction, planned, { before: undefined });
  if (!resolved.ok || resolved.external_id !== undefined) return true;
  const [before, after] = [request.properties, resolved.properties];
  return tools.compare({ type: planned.type, isTemplate: false, before, after }).verdict === 'same';
}

const isApplied = ({ request }: Pick<ResourceDocument, 'request'>): boolean =>
  request?.action === 'create' || request?.action === 'update';

/** Whether a request of this traversal, or one with the same properties, is pending. */
const isAsked = ({ state }: Transaction, { request }: ResourceDocument, { verdict }: Comparison): boolean =>
  request?.traversal === state.stack.traversal || (verdict === 'same' && isApplied({ request }));

const changedOf = (comparison: Comparison): readonly string[] =>
  comparison.verdict === 'same' ? [] : comparison.changed;

/** Whether to check the real object before the comparison; once per traversal. */
function looksFirst({ state, tools }: Transaction, resource: ResourceDocument): boolean {
  if (!state.stack.observe || resource.status !== 'COMPLETE' || resource.action === 'INIT' || isNested(resource))
    return false;
  return resource.traversal !== state.stack.traversal && tools.serves(resource, 'check');
}

/**
 * Returns the only incarnation, if it was applied from the same plan entry and none of its inputs has changed since
 * then: it needs no evaluation.
 */
function untouchedOf({ state, tools }: Transaction, planned: PlanResource): ResourceDocument | undefined {
  const ids = state.byName.get(planned.name);
  if (planned.digest === undefined || ids?.size !== 1 || state.stack.observe) return undefined;
  const [id = ''] = ids;
  const resource = state.resources.get(id);
  if (!resource || resource.digest !== planned.digest || resource.status !== 'COMPLETE') return undefined;
  if (resource.action === 'DELETE' || resource.action === 'INIT' || resource.request || resource.hook) return undefined;
  if (resource.must_replace || resource.attempted !== null || resource.skipped !== null) return undefined;
  if (resource.replaced_by !== null || planned.hooks || planned.external_id) return undefined;
  if (entersNow({ state, tools }, resource)) return undefined;
  if (isDue(state, resource, planned)) return undefined;
  if (hasOtherSources({ state, tools }, resource, planned)) return undefined;
  const current = (state.graph as Graph).current;
  let index = 0;
  for (const name of planned.requires) {
    const peer = current.get(name);
    if (peer === undefined) continue;
    if (resource.requires[index++] !== peer) return undefined;
    if ((state.resources.get(peer)?.shown_at ?? Infinity) > resource.seen_at) return undefined;
  }
  return index === resource.requires.length ? resource : undefined;
}

/** Marks a node as done with this resource, because it matches the plan or was skipped. */
function settle(
  transaction: Transaction,
  resource: ResourceDocument,
  planned: PlanResource,
  resolved?: ResolvedResource,
): void {
  const { state } = transaction;
  const wanted = currentRequires(transaction, planned);
  // A skipped resource still uses its earlier requirements, and is deleted before them.
  const requires = resource.skipped === null ? wanted : [...new Set([...resource.requires, ...wanted])];
  const patch: { -readonly [K in keyof ResourceDocument]?: ResourceDocument[K] } = {};
  if (!sameJson([...requires], [...resource.requires])) patch.requires = requires;
  if (resource.type !== planned.type) patch.type = planned.type;
  if (resource.written_type !== planned.written_type) patch.written_type = planned.written_type;
  if (resource.replaced_by !== null) patch.replaced_by = null;
  if (resource.must_replace) patch.must_replace = false;
  if (resource.status === 'FAILED')
    Object.assign(patch, { status: 'COMPLETE', failure: null, reason: 'state changed' });
  const policy = planned.deletion_policy ?? 'Delete';
  if (resource.deletion_policy !== policy) patch.deletion_policy = policy;
  if (resource.description !== (planned.description ?? '')) patch.description = planned.description ?? '';
  if (resolved) {
    const { metadata } = resolved;
    if (metadata !== undefined && !sameJson(metadata, resource.metadata)) patch.metadata = metadata;
    const digest = planned.digest ?? null;
    if (resource.digest !== digest) patch.digest = digest;
    if (planned.nested && resource.sources !== state.plan.sources) patch.sources = state.plan.sources;
    if (requires.some((id) => (state.resources.get(id)?.shown_at ?? 0) > resource.seen_at)) {
      patch.seen_at = state.stack.clock;
    }
  }
  if (!sameJson([...(planned.hooks ?? [])], [...resource.hooks])) patch.hooks = planned.hooks ?? [];
  if (JSON.stringify(planned.lifecycle_hooks ?? []) !== JSON.stringify(resource.lifecycle_hooks)) {
    patch.lifecycle_hooks = planned.lifecycle_hooks ?? [];
  }
  const settled = Object.keys(patch).length > 0 ? changeResource(transaction, resource.id, patch) : resource;
  if (settled.status !== resource.status) announceResource(transaction, settled);
  if (entersNow(transaction, settled) && holdsEntering(transaction, settled)) return;

  markDone(transaction, planned.name, resource.id);
  const others = state.byName.get(planned.name);
  if (others && others.size > 1) for (const id of others) if (id !== resource.id) markForDeletion(state, id);
}

/** Whether the group no longer holds this member in its warm pool. */
const entersNow = ({ state, tools }: Pick<Transaction, 'state' | 'tools'>, resource: ResourceDocument): boolean =>
  isWarm(resource) && tools.isHeld?.(state.stack, resource.name) !== true;

/** Takes a member from the warm pool into service. True when it waits at its hook `launching` first. */
function holdsEntering(transaction: Transaction, resource: ResourceDocument): boolean {
  const entered = changeResource(transaction, resource.id, { entered_at: transaction.now });
  const announced = { ...entered, started_at: null };
  const more = { action: 'UPDATE', enters: true } as const;
  const reason = 'enters service from the warm pool';
  announceResource(transaction, announced, { ...more, status: 'IN_PROGRESS', reason });
  if (holdAt(transaction, entered, 'launching')) return true;
  announceResource(transaction, announced, { ...more, status: 'COMPLETE', reason: 'in service' });
  return false;
}
