/** Inputs and results of a step of an execution. */
import type { AnnealError, Failure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { TaskTimer } from '@anneal/contracts/stack-timer.ts';
import type { WorkflowSpec, WorkflowTask } from '@anneal/contracts/workflow.ts';
import type { ExecutionDocument, ExecutionParent, TaskDocument } from './documents.ts';
import type { ItemPage } from './pages.ts';

/** A command of an operator. */
export type ExecutionAct =
  | { readonly kind: 'pause' }
  | { readonly kind: 'resume'; readonly env?: JsonObject | undefined }
  | { readonly kind: 'cancel'; readonly reason?: string | undefined }
  /** Repeats a failed task. `failed items only`: the items that succeeded keep their results. */
  | { readonly kind: 'rerun'; readonly task: string; readonly failed_items_only: boolean }
  | { readonly kind: 'skip'; readonly task: string }
  /** Completes an action that waits for a client. */
  | { readonly kind: 'complete'; readonly task: string; readonly state: 'SUCCESS' | 'ERROR'; readonly output: Json };

/** The end of an action, or of a sub-workflow. */
export interface ActionEnd {
  readonly action: string;
  readonly ok: boolean;
  /** The result, or the data of the error. */
  readonly result: Json;
  readonly reason: string | null;
}

/** An input. A repeat of an `act` has the same id; ends and timers are matched by the attempt that they name. */
export type ExecutionInput =
  | { readonly kind: 'begin'; readonly id: string }
  | { readonly kind: 'end'; readonly id: string; readonly end: ActionEnd }
  | { readonly kind: 'timer'; readonly id: string; readonly timer: TaskTimer }
  | { readonly kind: 'act'; readonly id: string; readonly act: ExecutionAct };

/** Work for the shell after the record is stored. Each may be done twice. */
export type ExecutionEffect =
  | {
      readonly kind: 'action';
      readonly id: string;
      readonly task: string;
      readonly action: string;
      readonly input: JsonObject;
      readonly deadline: string;
    }
  | {
      readonly kind: 'workflow';
      readonly id: string;
      readonly task: string;
      readonly workflow: string;
      readonly input: JsonObject;
    }
  /** Ends an action or a sub-workflow whose result is no longer wanted. */
  | {
      readonly kind: 'stop';
      readonly id: string;
      readonly task: string;
      readonly called: 'action' | 'workflow';
      readonly name: string;
    }
  | { readonly kind: 'timer'; readonly timer: TaskTimer; readonly at: string }
  | { readonly kind: 'cancel timer'; readonly timer: TaskTimer }
  | {
      readonly kind: 'answer';
      readonly parent: ExecutionParent;
      readonly output: Json;
      readonly failure: Failure | null;
    };

/** An event of a step. The events of a step are numbered up to the `event_sequence` of the execution. */
export interface ExecutionEvent {
  readonly type:
    | 'workflow.started'
    | 'workflow.completed'
    | 'workflow.failed'
    | 'workflow.cancelled'
    | 'workflow.paused'
    | 'workflow.resumed'
    | 'task.started'
    | 'task.completed'
    | 'task.failed'
    | 'task.retried'
    | 'task.skipped';
  readonly reason: string | null;
  readonly task: { readonly id: string; readonly name: string; readonly attempt: number } | null;
}

/** The values of an expression of this execution. */
export interface ExpressionScope {
  /** `$`. */
  readonly data: Json;
  readonly env: JsonObject;
  readonly execution: JsonObject;
  readonly globals: JsonObject;
  readonly task: (name: string | undefined) => Json;
}

/** The tools of the engine from outside. */
export interface ExecutionTools {
  /** ISO 8601. */
  readonly now: string;
  readonly evaluate: (
    value: Json,
    scope: ExpressionScope,
  ) => { ok: true; value: Json } | { ok: false; expression: string; message: string };
  /** The most ended tasks whose links one step follows. */
  readonly most: number;
}

/** The documents of one execution, and its workflow. */
export interface WorkflowState {
  execution: ExecutionDocument;
  /** In the order of their numbers. */
  readonly tasks: Map<string, TaskDocument>;
  readonly spec: WorkflowSpec;
  readonly specs: ReadonlyMap<string, WorkflowTask>;
}

/** The changes of a step. */
export interface ExecutionChanges {
  dirty: boolean;
  /** In their stored form once the step is over: the items of a large task are in its pages. */
  readonly tasks: Map<string, TaskDocument>;
  readonly pages: ItemPage[];
  readonly effects: ExecutionEffect[];
  readonly events: ExecutionEvent[];
}

/** The result of a step. A partial step has left work to the next one, which the shell runs without inputs. */
export interface ExecutionOutcome {
  readonly changes: ExecutionChanges;
  readonly refusals: Map<string, AnnealError>;
  readonly isPartial: boolean;
}
