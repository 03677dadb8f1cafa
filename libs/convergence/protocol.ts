/** What goes into a step and what comes out of it. */
import type { AnnealError, Failure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { StackEvent } from '@anneal/contracts/scheduling.ts';
import type { ResourceDocument, StackDocument, Target } from './state.ts';

/** `id` is the same when the same input comes again. */
export type Input =
  | { readonly kind: 'create'; readonly id: string; readonly plan: Plan }
  | {
      readonly kind: 'update';
      readonly id: string;
      readonly plan: Plan;
      readonly target: Target;
      readonly timeout_minutes?: number | null | undefined;
      readonly disable_rollback?: boolean | undefined;
      readonly tags?: readonly string[] | undefined;
    }
  | { readonly kind: 'delete'; readonly id: string }
  | { readonly kind: 'response'; readonly id: string; readonly response: ResourceResponse }
  | { readonly kind: 'timer'; readonly id: string; readonly timer: string; readonly traversal: string }
  | { readonly kind: 'signal'; readonly id: string; readonly resource: string; readonly signal: Json };

export type Effect =
  /** Send the pending request of this resource to its provider; all it says is in the resource's document. */
  | { readonly kind: 'request'; readonly resource: string; readonly fence: number }
  | { readonly kind: 'signal'; readonly resource: string; readonly id: string; readonly signal: Json }
  | { readonly kind: 'timer'; readonly timer: string; readonly at: string; readonly traversal: string }
  | { readonly kind: 'cancel timer'; readonly timer: string; readonly traversal: string };

/** An event as it is kept, with what its public form needs besides. */
export interface EventRecord extends StackEvent {
  /** Absent in events of the stack itself. */
  readonly resource_id?: string;
  readonly object_version: number;
  readonly traversal: string;
  readonly seconds?: number;
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
  | { readonly ok: true; readonly properties: JsonObject; readonly metadata?: Json | undefined }
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
  readonly compare: (parameters: { type: string; before: JsonObject; after: JsonObject }) => Comparison;
  /** Whether a resource of this type that failed an update is made anew, rather than updated again. */
  readonly replaceFailed: (type: string) => boolean;
  /** How long a deletion waits for what still runs before it takes over, in milliseconds. */
  readonly graceMs: number;
}

export interface Outcome {
  readonly changes: Changes;
  /** One per input that was refused, by the input's id. */
  readonly refusals: ReadonlyMap<string, AnnealError>;
}
