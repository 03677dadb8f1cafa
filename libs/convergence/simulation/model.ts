/**
 * A small world around the core, under virtual time: a plan language in which a property is a constant or the attribute of
 * another resource, and in which a nested stack's plan follows from its properties.
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, LifecycleHook, Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { Tools } from '../protocol.ts';
import { newStack as blankStack, type ResourceDocument, type StackDocument } from '../documents.ts';
import { drawnIn, idFrom, outputOf, readBy } from './values.ts';

/** A random integer from 0 up to, but without, `below`. */
export type Random = (below: number) => number;

/** mulberry32: one seed determines the whole run. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/**
 * `Plain` serves nothing but create, update and delete; `Instant` is answered within the step; a newer request for a
 * `Latest` replaces the one in flight, and its provider has one queue for all of them.
 */
export type WishType = 'Test' | 'Plain' | 'Nested' | 'Instant' | 'Latest';

/** A resource as a test wants it. */
export interface DesiredResource {
  readonly requires: readonly string[];
  /** A change of this value updates in place. */
  readonly value: number;
  /** A change of this value replaces the resource; a nested stack is updated. */
  readonly kind: number;
  readonly type?: WishType;
  readonly retain?: boolean;
  /** The provider takes a snapshot before the deletion. */
  readonly snapshot?: boolean;
  readonly metadata?: number;
  readonly description?: string;
  /** A value that only this resource, and those that read it, may show. */
  readonly hidden?: Json;
  /** The evaluation of its properties fails. */
  readonly broken?: boolean;
  readonly hooks?: readonly string[];
  readonly lifecycle?: readonly LifecycleHook[];
  readonly restricted?: readonly string[];
  readonly external?: string;
  readonly deleteFirst?: boolean;
  readonly renewed?: boolean;
}
/** The resources of a plan by name. */
export type DesiredResources = Readonly<Record<string, DesiredResource>>;

/** A plan with these resources. */
export function simulatedPlan(wishes: DesiredResources, rolling?: Plan['rolling']): Plan {
  return {
    format: 1,
    template_version: '2021-04-16',
    description: '',
    parameters: {},
    resources: Object.fromEntries(Object.entries(wishes).map(([name, wish]) => [name, entryOf(name, wish)])),
    outputs: Object.fromEntries(
      Object.keys(wishes).map((name) => [`of ${name}`, { name: `of ${name}`, value: reading([name]) }]),
    ),
    ...(rolling && { rolling }),
  };
}

/** The list of the outputs of these resources. */
const reading = (names: readonly string[]): Expression => ({
  kind: 'list',
  items: names.map((name) => ({ kind: 'call', function: 'get_attr', arguments: { kind: 'literal', value: name } })),
});

function entryOf(name: string, wish: DesiredResource): PlanResource {
  const type = wish.type ?? 'Test';
  return {
    name,
    type,
    properties: {
      value: { kind: 'literal', value: wish.value },
      kind: { kind: 'literal', value: wish.kind },
      ...(wish.broken && { broken: { kind: 'literal', value: true } }),
      ...(type === 'Latest' && { queue: { kind: 'literal', value: 'q' } }),
      ...(wish.hidden !== undefined && { hidden: { kind: 'literal', value: wish.hidden } }),
      // Every second requirement only sets the order, as with depends_on.
      from: reading(wish.requires.filter((_, index) => index % 2 === 0)),
    },
    requires: [...wish.requires].sort(),
    digest: JSON.stringify(wish),
    ...(wish.snapshot && { deletion_policy: 'Snapshot' }),
    ...(wish.retain && { deletion_policy: 'Retain' }),
    ...(wish.metadata !== undefined && { metadata: { kind: 'literal', value: { m: wish.metadata } } }),
    ...(wish.description !== undefined && { description: wish.description }),
    ...(wish.hooks && { hooks: [...wish.hooks] }),
    ...(wish.lifecycle && { lifecycle_hooks: [...wish.lifecycle] }),
    ...(wish.restricted && { restricted_actions: [...wish.restricted] }),
    ...(wish.deleteFirst && { replacement: 'delete_first' }),
    ...(wish.renewed && { renewed: true }),
    ...(wish.external !== undefined && { external_id: { kind: 'literal', value: wish.external } }),
    ...(type === 'Nested' && { nested: { kind: 'template', type, digest: 'one', reads: [] } }),
  };
}

