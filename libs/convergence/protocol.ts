/** What goes into a step and what comes out of it. */
import type { AnnealError, Failure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { FailurePolicy, ResourceAct, StackEvent } from '@anneal/contracts/scheduling.ts';
import type {
  ParentLink,
  ResourceDocument,
  SnapshotRef,
  StackDocument,
  Status,
  Target,
  Typed,
  VisitAction,
} from './documents.ts';
import type { SizeLimits } from './size.ts';

/** Only in inputs of a nested stack: the request of the resource that it stands for. */
export type FromParent = { readonly parent?: ParentLink | undefined };

export interface Scaled {
  readonly policy: string;
  readonly before: number;
  readonly after: number;
}

/** `id` is the same when the same input comes again. */
export type Input =
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
      /** Look at what is really there before anything is compared. */
      readonly observe?: boolean | undefined;
      /** Absent: as it was. */
      readonly group?: JsonObject | null | undefined;
      /** Of a group that a policy gives another size: told with the start of the update. */
      readonly scaled?: Scaled | undefined;
    } & FromParent)
  /** `abandon`: nothing outside is touched. */
  | ({ readonly kind: 'delete'; readonly id: string; readonly abandon?: boolean | undefined } & FromParent)
  | ({ readonly kind: 'visit'; readonly id: string; readonly action: VisitAction } & FromParent)
  | { readonly kind: 'visit'; readonly id: string; readonly action: 'SNAPSHOT'; readonly snapshot: SnapshotRef }
  /** Towards what was last complete, or towards nothing. `cancel`: only of an update that runs. */
  | { readonly kind: 'rollback'; readonly id: string; readonly cancel: boolean }
  | ({ readonly kind: 'cancel'; readonly id: string } & FromParent)
  | { readonly kind: 'retry'; readonly id: string }
  | { readonly kind: 'resource'; readonly id: string; readonly resource: string; readonly action: ResourceAct }
  | { readonly kind: 'response'; readonly id: string; readonly response: ResourceResponse }
  | {
      readonly kind: 'timer';
      readonly id: string;
      readonly timer: string;
      readonly traversal: string;
      /** Of a deadline that comes early, because what the traversal waits for cannot come any more. */
      readonly failure?: Failure | undefined;
    }
  | {
      readonly kind: 'signal';
      readonly id: string;
      readonly resource: string;
      /** Only to this one of its incarnations. */
      readonly incarnation?: string | undefined;
      readonly signal: Json;
    };

export type Effect =
  /** Send the pending request of this resource to its provider; all it says is in the resource's document. */
  | { readonly kind: 'request'; readonly resource: string; readonly fence: number }
  /** Tell the nested stack to end the pending request as it stands. */
  | { readonly kind: 'cancel'; readonly resource: string; readonly fence: number }
  | { readonly kind: 'signal'; readonly resource: string; readonly id: string; readonly signal: Json }
  /** Answer the request of the stack around this one; attributes and failures are in the documents. */
  | {
      readonly kind: 'answer';
      readonly parent: ParentLink;
      readonly status: 'complete' | 'failed';
      readonly failure: Failure | null;
    }
  /** Write down how a snapshot is going. */
  | { readonly kind: 'snapshot'; readonly snapshot: SnapshotRef; readonly status: Status; readonly reason: string }
  | { readonly kind: 'timer'; readonly timer: string; readonly at: string; readonly traversal: string }
  | { readonly kind: 'cancel timer'; readonly timer: string; readonly traversal: string };

/**
 * An event, without what all events of a step have in common: the stack and the time. Nor does it hold its number: the
 * events of a step are numbered up to the stack's `event_sequence`, without holes. One of the stack itself has its traversal,
 * one of a resource its id.
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
  readonly seconds?: number;
  /** Of a group whose update to another size starts. */
  readonly scaled?: Scaled;
  /** Of a resource that begins to wait for someone outside, or has done so: this is what the event tells. */
  readonly hook?: {
    readonly state: 'waiting' | 'cleared';
    readonly kind: 'hook' | 'lifecycle';
    readonly name: string;
    readonly token: string;
    readonly deadline: string | null;
    readonly default: 'continue' | 'abandon' | null;
  };
}

/** What one record of the journal holds: whole documents, never differences. */
export interface Changes {
  stack: StackDocument;
  readonly resources: Map<string, ResourceDocument>;
  /** Ids of resources that are no more, with the version that the store has of each. */
  readonly removed: Map<string, number>;
  readonly events: EventRecord[];
  readonly effects: Effect[];
  /** False when the inputs changed nothing: then nothing needs to be recorded. */
  dirty: boolean;
}

export type Comparison =
  | { readonly verdict: 'same' }
  | { readonly verdict: 'update' | 'replace'; readonly changed: readonly string[] };

export type Resolution =
  | {
      readonly ok: true;
      readonly properties: JsonObject;
      readonly metadata?: Json | undefined;
      readonly external_id?: string | undefined;
    }
  | { readonly ok: false; readonly failure: Failure };

/** What the core needs to know and cannot: given by the shell, deterministic for one input. */
export interface Tools {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** A UUID that is the same whenever the same input is stepped again. */
  readonly newId: (input: string, count: number) => string;
  /** Evaluates the properties of a resource; `peer` gives what stands for a resource that it requires. */
  readonly resolve: (parameters: {
    plan: Plan;
    resource: PlanResource;
    stack: StackDocument;
    peer: (name: string) => ResourceDocument | undefined;
  }) => Resolution;
  readonly compare: (parameters: {
    type: string;
    /** It is a template that stands for this type: then any property may change in place. */
    isTemplate?: boolean;
    before: JsonObject;
    after: JsonObject;
  }) => Comparison;
  /** Whether a resource of this type that failed an update is made anew, rather than updated again. */
  readonly replaceFailed: (type: string) => boolean;
  /** Whether the provider of this resource serves such a request; what it does not serve only changes the state. */
  readonly serves: (
    resource: Typed,
    action: 'adopt' | 'check' | 'suspend' | 'resume' | 'snapshot' | 'signal',
  ) => boolean;
  /** What is wrong with such a signal to such a type, where that is known before its provider is asked. */
  readonly wrongSignal?: (type: string, signal: Json) => Failure | undefined;
  /** The answer to a pending request that costs nothing, if this is one: then nothing is sent. */
  readonly atOnce?: (pending: { stack: StackDocument; resource: ResourceDocument }) => ResourceResponse | undefined;
  /** How large values, resources and the stack may be; absent: as large as they are. */
  readonly sizes?: SizeLimits;
  /** How many requests of a stack may be in flight. */
  readonly limit: number;
  /** How long a deletion waits for what still runs before it takes over, in milliseconds. */
  readonly graceMs: number;
}

export interface Outcome {
  readonly changes: Changes;
  /** One per input that was refused, by the input's id. */
  readonly refusals: ReadonlyMap<string, AnnealError>;
}
