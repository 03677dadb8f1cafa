/** Executions and their tasks as clients see them. Sealed values are hidden. */
import type { ExecutionTaskView, ExecutionView, TaskActionView } from '@anneal/contracts/calls/workflow.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { WorkflowSpec } from '@anneal/contracts/workflow.ts';
import { itemCounts } from '@anneal/convergence/workflow/pages.ts';
import { actionId, type ExecutionDocument, type TaskDocument } from '@anneal/convergence/workflow/documents.ts';

/** The value with `******` in the place of each seal. */
function shownJson(value: Json): Json {
  if (Array.isArray(value)) return value.map(shownJson);
  if (!isObject(value)) return value;
  if ('$sealed' in value) return '******';
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shownJson(item)]));
}

/** The view of an execution. */
export const executionView = (execution: ExecutionDocument): ExecutionView => ({
  id: execution.id,
  workflow: execution.workflow,
  project: execution.project,
  state: execution.state,
  reason: execution.reason,
  description: execution.description,
  input: shownJson(execution.input) as JsonObject,
  output: shownJson(execution.output),
  globals: shownJson(execution.globals) as JsonObject,
  root: execution.root,
  parent: execution.parent && { execution_id: execution.parent.execution_id, task: execution.parent.task },
  stack: execution.stack,
  started_by: execution.start.actor,
  created_at: execution.created_at,
  updated_at: execution.updated_at,
  finished_at: execution.finished_at,
});

/** The view of one run of a task. */
export function executionTaskView(task: TaskDocument, spec: WorkflowSpec | undefined): ExecutionTaskView {
  const written = spec?.tasks.find(({ name }) => name === task.name);
  return {
    id: task.id,
    name: task.name,
    state: task.state,
    reason: task.reason,
    calls: written?.workflow ?? written?.through?.[0]?.name ?? written?.action ?? '',
    attempt: task.attempt,
    items: itemCounts(task),
    result: shownJson(task.result),
    published: shownJson(task.published) as JsonObject,
    created_at: task.created_at,
    started_at: task.started_at,
    finished_at: task.finished_at,
  };
}

/** The views of the actions of the last attempt of a whole task. */
export const taskActionViews = (task: TaskDocument): TaskActionView[] =>
  task.items.map(({ state, result }, item) => ({ id: actionId(task, item), state, result: shownJson(result) }));
