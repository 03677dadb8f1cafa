/**
 * Stored documents of one stack: the single source of truth.
 *
 * A document's `version` is the one it will have in the store once the change is written. The process that writes it
 * requires exactly the version before, so each change is applied once, whichever process writes it.
 */
import type { Failure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { LifecycleHook, PlanNested } from '@anneal/contracts/plan.ts';
import { placeWithin, type Occasion, type TreePlace } from '@anneal/contracts/origin.ts';
import type { Drift } from '@anneal/contracts/drift.ts';
import type { LeafFailure, ResourceAction } from '@anneal/contracts/resource.ts';
import type { scalingReasons } from '@anneal/contracts/calls/scaling.ts';
import type { FailurePolicy, resourceStates, stackActions, statuses } from '@anneal/contracts/calls/stacks.ts';

/** The last action of a stack, in the words of Heat. */
export type StackAction = (typeof stackActions)[number];
/** The last action of a resource; INIT before its first request. */
export type ResourceState = (typeof resourceStates)[number];
/** The progress of an action. */
export type Status = (typeof statuses)[number];

/** Goal of a traversal, by content hashes. */
export interface Target {
  /** Changes with every update, even to the same plan. A retry keeps it; a rollback returns to the one before. */
  readonly revision: string;
  readonly plan: string;
  readonly template: string;
  readonly environment: string;
  readonly files: string;
  /** The sources that its nested stacks can read, by content hash; absent when it has none, or not known. */
  readonly sources?: string | undefined;
  readonly description: string;
}

/** Actions that send one request to each resource, and apply no plan. */
export const visitActions = ['CHECK', 'SUSPEND', 'RESUME', 'SNAPSHOT'] as const;
/** A visit: an action that changes no plan. */
export type VisitAction = (typeof visitActions)[number];

/** The header of `step.ts` describes each phase. */
export type Phase = 'idle' | 'converging' | 'draining' | 'paused';

/** Which request of which resource a nested stack answers. */
export interface ParentLink {
  readonly stack_id: string;
  readonly resource_id: string;
  readonly resource_name: string;
  readonly action: ResourceAction;
  readonly fence: number;
  /** The nested stack has the same deadline as its parent stack. */
  readonly deadline: string;
  /** The tree is rolled back. Ends when the nested stack begins an action by itself. */
  readonly restores?: boolean;
  /** Where the nested stack is, for its events; absent in requests of older versions. */
  readonly place?: TreePlace;
}

/** The snapshot that the running traversal takes. */
export interface SnapshotRef {
  readonly id: string;
  readonly name: string;
}

/** Batch of a rolling update: its members, when the next batch may begin, and whether temporary members retire. */
export interface Batch {
  readonly members: readonly string[];
  readonly until: string | null;
  readonly retiring: boolean;
}

/** A change of the members of a group, from its decision to the end of the traversal that makes it. */
export interface Scaling {
  /** The id of the request that caused it. */
  readonly id: string;
  readonly reason: (typeof scalingReasons)[number];
  /** The policy, if one decided. */
  readonly policy: string | null;
  /** The reason that the requester gave. */
  readonly message: string | null;
  /** The number of members before and after. */
  readonly before: number;
  readonly after: number;
  /** The names of the members that come and go. */
  readonly entering: readonly string[];
  readonly leaving: readonly string[];
  /** Set when more changes are due: then the timer `next` of the group fires at the end of the traversal. */
  readonly follows?: boolean;
}

/** The single source of truth about a stack besides its resources. Times are ISO 8601 in UTC. */
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
  /** When the last action ended. Null while one runs; absent in documents of older versions. */
  readonly finished_at?: string | null;
  /** True when a client cancelled the last action. Its status is FAILED, as in Heat. */
  readonly cancelled?: boolean;
  readonly deleted_at: string | null;
  readonly timeout_minutes: number | null;
  readonly on_failure: FailurePolicy;
  readonly tags: readonly string[];
  /** Null for a stack that is not nested. */
  readonly parent: ParentLink | null;
  readonly root: string;
  readonly depth: number;
  readonly traversal: string;
  /** The actor and the cause of the traversal; absent in documents of older versions. */
  readonly occasion?: Occasion;
  /** An operator created the stack, and operators alone have updated it. Absent in documents of older versions. */
  readonly operators_only?: boolean;
  readonly deadline: string | null;
  readonly target: Target;
  /** The last target that was reached. A rollback returns to it. */
  readonly complete: Target | null;
  /** When `complete` was reached. */
  readonly completed_at: string | null;
  readonly failures: readonly LeafFailure[];
  /** In a rollback: how many of the failures caused it. They come first. */
  readonly inherited: number;
  /** Data that an adoption takes over, by resource. */
  readonly adopt: JsonObject | null;
  /** The running traversal leaves all real objects as they are. */
  readonly abandoned: boolean;
  /** The running traversal checks the real objects first. */
  readonly observe: boolean;
  /** The stack was suspended and not resumed: meanwhile it only allows snapshots. */
  readonly suspended: boolean;
  /** The snapshot that is being made. */
  readonly snapshot: SnapshotRef | null;
  readonly batch: Batch | null;
  /** Source of the members of a group. The core only stores it. */
  readonly group: JsonObject | null;
  /** The change of members that the running traversal makes; absent or null: none. */
  readonly scaling?: Scaling | null;
  /** Counts changes of the values that resources show to others: see `shown_at` and `seen_at` of resources. */
  readonly clock: number;
  /** The sequence of its last event. */
  readonly event_sequence: number;
  /** Bytes of the contents of its target, and of its resources; absent in documents of older versions. */
  readonly sizes?: { readonly contents: number; readonly resources: number };
  /** Ids of recent inputs, so that a duplicate does not run twice; the newest last; bounded. */
  readonly recent: readonly string[];
}