/** Plan of a nested stack with these properties: members, some of which roll in batches. */
export function nestedPlan(properties: JsonObject): Plan {
  const value = Number(properties['value'] ?? 0);
  const kind = Number(properties['kind'] ?? 0);
  const { hidden = null, from = null } = properties;
  const type = kind % 4 === 1 ? 'Instant' : 'Test';
  // The properties of the resource are parameters of its stack: one member reads them, and others read that member.
  const members: Record<string, DesiredResource> = {
    x: { requires: [], value: value % 5, kind: 0, hidden: [hidden, from] },
  };
  members['y'] = { requires: ['x'], value: 1, kind: kind % 3, type };
  const batch = ['m0', 'm1', 'm2'].slice(0, value % 4);
  for (const name of batch) members[name] = { requires: [], value: value % 7, kind: kind % 2 };
  // A stack in the nested one; its value is too small for another.
  if (value >= 700) members['z'] = { requires: ['y', 'x'], value: value % 100, kind, type: 'Nested' };
  if (batch.length < 2 || kind % 2 === 0) return simulatedPlan(members);
  const temporary = kind % 3 === 0 ? ['spare'] : [];
  for (const name of temporary) members[name] = { requires: [], value: 0, kind: 0 };
  return simulatedPlan(members, {
    members: batch,
    batch_size: 1 + (value % 2),
    min_in_service: 1,
    pause_seconds: value % 3,
    temporary,
  });
}

/** Whether the type serves every action. */
export const servesAll = (type: string): boolean => type === 'Test' || type === 'Latest';

/** The facts that differ between runs. */
export interface ToolOptions {
  readonly replaceFailed?: boolean;
  readonly limit?: number;
  readonly most?: number;
  readonly atOnce?: Tools['atOnce'];
  readonly follows?: readonly string[];
}

/** The tools of a step at this time, in milliseconds. Only the types `Test` and `Latest` serve every action. */
export function toolsAt(now: number, options: ToolOptions = {}): Tools {
  return {
    now,
    graceMs: 5000,
    serves: ({ type }) => servesAll(type),
    supersedes: ({ type }) => type === 'Latest',
    cancels: ({ type }) => type === 'Latest',
    withdraws: () => true,
    isHeld: ({ group }, name) => Array.isArray(group?.['warm']) && group['warm'].includes(name),
    queuePlace: ({ type, properties }) =>
      type === 'Latest' ? { kind: 'latest', property: 'queue', reads: new Set(readBy(properties['from'])) } : undefined,
    limit: options.limit ?? 1000,
    ...(options.most !== undefined && { most: options.most }),
    ...(options.atOnce && { atOnce: options.atOnce }),
    follows: () => options.follows ?? [],
    newId: idFrom,
    nameLimit: () => 255,
    replaceFailed: () => options.replaceFailed ?? true,
    resolve: ({ resource, peer, stack }) => {
      const external = resource.external_id;
      if (external?.kind === 'literal') return { ok: true, properties: {}, external_id: external.value as string };
      if (resource.properties['broken']) return { ok: false, failure: { code: 'InvalidTemplate', message: 'broken' } };
      const properties: JsonObject = {};
      for (const [name, expression] of Object.entries(resource.properties)) {
        if (expression.kind === 'literal') properties[name] = expression.value;
        else if (expression.kind === 'list') {
          properties[name] = readBy(expression).map((source): Json => {
            const found = peer(source);
            // Values also follow from a failed resource while no action runs: by a signal, or by a nested stack.
            if (found?.status !== 'COMPLETE' && stack.phase !== 'idle')
              throw new Error(`C1: ${resource.name} reads ${source}, which is not complete`);
            return found?.attributes['output'] ?? null;
          });
        }
      }
      const metadata = resource.metadata?.kind === 'literal' ? resource.metadata.value : undefined;
      return { ok: true, properties, ...(metadata !== undefined && { metadata }) };
    },
    compare: ({ type, before, after }) => {
      const changed = ['value', 'kind', 'from', 'hidden'].filter(
        (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
      );
      if (changed.length === 0) return { verdict: 'same' };
      return { verdict: changed.includes('kind') && type !== 'Nested' ? 'replace' : 'update', changed };
    },
  };
}

/** The document of a new stack with an empty plan. */
export const newSimulatedStack = (id: string, more: Partial<Parameters<typeof blankStack>[0]> = {}): StackDocument =>
  blankStack({
    id,
    name: id,
    live_name: `p/${id}`,
    project: 'p',
    owner: 'o',
    created_at: new Date(0).toISOString(),
    timeout_minutes: null,
    on_failure: 'keep',
    tags: [],
    target: simulatedTarget('0'),
    ...more,
  });

/** A target with this plan hash. */
export const simulatedTarget = (plan: string, revision = plan): StackDocument['target'] => ({
  revision,
  plan,
  template: '',
  environment: '',
  files: '',
  description: '',
});

/** The response of a provider after success. */
export function successResponse(resource: ResourceDocument): ResourceResponse {
  const request = resource.request;
  if (!request) throw new Error(`${resource.id} waits for nothing`);
  return {
    resource_id: resource.id,
    stack_id: resource.stack_id,
    action: request.action,
    fence: request.fence,
    status: 'complete',
    physical_id: resource.physical_id ?? `physical ${resource.id}`,
    attributes: outputOf(resource.id, request.properties, drawnIn(resource.attributes)),
  };
}
