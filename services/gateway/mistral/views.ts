/** Workflows, executions, tasks and cron triggers as Mistral's API shows them. Maps are JSON texts there. Pure. */
import { executionStates, taskStates } from '@anneal/contracts/workflow.ts';
import { z } from 'zod';
import {
  taskActionSchema,
  type CronTriggerView,
  type ExecutionTaskView,
  type ExecutionView,
  type TaskActionView,
  type WorkflowView,
} from '@anneal/contracts/calls/workflow.ts';

/** Mistral's times have no zone: they are in UTC. */
export const mistralTime = (iso: string | null): string | null =>
  iso === null ? null : iso.slice(0, 19).replace('T', ' ');

const inputText = ({ name, required, default: value }: WorkflowView['input'][number]): string =>
  required ? name : `${name}=${JSON.stringify(value)}`;

/** Inputs as Mistral writes them: names, and names with their defaults. */
export const inputTexts = (inputs: WorkflowView['input']): string => inputs.map(inputText).join(', ');

const time = z.string().nullable().meta({ description: 'In UTC: `2026-01-31 12:00:00`.' });
const jsonText = z.string().meta({ description: 'The JSON text of a map.' });
/** The fields that every object has. */
const ownFields = { id: z.string(), name: z.string(), project_id: z.string(), created_at: time };

export const mistralWorkflowSchema = z
  .object({
    ...ownFields,
    namespace: z.literal(''),
    input: z.string().meta({ description: 'Names, and names with their defaults: `host, port=80`.' }),
    definition: z.string(),
    tags: z.array(z.string()),
    scope: z.literal('private'),
    updated_at: time,
  })
  .meta({ id: 'MistralWorkflow' });

/** A workflow. */
export const workflowBody = (view: WorkflowView): z.output<typeof mistralWorkflowSchema> => ({
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

export const mistralExecutionSchema = z
  .object({
    id: z.string(),
    workflow_id: z.string().meta({ description: 'The name of the workflow, which is accepted in the place of an id.' }),
    workflow_name: z.string(),
    workflow_namespace: z.literal(''),
    project_id: z.string(),
    description: z.string(),
    state: z.enum(executionStates),
    state_info: z.string().nullable(),
    input: jsonText,
    output: z.string().meta({ description: 'The JSON text of the output.' }),
    published_global: jsonText,
    task_execution_id: z.string().nullable(),
    root_execution_id: z.string().nullable(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'MistralExecution' });

/** An execution. `workflow_id` is the name, which every address accepts in the place of an id. */
export const executionBody = (view: ExecutionView): z.output<typeof mistralExecutionSchema> => ({
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

const mistralTaskState = (state: ExecutionTaskView['state']) => (state === 'DELAYED' ? 'RUNNING_DELAYED' : state);

export const mistralTaskSchema = z
  .object({
    ...ownFields,
    workflow_name: z.string(),
    workflow_namespace: z.literal(''),
    workflow_execution_id: z.string(),
    state: z.enum([...taskStates, 'RUNNING_DELAYED']).exclude(['DELAYED']),
    state_info: z.string().nullable(),
    result: z.string().meta({ description: 'The JSON text of the result.' }),
    published: jsonText,
    started_at: time,
    finished_at: time,
  })
  .meta({ id: 'MistralTask' });

/** A run of a task. */
export const taskBody = (task: ExecutionTaskView, execution: ExecutionView): z.output<typeof mistralTaskSchema> => ({
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

export const actionExecutionSchema = z
  .object({
    ...ownFields,
    workflow_name: z.string(),
    workflow_namespace: z.literal(''),
    task_name: z.string(),
    task_execution_id: z.string(),
    state: taskActionSchema.shape.state,
    state_info: z.string().nullable(),
    accepted: z.boolean(),
    input: jsonText,
    output: jsonText,
    updated_at: time,
  })
  .meta({ id: 'MistralActionExecution' });

/** An action of a task. */
export const actionBody = (
  { id, state, result }: TaskActionView,
  { execution, task }: { execution: ExecutionView; task: ExecutionTaskView },
): z.output<typeof actionExecutionSchema> => ({
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

export const mistralCronTriggerSchema = z
  .object({
    ...ownFields,
    workflow_name: z.string(),
    workflow_id: z.string(),
    workflow_input: jsonText,
    workflow_params: jsonText,
    scope: z.literal('private'),
    pattern: z.string().nullable(),
    remaining_executions: z.int().nullable(),
    next_execution_time: time,
    updated_at: time,
  })
  .meta({ id: 'MistralCronTrigger' });

/** A cron trigger. */
export const cronTriggerBody = (view: CronTriggerView): z.output<typeof mistralCronTriggerSchema> => ({
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