/** An action that a provider answers; at most one is pending per resource. */
export type RequestAction = Exclude<ResourceAction, 'signal' | 'cancel'>;

/** A request that still waits for its final response. */
export interface PendingRequest {
  readonly action: RequestAction;
  readonly fence: number;
  readonly traversal: string;
  readonly deadline: string;
  /** Properties that are being applied. The resource takes them over once the provider is done. */
  readonly properties: JsonObject;
  readonly changed: readonly string[];
  /** Requirements of the resource once this request is done. Meanwhile the resource has these and its earlier ones. */
  readonly requires: readonly string[];
  /** Digest and source of the plan entry: see `ResourceDocument`. */
  readonly digest: string | null;
  readonly source: string | null;
  readonly sources?: string | undefined;
  readonly seen_at: number;
  /** Number of earlier attempts, and when the request is sent again after a conflict. */
  readonly attempts: number;
  readonly not_before: string | null;
  /** Requests in flight that this one was sent ahead of: its provider begins it after them. Absent: none. */
  readonly after?: readonly { readonly id: string; readonly fence: number }[];
  /** Its provider was asked to end it, because it may not begin any more. */
  readonly recalled?: boolean;
}

/** A resource's wait for an external client. */
export interface ExternalWait {
  readonly name: string;
  readonly kind: 'hook' | 'lifecycle';
  readonly since: string;
  /** Proves that a client means this wait. */
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
  /** Type name as the plan writes it. */
  readonly written_type?: string | undefined;
  readonly action: ResourceState;
  readonly status: Status;
  readonly reason: string;
  readonly physical_id: string | null;
  readonly physical_name: string;
  readonly attributes: JsonObject;
  /** Properties as last applied with success. */
  readonly properties: JsonObject;
  /** Properties that a failed update tried to apply; some of them may have taken effect. */
  readonly attempted: JsonObject | null;
  /** The provider reported that the wanted change needs a new object. */
  readonly must_replace: boolean;
  readonly metadata: Json;
  readonly description: string;
  /** Ids of the incarnations it uses. */
  readonly requires: readonly string[];
  readonly replaces: string | null;
  readonly replaced_by: string | null;
  readonly deletion_policy: 'Delete' | 'Retain' | 'Snapshot';
  /** The object belongs to another owner: the engine neither makes, changes nor deletes it. */
  readonly external: boolean;
  /** The kind of nested stack, even if its creation failed; null for other resources. */
  readonly nested: PlanNested['kind'] | null;
  /** `PlanNested.digest` of a nested stack, as last applied. */
  readonly source: string | null;
  /** The sources that a nested stack could read when it was last applied, by content hash. Absent: not known. */
  readonly sources?: string | undefined;
  /** The names of those that it read, and that the stacks in it read. Absent: not known. */
  readonly used?: readonly string[] | undefined;
  /** The digest of the entry of the plan that was last applied. */
  readonly digest: string | null;
  /** The stack's clock when its shown values last changed, and when it last read the shown values of others. */
  readonly shown_at: number;
  readonly seen_at: number;
  /** Sequence number of the last answer of a nested stack. */
  readonly sequence: number;
  /** The plan for which an operator skipped this failed resource: it stays as it is. */
  readonly skipped: string | null;
  readonly hook: ExternalWait | null;
  /** Hooks that were passed, and in which traversal. */
  readonly passed: { readonly traversal: string; readonly hooks: readonly string[] } | null;
  readonly hooks: readonly string[];
  readonly lifecycle_hooks: readonly LifecycleHook[];
  readonly drift: readonly Drift[];
  readonly snapshot: JsonObject | null;
  /** The revision of the target and the traversal in which it was last changed. */
  readonly revision: string;
  readonly traversal: string;
  /** The fence of its last request; 0 when none was ever sent to its provider. */
  readonly fence: number;
  readonly request: PendingRequest | null;
  readonly failure: Failure | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  /** Null: held in the warm pool of its group. A time: when it left the pool. Absent: never held. */
  readonly entered_at?: string | null;
}

