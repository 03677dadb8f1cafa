/** Incarnations of resources: adds new ones to the stack, and records and sends requests for them. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { PlanResource } from '@anneal/contracts/plan.ts';
import { physicalName } from './physical-name.ts';
import type { Resolution } from '../protocol.ts';
import { type PendingRequest, type RequestAction, type ResourceDocument, type ResourceState } from '../documents.ts';
import type { Graph } from '../state.ts';
import {
  addEffect,
  announceResource,
  changeResource,
  insertResource,
  newId,
  type Transaction,
} from '../transaction.ts';

/** A plan entry whose properties are evaluated. */
export type ResolvedResource = Extract<Resolution, { ok: true }>;

/** Adds a new incarnation to the stack; no provider is asked yet. */
export function createIncarnation(
  transaction: Transaction,
  planned: PlanResource,
  resolved: { metadata?: Json | undefined },
  replaces: string | null,
  id = newId(transaction, `resource ${planned.name}`),
): ResourceDocument {
  const { state, now } = transaction;
  const resource: ResourceDocument = {
    id,
    version: 1,
    stack_id: state.stack.id,
    name: planned.name,
    // No spread among the fields: with one, each of the fields after it costs as much as a separate assignment.
    type: planned.type,
    written_type: planned.written_type,
    action: 'INIT',
    status: 'COMPLETE',
    reason: '',
    physical_id: null,
    physical_name: physicalName({
      stack: state.stack.name,
      resource: planned.name,
      id,
      limit: transaction.tools.nameLimit({ type: planned.type, nested: planned.nested?.kind ?? null }),
    }),
    attributes: {},
    properties: {},
    attempted: null,
    must_replace: false,
    metadata: resolved.metadata ?? {},
    description: planned.description ?? '',
    requires: currentRequires(transaction, planned),
    replaces,
    replaced_by: null,
    deletion_policy: planned.deletion_policy ?? 'Delete',
    external: false,
    nested: planned.nested?.kind ?? null,
    source: null,
    digest: null,
    shown_at: 0,
    seen_at: 0,
    sequence: 0,
    skipped: null,
    hook: null,
    passed: null,
    hooks: planned.hooks ?? [],
    lifecycle_hooks: planned.lifecycle_hooks ?? [],
    drift: [],
    snapshot: null,
    revision: state.stack.target.revision,
    traversal: state.stack.traversal,
    fence: 0,
    request: null,
    failure: null,
    created_at: now,
    updated_at: now,
    started_at: null,
    finished_at: null,
  };
  const created = transaction.tools.isHeld?.(state.stack, planned.name) ? { ...resource, entered_at: null } : resource;
  insertResource(transaction, created);
  return created;
}

/** Current incarnations of the resources that a plan entry requires, and those in flight that it is sent ahead of. */
export function currentRequires({ state }: Transaction, planned: PlanResource): string[] {
  const { current, ahead } = state.graph as Graph;
  return planned.requires.map((name) => current.get(name) ?? ahead.get(name)).filter((id) => id !== undefined);
}

/** The requests in flight that a plan entry is sent ahead of. */
function requestsBefore({ state }: Transaction, planned: PlanResource): { id: string; fence: number }[] {
  const { current, ahead } = state.graph as Graph;
  return planned.requires.flatMap((name) => {
    const id = current.has(name) ? undefined : ahead.get(name);
    const fence = id === undefined ? undefined : state.resources.get(id)?.request?.fence;
    return id === undefined || fence === undefined ? [] : [{ id, fence }];
  });
}

const applies = (action: RequestAction): boolean => action === 'create' || action === 'update';

/** Records a request with a new fence and adds the effect that sends it. Overtakes a pending request. */
export function send(
  transaction: Transaction,
  resource: ResourceDocument,
  action: RequestAction,
  resolved: { readonly properties: JsonObject; readonly metadata?: Json | undefined },
  changed: readonly string[],
  as: ResourceState = action.toUpperCase() as ResourceState,
): void {
  const { state, now } = transaction;
  const fence = resource.fence + 1;
  const planned = applies(action) || as === 'ADOPT' ? state.plan.resources[resource.name] : undefined;
  const requires = planned ? currentRequires(transaction, planned) : resource.requires;
  const after = planned ? requestsBefore(transaction, planned) : [];
  const union = [...new Set([...resource.requires, ...requires])];
  const request: PendingRequest = {
    action,
    fence,
    traversal: state.stack.traversal,
    deadline: state.stack.deadline ?? now,
    properties: resolved.properties,
    changed,
    requires,
    digest: planned ? (planned.digest ?? null) : resource.digest,
    source: planned ? (planned.nested?.digest ?? null) : resource.source,
    sources: planned ? planned.nested && state.plan.sources : resource.sources,
    seen_at: planned ? state.stack.clock : resource.seen_at,
    attempts: 0,
    not_before: null,
    ...(after.length > 0 && { after }),
  };
  const sent = changeResource(transaction, resource.id, {
    action: as,
    status: 'IN_PROGRESS',
    reason: 'state changed',
    fence,
    failure: null,
    traversal: state.stack.traversal,
    started_at: now,
    finished_at: null,
    request,
    ...(union.length !== resource.requires.length && { requires: union }),
    ...(planned && {
      // One template may replace another. Then the resource takes the other's name.
      type: planned.type,
      written_type: planned.written_type,
      revision: state.stack.target.revision,
      skipped: null,
      deletion_policy: planned.deletion_policy ?? 'Delete',
      description: planned.description ?? '',
      hooks: planned.hooks ?? [],
      lifecycle_hooks: planned.lifecycle_hooks ?? [],
      ...(resolved.metadata !== undefined && { metadata: resolved.metadata }),
    }),
  });
  addEffect(transaction, { kind: 'request', resource: resource.id, fence });
  announceResource(transaction, sent);
}

/** Changes the state of a resource without a request to its provider. */
export function passThrough(
  transaction: Transaction,
  id: string,
  patch: Partial<ResourceDocument> & { action: ResourceState },
): ResourceDocument {
  const { state, now } = transaction;
  const passed = changeResource(transaction, id, {
    status: 'COMPLETE',
    reason: 'state changed',
    failure: null,
    traversal: state.stack.traversal,
    started_at: null,
    finished_at: now,
    ...patch,
  });
  announceResource(transaction, passed);
  return passed;
}
