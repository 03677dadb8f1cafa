/** Executions and their tasks as clients see them. Sealed values are hidden. */
import type { ExecutionTaskView, ExecutionView, TaskActionView } from '@anneal/contracts/calls/workflow.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { WorkflowSpec } from '@anneal/contracts/workflow.ts';
import { itemCounts } from '@anneal/convergence/workflow/pages.ts';
import { actionId, type ExecutionDocument, type TaskDocument } from '@anneal/convergence/workflow/documents.ts';

type Masking = Pick<Secrets, 'mask'>;

/** The view of an execution. */
export const executionView = (execution: ExecutionDocument, secrets: Masking): ExecutionView => ({
  id: execution.id,
  workflow: execution.workflow,
  project: execution.project,
  state: execution.state,
  reason: execution.reason,
  description: execution.description,
  input: secrets.mask(execution.input),
  output: secrets.mask(execution.output),
  globals: secrets.mask(execution.globals),
  root: execution.root,
  parent: execution.parent && { execution_id: execution.parent.execution_id, task: execution.parent.task },
  stack: execution.stack,
  started_by: execution.start.actor,
  created_at: execution.created_at,
  updated_at: execution.updated_at,
  finished_at: execution.finished_at,
});

/** The view of one run of a task. */
export function executionTaskView(
  task: TaskDocument,
  { spec, secrets }: { spec: WorkflowSpec | undefined; secrets: Masking },
): ExecutionTaskView {
  const written = spec?.tasks.find(({ name }) => name === task.name);
  return {
    id: task.id,
    name: task.name,
    state: task.state,
    reason: task.reason,
    calls: written?.workflow ?? written?.through?.[0]?.name ?? written?.action ?? '',
    attempt: task.attempt,
    items: itemCounts(task),
    result: secrets.mask(task.result),
    published: secrets.mask(task.published),
    created_at: task.created_at,
    started_at: task.started_at,
    finished_at: task.finished_at,
  };
}

/** The views of the actions of the last attempt of a whole task. */
export const taskActionViews = (task: TaskDocument, secrets: Masking): TaskActionView[] =>
  task.items.map(({ state, result }, item) => ({ id: actionId(task, item), state, result: secrets.mask(result) }));