/** The document of a new stack, before its first step. */
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

/** Whether the stack's traversal aims at an empty plan, whatever its target says. */
export const goesToNothing = ({ action, complete }: Pick<StackDocument, 'action' | 'complete'>): boolean =>
  action === 'DELETE' || (action === 'ROLLBACK' && complete === null);

/** True for CHECK, SUSPEND, RESUME and SNAPSHOT. */
export const isVisit = (action: StackAction): action is VisitAction =>
  (visitActions as readonly StackAction[]).includes(action);

/** The type of a resource, or the template that goes by the name of a type. */
export type Typed = Pick<ResourceDocument, 'type' | 'nested'>;

/** The type that serves a resource; undefined for a template, even if it has the name of a served type. */
export const servedType = ({ type, nested }: Typed): string | undefined => (nested === 'template' ? undefined : type);

/** The type that readers see: as the template names it. */
export const shownType = ({ type, written_type: written }: Pick<ResourceDocument, 'type' | 'written_type'>): string =>
  written ?? type;

/** Whether the resource is complete, but not in service: its lifecycle hooks and the events of members wait. */
export const isWarm = ({ entered_at: entered }: ResourceDocument): boolean => entered === null;

/** True when a stack of its own serves the resource. */
export const isNested = (resource: ResourceDocument): boolean => resource.nested !== null;

/** Whether no provider ever got a request for the resource, and no existing object was adopted. */
export const isUnrequested = ({ fence, physical_id }: ResourceDocument): boolean => fence === 0 && physical_id === null;

/**
 * Whether the object may still exist and work, although the plan has it no more: its deletion runs or has failed. A dead
 * controller cannot prove that its machine is off.
 */
export const isLeaving = ({ action, physical_id }: ResourceDocument): boolean =>
  action === 'DELETE' && physical_id !== null;

/** The code of the failure that a check reports for a resource whose creation failed. */
export const notCreated = 'NotCreated';

/** Whether the creation or adoption of the resource failed, also after a check has reported it. */
export const isUncreated = ({ action, status, failure }: ResourceDocument): boolean =>
  status === 'FAILED' &&
  (action === 'CREATE' || action === 'ADOPT' || (action === 'CHECK' && failure?.code === notCreated));

/** Orders incarnations by their creation. Two of one moment have an order too, which no memory or store changes. */
export const newestFirst = (a: ResourceDocument, b: ResourceDocument): number =>
  b.created_at.localeCompare(a.created_at) || b.id.localeCompare(a.id);

/** The incarnation readers see for a name: an existing object wins over one not created yet. */
export function representative(candidates: readonly ResourceDocument[]): ResourceDocument | undefined {
  const rank = (resource: ResourceDocument): number =>
    (resource.action === 'DELETE' ? -4 : 0) + (resource.replaced_by === null ? 1 : 0);
  if (candidates.length < 2) return candidates[0];
  return [...candidates].sort((a, b) => rank(b) - rank(a) || newestFirst(a, b))[0];
}

/**
 * The path of a resource from the root of its tree of stacks, as people write it: `pool/9`. The name alone when the stack
 * has no place, because an older version sent the last request of its parent.
 */
export const pathInTree = ({ parent }: Pick<StackDocument, 'parent'>, name: string): string =>
  parent?.place ? placeWithin(parent.place, name).path : name;
