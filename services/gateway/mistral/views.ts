/** Workflows, executions, tasks and cron triggers as Mistral's API shows them. Maps are JSON texts there. Pure. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type {
  CronTriggerView,
  ExecutionTaskView,
  ExecutionView,
  TaskActionView,
  WorkflowView,
} from '@anneal/contracts/calls/workflow.ts';

/** Mistral's times have no zone: they are in UTC. */
export const mistralTime = (iso: string | null): string | null =>
  iso === null ? null : iso.slice(0, 19).replace('T', ' ');

const inputText = ({ name, required, default: value }: WorkflowView['input'][number]): string =>
  required ? name : `${name}=${JSON.stringify(value)}`;

/** Inputs as Mistral writes them: names, and names with their defaults. */
export const inputTexts = (inputs: WorkflowView['input']): string => inputs.map(inputText).join(', ');

/** A workflow. */
export const workflowBody = (view: WorkflowView): JsonObject => ({
  id: view.id,
  name: view.name,
  namespace: '',
  project_id: view.project,
  input: inputTexts(view.input),
  definition: view.definition,
  tags: view.tags,
  scope: 'private',
  created_at: mistralTime(view.created_at),
  updated_at: mistralTime(view.updated_at),
});

/** An execution. `workflow_id` is the name, which every address accepts in the place of an id. */
export const executionBody = (view: ExecutionView): JsonObject => ({
  id: view.id,
  workflow_id: view.workflow,
  workflow_name: view.workflow,
  workflow_namespace: '',
  project_id: view.project,
  description: view.description,
  state: view.state,
  state_info: view.reason,
  input: JSON.stringify(view.input),
  output: JSON.stringify(view.output ?? {}),
  published_global: JSON.stringify(view.globals ?? {}),
  // The id of an action of with-items names the run of its task before the last two numbers.
  task_execution_id: view.parent && view.id.split('.').slice(0, -2).join('.'),
  root_execution_id: view.root === view.id ? null : view.root,
  created_at: mistralTime(view.created_at),
  updated_at: mistralTime(view.updated_at),
});

const mistralTaskState = (state: ExecutionTaskView['state']): string =>
  state === 'DELAYED' ? 'RUNNING_DELAYED' : state;

/** A run of a task. */
export const taskBody = (task: ExecutionTaskView, execution: ExecutionView): JsonObject => ({
  id: task.id,
  name: task.name,
  workflow_name: execution.workflow,
  workflow_namespace: '',
  workflow_execution_id: execution.id,
  project_id: execution.project,
  state: mistralTaskState(task.state),
  state_info: task.reason,
  result: JSON.stringify(task.result),
  published: JSON.stringify(task.published),
  created_at: mistralTime(task.created_at),
  started_at: mistralTime(task.started_at),
  finished_at: mistralTime(task.finished_at),
});

/** An action of a task. */
export const actionBody = (
  { id, state, result }: TaskActionView,
  { execution, task }: { execution: ExecutionView; task: ExecutionTaskView },
): JsonObject => ({
  id,
  name: task.calls,
  workflow_name: execution.workflow,
  workflow_namespace: '',
  task_name: task.name,
  task_execution_id: task.id,
  project_id: execution.project,
  state,
  state_info: state === 'ERROR' ? task.reason : null,
  accepted: state === 'SUCCESS' || state === 'ERROR',
  input: JSON.stringify({}),
  output: JSON.stringify({ result }),
  created_at: mistralTime(task.created_at),
  updated_at: mistralTime(task.finished_at ?? task.started_at ?? task.created_at),
});

/** A cron trigger. */
export const cronTriggerBody = (view: CronTriggerView): JsonObject => ({
  id: view.id,
  name: view.name,
  workflow_name: view.workflow,
  workflow_id: view.workflow_id,
  workflow_input: JSON.stringify(view.input),
  workflow_params: JSON.stringify(view.params),
  project_id: view.project,
  scope: 'private',
  pattern: view.pattern,
  remaining_executions: view.remaining_executions,
  next_execution_time: mistralTime(view.next_execution_time),
  created_at: mistralTime(view.created_at),
  updated_at: mistralTime(view.updated_at),
});
