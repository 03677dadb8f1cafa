/**
 * What is stored of one stack: the only truth of it.
 *
 * A document's `version` is the one it will have in the store once the change is written: whoever writes asks the store
 * for exactly the version before, so that a change is written once, by whomever.
 */
import type { Failure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { LifecycleHook, PlanNested } from '@anneal/contracts/plan.ts';
import type { Drift, LeafFailure, ResourceAction } from '@anneal/contracts/resource.ts';
import type { FailurePolicy, resourceStates, stackActions, statuses } from '@anneal/contracts/scheduling.ts';

export type StackAction = (typeof stackActions)[number];
export type ResourceState = (typeof resourceStates)[number];
export type Status = (typeof statuses)[number];

/** What a traversal goes towards, by content hashes. */
export interface Target {
  /** Another one with every update, though it goes to the same plan; a retry keeps it, and a rollback returns to that of before. */
  readonly revision: string;
  readonly plan: string;
  readonly template: string;
  readonly environment: string;
  readonly files: string;
  readonly description: string;
}

/** Actions that send one request to each resource, and bring nothing to a plan. */
export const visitActions = ['CHECK', 'SUSPEND', 'RESUME', 'SNAPSHOT'] as const;
export type VisitAction = (typeof visitActions)[number];

/** See the header of `step.ts` for what each phase means. */
export type Phase = 'idle' | 'converging' | 'draining' | 'paused';

/** Which request of which resource a nested stack answers. */
export interface ParentLink {
  readonly stack_id: string;
  readonly resource_id: string;
  readonly resource_name: string;
  readonly action: ResourceAction;
  readonly fence: number;
  /** The nested stack has as long as the one around it. */
  readonly deadline: string;
}

export interface SnapshotRef {
  readonly id: string;
  readonly name: string;
}

/** The batch of a rolling update: who is in it, until when the next one waits, and whether only the temporary ones are left. */
export interface Batch {
  readonly members: readonly string[];
  readonly until: string | null;
  readonly retiring: boolean;
}

export interface StackDocument {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  /** Unique among all stacks: project and name while it lives, its own id once it is deleted. */
  readonly live_name: string;
  readonly project: string;
  readonly owner: string;
  readonly action: StackAction;
  readonly status: Status;
  readonly reason: string;
  readonly phase: Phase;
  readonly created_at: string;
  readonly updated_at: string | null;
  readonly deleted_at: string | null;
  readonly timeout_minutes: number | null;
  readonly on_failure: FailurePolicy;
  readonly tags: readonly string[];
  /** Null of a stack of its own. */
  readonly parent: ParentLink | null;
  readonly root: string;
  readonly depth: number;
  readonly traversal: string;
  readonly deadline: string | null;
  readonly target: Target;
  /** The last target that was reached: what a rollback returns to. */
  readonly complete: Target | null;
  /** When it was reached. */
  readonly completed_at: string | null;
  readonly failures: readonly LeafFailure[];
  /** Of a rollback: how many of the failures are those that it goes back from. */
  readonly inherited: number;
  /** By resource: what an adoption takes over. */
  readonly adopt: JsonObject | null;
  /** The running traversal touches nothing outside. */
  readonly abandoned: boolean;
  /** The running traversal looks at what is really there first. */
  readonly observe: boolean;
  /** It was suspended and not resumed: only snapshots of it are made meanwhile. */
  readonly suspended: boolean;
  /** The snapshot that is being made. */
  readonly snapshot: SnapshotRef | null;
  readonly batch: Batch | null;
  /** Of a group: what its members are made from. The core only keeps it. */
  readonly group: JsonObject | null;
  /** Counts changes of what resources show to others: see `shown_at` and `seen_at` of resources. */
  readonly clock: number;
  /** The sequence of its last event. */
  readonly event_sequence: number;
  /** Ids of the inputs that a repeat of must not run twice, the newest last; bounded. */
  readonly recent: readonly string[];
}

export type RequestAction = Exclude<ResourceAction, 'signal' | 'cancel'>;

/** A request that a provider has not answered to the end. */
export interface PendingRequest {
  readonly action: RequestAction;
  readonly fence: number;
  readonly traversal: string;
  readonly deadline: string;
  /** What is being applied; becomes the resource's own once the provider is done. */
  readonly properties: JsonObject;
  readonly changed: readonly string[];
  /** What it requires once this is done. While it runs, the resource requires these and those from before. */
  readonly requires: readonly string[];
  /** Of the plan: see `ResourceDocument`. */
  readonly digest: string | null;
  readonly source: string | null;
  readonly seen_at: number;
  /** How often it was tried before, and when it is sent again, after a conflict. */
  readonly attempts: number;
  readonly not_before: string | null;
}

/** A resource that waits for someone outside. */
export interface Waiting {
  readonly name: string;
  readonly kind: 'hook' | 'lifecycle';
  readonly since: string;
  /** Proves that it is this wait which is meant. */
  readonly token: string;
  readonly traversal: string;
  readonly deadline: string | null;
  /** Heartbeats cannot move the deadline beyond this. */
  readonly last: string | null;
  readonly default: 'continue' | 'abandon' | null;
}

/** One incarnation of a resource. A replacement is another one, with the same name. */
export interface ResourceDocument {
  readonly id: string;
  readonly version: number;
  readonly stack_id: string;
  readonly name: string;
  readonly type: string;
  /** As the plan has it. */
  readonly written_type?: string | undefined;
  readonly action: ResourceState;
  readonly status: Status;
  readonly reason: string;
  readonly physical_id: string | null;
  readonly physical_name: string;
  readonly attributes: JsonObject;
  /** As last applied with success. */
  readonly properties: JsonObject;
  /** Of an update that failed: what it tried to apply, which may have come through in part. */
  readonly attempted: JsonObject | null;
  /** Its provider said that what is wanted takes a new object. */
  readonly must_replace: boolean;
  readonly metadata: Json;
  readonly description: string;
  /** Ids of the incarnations it uses. */
  readonly requires: readonly string[];
  readonly replaces: string | null;
  readonly replaced_by: string | null;
  readonly deletion_policy: 'Delete' | 'Retain' | 'Snapshot';
  /** The object belongs to someone else: it is neither made, changed nor deleted. */
  readonly external: boolean;
  /** Whether it is a nested stack, whatever became of its creation, and of which kind. */
  readonly nested: PlanNested['kind'] | null;
  /** Of a nested stack: the hash of what it was made of, as last applied. */
  readonly source: string | null;
  /** The digest of the entry of the plan that was last applied. */
  readonly digest: string | null;
  /** The stack's clock when what it shows to others last changed, and when it last looked at what others show. */
  readonly shown_at: number;
  readonly seen_at: number;
  /** The last answer of a nested stack. */
  readonly sequence: number;
  /** The plan towards which it is taken as it is, though it failed. */
  readonly skipped: string | null;
  readonly hook: Waiting | null;
  /** Hooks that were passed, and in which traversal. */
  readonly passed: { readonly traversal: string; readonly hooks: readonly string[] } | null;
  readonly hooks: readonly string[];
  readonly lifecycle_hooks: readonly LifecycleHook[];
  readonly drift: readonly Drift[];
  readonly snapshot: JsonObject | null;
  /** The revision of the target and the traversal in which it was last changed. */
  readonly revision: string;
  readonly traversal: string;
  /** The fence of its last request; 0 when its provider has never heard of it. */
  readonly fence: number;
  readonly request: PendingRequest | null;
  readonly failure: Failure | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

/** The document of a stack that nothing was done for yet. */
export function newStack(given: {
  readonly id: string;
  readonly name: string;
  readonly live_name: string;
  readonly project: string;
  readonly owner: string;
  readonly created_at: string;
  readonly timeout_minutes: number | null;
  readonly on_failure: FailurePolicy;
  readonly tags: readonly string[];
  readonly target: Target;
  readonly adopt?: JsonObject | null;
  readonly parent?: ParentLink;
  readonly root?: string;
  readonly depth?: number;
  readonly group?: JsonObject | null;
}): StackDocument {
  const action = given.adopt ? 'ADOPT' : 'CREATE';
  return {
    ...given,
    version: 1,
    action,
    status: 'IN_PROGRESS',
    reason: `Stack ${action} started`,
    phase: 'idle',
    updated_at: null,
    deleted_at: null,
    parent: given.parent ?? null,
    root: given.root ?? given.id,
    depth: given.depth ?? 0,
    traversal: '',
    deadline: null,
    complete: null,
    completed_at: null,
    failures: [],
    inherited: 0,
    adopt: given.adopt ?? null,
    abandoned: false,
    observe: false,
    suspended: false,
    snapshot: null,
    batch: null,
    group: given.group ?? null,
    clock: 0,
    event_sequence: 0,
    recent: [],
  };
}

/** Whether its traversal goes towards nothing, whatever its target says. */
export const goesToNothing = ({ action, complete }: Pick<StackDocument, 'action' | 'complete'>): boolean =>
  action === 'DELETE' || (action === 'ROLLBACK' && complete === null);

export const isVisit = (action: StackAction): action is VisitAction =>
  (visitActions as readonly StackAction[]).includes(action);

/** What a resource is an instance of: a type, or a template that goes by the name of one. */
export type Typed = Pick<ResourceDocument, 'type' | 'nested'>;

/** The type that serves a resource; undefined when a template stands for it, even if it bears the name of a served type. */
export const servedType = ({ type, nested }: Typed): string | undefined => (nested === 'template' ? undefined : type);

/** The type that readers see: as the template names it. */
export const shownType = ({ type, written_type: written }: Pick<ResourceDocument, 'type' | 'written_type'>): string =>
  written ?? type;

export const isNested = (resource: ResourceDocument): boolean => resource.nested !== null;

/** It was never asked for, and nothing was taken over. */
export const isUnknown = ({ fence, physical_id }: ResourceDocument): boolean => fence === 0 && physical_id === null;

/** Which of several incarnations of a name stands for it, to someone who reads: what is there beats what is to come. */
export function representative(candidates: readonly ResourceDocument[]): ResourceDocument | undefined {
  const rank = (resource: ResourceDocument): number =>
    (resource.action === 'DELETE' ? -4 : 0) + (resource.replaced_by === null ? 1 : 0);
  return [...candidates].sort((a, b) => rank(b) - rank(a) || b.created_at.localeCompare(a.created_at))[0];
}
