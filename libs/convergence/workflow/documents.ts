/** The stored documents of an execution: one for itself, and one for each run of a task. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import type { ExecutionState, TaskState, WorkflowLink } from '@anneal/contracts/workflow.ts';

/** The action of another execution that this one answers. */
export interface ExecutionParent {
  readonly execution_id: string;
  /** The id of the action, which is the id of this execution. */
  readonly action_id: string;
  readonly task: string;
  readonly fence: number;
}

/** Links that wait until an operator resumes the execution. */
export interface Backlog {
  readonly task: string;
  readonly links: readonly WorkflowLink[];
}

/** Values with the number of the publication that set each. At a join, the newer value of a name wins. */
export interface WorkflowContext {
  readonly values: JsonObject;
  readonly stamps: Readonly<Record<string, number>>;
}

/** An execution. Times are ISO 8601 in UTC. */
export interface ExecutionDocument {
  readonly id: string;
  readonly version: number;
  readonly project: string;
  readonly owner: string;
  /** Name of the workflow, and the content hash of its checked form. */
  readonly workflow: string;
  readonly definition: string;
  /** The resource that started it; `''` when it was started directly. */
  readonly source: string;
  readonly stack: { readonly id: string; readonly name: string } | null;
  readonly parent: ExecutionParent | null;
  readonly root: string;
  readonly depth: number;
  /** The program or person that started it, and why. */
  readonly start: Occasion;
  readonly description: string;
  readonly input: JsonObject;
  readonly env: JsonObject;
  /** The task that a reverse workflow runs for. */
  readonly goal: string | null;
  readonly state: ExecutionState;
  readonly reason: string | null;
  readonly output: Json;
  readonly vars: JsonObject;
  readonly globals: JsonObject;
  /** The number of task runs so far, and of publications. */
  readonly made: number;
  readonly clock: number;
  readonly backlog: readonly Backlog[];
  readonly event_sequence: number;
  /** Ids of recent commands, so that a repeat has no second effect. */
  readonly recent: readonly string[];
  readonly created_at: string;
  readonly updated_at: string;
  readonly finished_at: string | null;
}

/** One call of an action by a task: one, or one for each item of `with-items`. */
export interface TaskItem {
  readonly state: 'IDLE' | 'RUNNING' | 'SUCCESS' | 'ERROR';
  readonly values: JsonObject;
  readonly result: Json;
}

/**
 * One run of a task. `WAITING`: a join waits for links. `IDLE`: it waits for an operator. `DELAYED`: a timer runs.
 * `RUNNING`: actions run. The others are final; `processed` says whether its links were followed.
 */
export interface TaskDocument {
  /** `<execution>.<number>`. */
  readonly id: string;
  readonly version: number;
  readonly execution_id: string;
  readonly number: number;
  readonly name: string;
  readonly state: TaskState;
  readonly reason: string | null;
  readonly context: WorkflowContext;
  /** Names of the tasks whose link to it was taken. */
  readonly triggers: readonly string[];
  /** Attempts in all, which makes the ids of actions; and since the start or the last rerun. */
  readonly attempt: number;
  readonly tries: number;
  readonly items: readonly TaskItem[];
  /** The items of a large task are in pages of their own (`pages.ts`): how many, how many have ended, and the versions. */
  readonly paged?: { readonly items: number; readonly ended: number; readonly versions: readonly number[] };
  /** Bytes of the results of the items of this attempt. */
  readonly bytes?: number;
  /** True when the result is a list with one element for each item. */
  readonly listed: boolean;
  readonly result: Json;
  readonly published: JsonObject;
  readonly wait: 'before' | 'after' | 'retry' | null;
  /** The timer fired while the execution was paused. */
  readonly due: boolean;
  /** The state that it gets after its wait. */
  readonly outcome: 'SUCCESS' | 'ERROR' | null;
  readonly processed: boolean;
  /** A link of on-error was taken. */
  readonly handled: boolean;
  /** Names of the tasks that it started or triggered. */
  readonly taken: readonly string[];
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

/** True while a task may still start others. */
export const isLiveTask = ({ state, processed }: TaskDocument): boolean => !isEndedTask(state) || !processed;

/** True for a final state of a task. */
export const isEndedTask = (state: TaskState): boolean =>
  state === 'SUCCESS' || state === 'ERROR' || state === 'CANCELLED' || state === 'SKIPPED';

/** True when an execution takes no more results. */
export const isEndedExecution = (state: ExecutionState): boolean => state !== 'RUNNING' && state !== 'PAUSED';

/** The id of one call of an action. It is the same in every repeat of the request, so that the action runs once. */
export const actionId = (task: Pick<TaskDocument, 'id' | 'attempt'>, item: number): string =>
  `${task.id}.${task.attempt}.${item}`;

/** The number, attempt and item in the id of an action of this execution; undefined for another id. */
export function actionOf(
  id: string,
  executionId: string,
): { number: number; attempt: number; item: number } | undefined {
  if (!id.startsWith(`${executionId}.`)) return undefined;
  const found = /^(\d+)\.(\d+)\.(\d+)$/.exec(id.slice(executionId.length + 1));
  return found ? { number: Number(found[1]), attempt: Number(found[2]), item: Number(found[3]) } : undefined;
}

/** The facts of a new execution. */
export type NewExecution = Pick<
  ExecutionDocument,
  | 'id'
  | 'project'
  | 'owner'
  | 'workflow'
  | 'definition'
  | 'source'
  | 'stack'
  | 'parent'
  | 'root'
  | 'depth'
  | 'start'
  | 'description'
  | 'input'
  | 'env'
  | 'goal'
  | 'created_at'
>;

/** The document of a new execution, before its first step. */
export const newExecution = (given: NewExecution): Omit<ExecutionDocument, 'version'> => ({
  ...given,
  state: 'RUNNING',
  reason: null,
  output: null,
  vars: {},
  globals: {},
  made: 0,
  clock: 0,
  backlog: [],
  event_sequence: 0,
  recent: [],
  updated_at: given.created_at,
  finished_at: null,
});
