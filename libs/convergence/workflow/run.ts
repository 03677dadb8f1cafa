/** The transaction of a step of an execution: its documents, and what changes. */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { mostSeconds, timeAfter } from '@anneal/contracts/readers/duration.ts';
import { isObject, jsonBytes, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { TaskTimer } from '@anneal/contracts/stack-timer.ts';
import type { WorkflowTask } from '@anneal/contracts/workflow.ts';
import type { ExecutionDocument, TaskDocument, WorkflowContext } from './documents.ts';
import { splitTask } from './pages.ts';
import type { ExecutionChanges, ExecutionEffect, ExecutionEvent, ExecutionTools, WorkflowState } from './protocol.ts';

/** A wrong expression or value of a task. It fails the task, and names the task's key. */
export class TaskFault extends Error {}

/** Bytes of one value that a task keeps: a result, or all that it publishes. */
export const mostValueBytes = 1_048_576;

/** Bytes of all values that a branch carries, of all globals, and of all results of the items of a task. */
export const mostCarriedBytes = 4_194_304;

/** @throws TaskFault when the values are larger than a document may be */
export function requireCarried(values: JsonObject, what: string): void {
  if (jsonBytes(values, mostCarriedBytes) <= mostCarriedBytes) return;
  throw new TaskFault(`${what} are larger than ${mostCarriedBytes} bytes; publish less, or keep values in a store`);
}

/** A step in progress. */
export class WorkflowRun {
  readonly state: WorkflowState;
  readonly tools: ExecutionTools;
  readonly changes: ExecutionChanges = { dirty: false, tasks: new Map(), pages: [], effects: [], events: [] };
  /** The changed tasks as they were before the step. */
  readonly #before = new Map<string, TaskDocument | undefined>();

  constructor(state: WorkflowState, tools: ExecutionTools) {
    this.state = state;
    this.tools = tools;
  }

  get execution(): ExecutionDocument {
    return this.state.execution;
  }

  change(fields: Partial<ExecutionDocument>): void {
    const before = this.state.execution;
    // Documents of one step have one new version.
    const version = this.changes.dirty ? before.version : before.version + 1;
    this.state.execution = { ...before, ...fields, version, updated_at: this.tools.now };
    this.changes.dirty = true;
  }

  task(id: string): TaskDocument {
    const task = this.state.tasks.get(id);
    if (!task) throw new Error(`defect: execution ${this.execution.id} has no task ${id}`);
    return task;
  }

  changeTask(id: string, fields: Partial<TaskDocument>): TaskDocument {
    const before = this.task(id);
    const version = this.changes.tasks.has(id) ? before.version : before.version + 1;
    return this.putTask({ ...before, ...fields, version });
  }

  putTask(task: TaskDocument): TaskDocument {
    this.change({});
    if (!this.changes.tasks.has(task.id)) this.#before.set(task.id, this.state.tasks.get(task.id));
    this.state.tasks.set(task.id, task);
    this.changes.tasks.set(task.id, task);
    return task;
  }

  /** Ends the step: gives the changed tasks their stored form. */
  split(): void {
    for (const [id, task] of this.changes.tasks) {
      const { whole, stored, pages } = splitTask(this.#before.get(id), task);
      this.state.tasks.set(id, whole);
      this.changes.tasks.set(id, stored);
      this.changes.pages.push(...pages);
    }
  }

  specOf({ name }: Pick<TaskDocument, 'name'>): WorkflowTask {
    const spec = this.state.specs.get(name);
    if (!spec) throw new Error(`defect: workflow ${this.execution.workflow} has no task ${name}`);
    return spec;
  }

  effect(effect: ExecutionEffect): void {
    this.change({});
    this.changes.effects.push(effect);
  }

  event(type: ExecutionEvent['type'], reason: string | null, task?: TaskDocument): void {
    this.change({ event_sequence: this.execution.event_sequence + 1 });
    const about = task ? { id: task.id, name: task.name, attempt: task.attempt } : null;
    this.changes.events.push({ type, reason, task: about });
  }

  timer(timer: TaskTimer, seconds: number): void {
    const at = timeAfter(Date.parse(this.tools.now), seconds);
    this.effect({ kind: 'timer', timer, at });
  }

  /** The first task that the check accepts. */
  find(accept: (task: TaskDocument) => boolean): TaskDocument | undefined {
    for (const task of this.state.tasks.values()) if (accept(task)) return task;
    return undefined;
  }

  /** The tasks in the order in which they were made, which is the order of the map. */
  inOrder(): TaskDocument[] {
    return [...this.state.tasks.values()];
  }

  /** Evaluates for a task. @throws TaskFault that names the key and the expression */
  evaluate(
    value: Json,
    { key, task, extra = {} }: { key: string; task?: TaskDocument | undefined; extra?: JsonObject },
  ): Json {
    const { execution } = this;
    const context = task ? { ...task.context.values, ...task.published } : {};
    const found = this.tools.evaluate(value, {
      data: { ...execution.input, ...execution.vars, ...execution.globals, ...context, ...extra },
      env: execution.env,
      execution: executionFacts(execution),
      globals: execution.globals,
      task: (name) => {
        const about = name === undefined ? task : this.inOrder().findLast((each) => each.name === name);
        return about ? taskFacts(about, execution) : null;
      },
    });
    return this.#checked(found, key);
  }

  /** Evaluates for an ad hoc action, whose expressions see only `data`, as `$`. @throws TaskFault */
  evaluateAlone(value: Json, data: Json, key: string): Json {
    const { execution } = this;
    const scope = { data, env: execution.env, execution: executionFacts(execution), globals: {}, task: () => null };
    return this.#checked(this.tools.evaluate(value, scope), key);
  }

  #checked(found: ReturnType<ExecutionTools['evaluate']>, key: string): Json {
    if (!found.ok) throw new TaskFault(`${key}: <% ${found.expression} %>: ${found.message}`);
    if (jsonBytes(found.value, mostValueBytes) > mostValueBytes) {
      throw new TaskFault(`${key}: the value is larger than ${mostValueBytes} bytes`);
    }
    return found.value;
  }

  /** @throws TaskFault when it is no integer of at least 0 */
  integer(value: Json, about: { key: string; task: TaskDocument }): number {
    if (value === null) return 0;
    const found = this.evaluate(value, about);
    const number = typeof found === 'string' && /^\d+$/.test(found) ? Number(found) : numberOf(found);
    if (number !== undefined && Number.isSafeInteger(number) && number >= 0) return Math.min(number, mostSeconds);
    throw new TaskFault(`${about.key}: must be an integer of at least 0, not ${JSON.stringify(found)}`);
  }

  /** @throws TaskFault */
  holds(value: Json, about: { key: string; task: TaskDocument }): boolean {
    return value !== null && isTrue(this.evaluate(value, about));
  }

  /** @throws TaskFault when it is no map */
  mapping(value: Json, about: { key: string; task?: TaskDocument | undefined; extra?: JsonObject }): JsonObject {
    const found = this.evaluate(value, about);
    if (isObject(found)) return found;
    throw new TaskFault(`${about.key}: must be a map, not ${JSON.stringify(found)?.slice(0, 100)}`);
  }
}

/** The truth of a value, as in the expressions. */
export const isTrue = (value: Json): boolean =>
  value !== null &&
  value !== false &&
  numberOf(value) !== 0 &&
  value !== '' &&
  !(typeof value === 'object' && Object.keys(value).length === 0);

function executionFacts(execution: ExecutionDocument): JsonObject {
  const { id, workflow, input, env, goal, root, created_at, updated_at, state } = execution;
  return {
    id,
    name: workflow,
    state,
    input,
    params: { env, ...(goal !== null && { task_name: goal }) },
    created_at,
    updated_at,
    root_execution_id: root === id ? null : root,
  };
}

function taskFacts(task: TaskDocument, { id }: ExecutionDocument): JsonObject {
  return {
    id: task.id,
    name: task.name,
    state: task.state,
    state_info: task.reason,
    result: task.result,
    published: task.published,
    attempt: task.attempt,
    workflow_execution_id: id,
    created_at: task.created_at,
    updated_at: task.finished_at ?? task.started_at ?? task.created_at,
  };
}

/** Merges contexts: the value that was published last wins, and maps are merged. */
export function mergeContexts(contexts: readonly WorkflowContext[]): WorkflowContext {
  const stamps: Record<string, number> = {};
  const found = new Map<string, { stamp: number; value: Json }[]>();
  for (const context of contexts) {
    for (const [name, value] of Object.entries(context.values)) {
      const stamp = context.stamps[name] ?? 0;
      found.set(name, [...(found.get(name) ?? []), { stamp, value }]);
      stamps[name] = Math.max(stamps[name] ?? 0, stamp);
    }
  }
  const values = [...found].map(([name, all]) => {
    const sorted = [...all].sort((a, b) => a.stamp - b.stamp);
    return [name, sorted.map(({ value }) => value).reduce(mergeValues)] as const;
  });
  return { values: toRecord(values), stamps };
}

function mergeValues(older: Json, newer: Json): Json {
  if (!isObject(older) || !isObject(newer)) return newer;
  const merged: JsonObject = { ...older };
  for (const [key, value] of Object.entries(newer)) {
    merged[key] = Object.hasOwn(merged, key) ? mergeValues(merged[key] ?? null, value) : value;
  }
  return merged;
}
