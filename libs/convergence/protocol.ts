/** Inputs and results of a step. */
import type { AnnealError, Failure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { StackSink } from '@anneal/contracts/stack-sink.ts';
import type { EngineTimer, GroupWait, StackTimer } from '@anneal/contracts/stack-timer.ts';
import type { FailurePolicy, StackEvent } from '@anneal/contracts/calls/stacks.ts';
import type { ResourceAct } from '@anneal/contracts/calls/resources.ts';
import type {
  ParentLink,
  ResourceDocument,
  Scaling,
  SnapshotRef,
  StackDocument,
  Status,
  Target,
  Typed,
  VisitAction,
} from './documents.ts';
import type { SizeLimits } from './size-limits.ts';

/** Only in inputs of a nested stack: the request of its resource in the parent stack. */
export type FromParent = { readonly parent?: ParentLink | undefined };

/** A step of a scaling, as the event of the stack at that moment reports it. */
export interface ScalingReport extends Scaling {
  readonly stage: 'started' | 'completed' | 'failed';
  /** Only for `failed`. */
  readonly failure?: Failure;
}

/** A decision about a group that begins no traversal: a refused request, or a wait for a listener. */
export interface GroupReport {
  readonly stage: string;
  readonly status: Status;
  readonly reason: string;
  readonly data: JsonObject;
}

/** A timer of a group. It outlives traversals. */
export interface GroupTimer {
  readonly wait: GroupWait;
  readonly at: string;
}

/** A duplicate of an input has the same `id`. `occasion`: who asks for it, and why. */
export type Input = { readonly occasion?: Occasion | undefined } & EngineInput;

type EngineInput =
  | ({ readonly kind: 'create'; readonly id: string; readonly plan: Plan } & FromParent)
  | ({
      readonly kind: 'update';
      readonly id: string;
      /** Absent: an update. */
      readonly as?: 'UPDATE' | 'RESTORE' | undefined;
      readonly plan: Plan;
      readonly target: Target;
      readonly timeout_minutes?: number | null | undefined;
      readonly on_failure?: FailurePolicy | undefined;
      readonly tags?: readonly string[] | undefined;
      /** Check the real objects before comparing. */
      readonly observe?: boolean | undefined;
      /** Absent: unchanged. */
      readonly group?: JsonObject | null | undefined;
      /** Set when the members of a group change: the events at the start and the end of the update report it. */
      readonly scaling?: Scaling | undefined;
      /** Timers of the group that the update sets. */
      readonly timers?: readonly GroupTimer[] | undefined;
      /**
       * The scaling overtakes a running update, or follows a failed one, because of what the group knows about it. Absent: a
       * second change is dropped.
       */
      readonly overtakes?: boolean | undefined;
    } & FromParent)
  /** Notes a decision about a group. Begins no traversal. */
  | {
      readonly kind: 'group';
      readonly id: string;
      readonly group: JsonObject;
      readonly reports: readonly GroupReport[];
      readonly timers: readonly GroupTimer[];
    }
  /** `abandon`: keep the real objects. */
  | ({ readonly kind: 'delete'; readonly id: string; readonly abandon?: boolean | undefined } & FromParent)
  | ({ readonly kind: 'visit'; readonly id: string; readonly action: VisitAction } & FromParent)
  | { readonly kind: 'visit'; readonly id: string; readonly action: 'SNAPSHOT'; readonly snapshot: SnapshotRef }
  /** Back to the last complete target, or to nothing if there is none. `cancel`: only while an update runs. */
  | { readonly kind: 'rollback'; readonly id: string; readonly cancel: boolean }
  | ({ readonly kind: 'cancel'; readonly id: string } & FromParent)
  | { readonly kind: 'retry'; readonly id: string }
  | { readonly kind: 'resource'; readonly id: string; readonly resource: string; readonly action: ResourceAct }
  | { readonly kind: 'response'; readonly id: string; readonly response: ResourceResponse }
  | {
      readonly kind: 'timer';
      readonly id: string;
      readonly timer: EngineTimer;
      readonly traversal: string;
      /** Set when a deadline fires early, because the traversal waits for something that can no longer happen. */
      readonly failure?: Failure | undefined;
    }
  | {
      readonly kind: 'signal';
      readonly id: string;
      readonly resource: string;
      /** Signal only this incarnation of the resource. */
      readonly incarnation?: string | undefined;
      readonly signal: Json;
      /** The question that the provider answers in place of the stack; absent: the stack answers. */
      readonly asked?: DelegatedQuestion | undefined;
    };

/** The question of a client, to which another service replies. */
export interface DelegatedQuestion {
  readonly id: string;
  readonly replyto: string;
}

/** Work for the shell after the record is stored. Each may be done twice: requests have fences, the others ids. */
export type Effect =
  /** Send the pending request of this resource to its provider; the resource's document has its content. */
  | { readonly kind: 'request'; readonly resource: string; readonly fence: number }
  /** Ask the nested stack, or the provider, to end the pending request as it stands. */
  | { readonly kind: 'cancel'; readonly resource: string; readonly fence: number }
  /** Ends the request with this fence if its work has not begun. */
  | { readonly kind: 'withdraw'; readonly resource: string; readonly fence: number }
  | {
      readonly kind: 'signal';
      readonly resource: string;
      readonly id: string;
      readonly signal: Json;
      readonly occasion?: Occasion;
      readonly asked?: DelegatedQuestion;
    }
  /** Answer the request of the parent stack; attributes and failures are in the documents. */
  | {
      readonly kind: 'answer';
      readonly parent: ParentLink;
      readonly status: 'complete' | 'failed';
      readonly failure: Failure | null;
    }
  /** Record the progress of a snapshot. */
  | { readonly kind: 'snapshot'; readonly snapshot: SnapshotRef; readonly status: Status; readonly reason: string }
  | { readonly kind: 'timer'; readonly timer: StepTimer; readonly at: string; readonly traversal: string }
  | { readonly kind: 'cancel timer'; readonly timer: StepTimer; readonly traversal: string };

/** Timers that a step sets: those of the engine, and those of the group. */
type StepTimer = EngineTimer | Extract<StackTimer, { kind: 'group' }>;

/**
 * An event, without the stack and the time, which all events of a step share. It has no number either: the events of a
 * step are numbered up to the stack's `event_sequence`, without gaps. A stack event has the traversal, a resource event
 * the id of the resource.
 */
export type EventRecord = EventFacts &
  (
    | { readonly traversal: string; readonly resource_id?: undefined }
    | { readonly traversal?: undefined; readonly resource_id: string }
  );

interface EventFacts extends Pick<
  StackEvent,
  'resource_name' | 'resource_type' | 'physical_id' | 'action' | 'status' | 'reason' | 'failure'
> {
  readonly object_version: number;
  /** The actor and the cause. Absent: the same as in the event before it in its step. */
  readonly occasion?: Occasion;
  /** The incarnation that a resource replaces, or that replaces it. */
  readonly replacement?: string;
  readonly seconds?: number;
  /** Set when a root stack begins to follow a plan that has event sinks, or follows one that had some. */
  readonly event_sinks?: readonly StackSink[];
  /** Set when the scaling of a group starts or ends: the event reports this, too. */
  readonly scaling?: readonly ScalingReport[];
  /** Set for a decision about a group. */
  readonly group?: Pick<GroupReport, 'stage' | 'data'>;
  /** Facts about the member of a group, if the event is about one: see `Tools.memberOf`. */
  readonly member?: JsonObject;
  /** Set when the member of a group leaves the warm pool and enters service. */
  readonly enters?: true;
  /** Set when a resource begins or ends a wait at a hook: the event reports this. */
  readonly hook?: {
    readonly state: 'waiting' | 'cleared';
    readonly kind: 'hook' | 'lifecycle';
    readonly name: string;
    readonly token: string;
    readonly deadline: string | null;
    readonly default: 'continue' | 'abandon' | null;
    /** From the definition of the hook. */
    readonly metadata?: JsonObject;
    /** How the wait ended; absent while it lasts, and when its traversal ended it. */
    readonly result?: 'continue' | 'abandon';
  };
}

/** Content of one journal record: whole documents, never differences. */
export interface Changes {
  stack: StackDocument;
  readonly resources: Map<string, ResourceDocument>;
  /** The changed and removed resources as they were before the step; undefined for those that it added. */
  readonly before: Map<string, ResourceDocument | undefined>;
  /** Ids of removed resources, with the version that the store has of each. */
  readonly removed: Map<string, number>;
  readonly events: EventRecord[];
  readonly effects: Effect[];
  /** False when the inputs changed nothing: then nothing needs to be recorded. */
  dirty: boolean;
}

/** The difference between two sets of properties; `changed` has the names. */
export type Comparison =
  | { readonly verdict: 'same' }
  | { readonly verdict: 'update' | 'replace'; readonly changed: readonly string[] };

/**
 * The evaluated properties of a plan entry, or the reason why they cannot be evaluated. `isPending`: they have no result
 * yet, so the caller discards the step, and takes it again later.
 */
export type Resolution =
  | {
      readonly ok: true;
      readonly properties: JsonObject;
      readonly metadata?: Json | undefined;
      readonly external_id?: string | undefined;
    }
  | { readonly ok: false; readonly failure: Failure; readonly isPending?: true };

/** The queue in which the provider of a plan entry works on its requests, in order. */
export interface QueuePlace {
  readonly kind: string;
  /** The property whose value names the queue. */
  readonly property: string;
  /** The resources whose attributes the entry reads. */
  readonly reads: ReadonlySet<string>;
}

/** Functions and facts that the shell provides to the core; deterministic for one input. */
export interface Tools {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The UUID that belongs to this text, which no other id of the stack has. */
  readonly newId: (text: string) => string;
  /** Evaluates the properties of a resource; `peer` returns the current incarnation of a resource that it requires. */
  readonly resolve: (parameters: {
    plan: Plan;
    resource: PlanResource;
    stack: StackDocument;
    peer: (name: string) => ResourceDocument | undefined;
  }) => Resolution;
  readonly compare: (parameters: {
    type: string;
    /** Whether a template implements this type: then any property may change in place. */
    isTemplate?: boolean;
    before: JsonObject;
    after: JsonObject;
  }) => Comparison;
  /** Whether a source with one of these names is not the same in both sets of sources, which are named by content. */
  readonly sourcesDiffer?: (used: readonly string[], before: string, after: string) => boolean;
  /** Whether to replace a resource of this type after a failed update, rather than update it again. */
  readonly replaceFailed: (type: string) => boolean;
  /** The most characters of the physical name of such a resource. */
  readonly nameLimit: (resource: Typed) => number;
  /** Whether the provider of this resource serves such a request; otherwise only the state changes. */
  readonly serves: (
    resource: Typed,
    action: 'adopt' | 'check' | 'suspend' | 'resume' | 'snapshot' | 'signal',
  ) => boolean;
  /** Names of the properties that follow the attributes which they read, between updates too; absent: none. */
  readonly follows?: (resource: Typed) => readonly string[];
  /** Whether the provider of this resource lets a newer request replace the pending one. */
  readonly supersedes: (resource: Typed) => boolean;
  /** Whether the provider of this resource stops the work on a request that the engine cancels. */
  readonly cancels: (resource: Typed) => boolean;
  /** Whether the provider of this resource answers a request that the engine withdraws before its work has begun. */
  readonly withdraws: (resource: Typed) => boolean;
  /** Undefined for an entry whose provider has no such queues; absent: none has. */
  readonly queuePlace?: (planned: PlanResource) => QueuePlace | undefined;
  /** The mistake in such a signal to such a type, if it is known before the provider is asked. */
  readonly wrongSignal?: (type: string, signal: Json) => Failure | undefined;
  /** The immediate response to a pending request, if the shell can give one: then nothing is sent. */
  readonly atOnce?: (pending: { stack: StackDocument; resource: ResourceDocument }) => ResourceResponse | undefined;
  /** Facts about a resource that is the member of a group, which its events report; absent or undefined: none. */
  readonly memberOf?: (
    stack: StackDocument,
    resource: ResourceDocument,
    event: Pick<EventFacts, 'action' | 'status' | 'hook' | 'enters'>,
  ) => JsonObject | undefined;
  /** Whether the group holds this member in its warm pool; absent: no group has a pool. */
  readonly isHeld?: (stack: StackDocument, name: string) => boolean;
  /** Size limits of values, resources and the stack; absent: no limits. */
  readonly sizes?: SizeLimits;
  /** Maximum number of requests of a stack in flight. */
  readonly limit: number;
  /** Changed documents after which a step leaves the other ready nodes to the next step; absent: no bound. */
  readonly most?: number;
  /** How long a deletion waits for requests in flight before it takes over, in milliseconds. */
  readonly graceMs: number;
}

/** The result of a step. */
export interface Outcome {
  readonly changes: Changes;
  /** One per input that was refused, by the input's id. */
  readonly refusals: ReadonlyMap<string, AnnealError>;
  /** Whether nodes are ready that this step left. The caller records it, and then steps again without input. */
  readonly isPartial: boolean;
}
