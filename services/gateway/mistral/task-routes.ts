/** Tasks of executions, and their actions, in Mistral's API. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { json } from '@anneal/contracts/json.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parseField, type QueryValues } from '../http/input.ts';
import { described } from '../http/document.ts';
import { Executions, fullExecutionId } from './executions.ts';
import { describedList, readListQuery } from './list.ts';
import { executionTreeSchema } from './report.ts';
import {
  actionBody,
  actionExecutionSchema,
  executionBody,
  mistralExecutionSchema,
  mistralTaskSchema,
  taskBody,
} from './views.ts';

interface IdPath {
  Params: { id: string };
}

const taskSchema = z.strictObject({
  id: z.string().optional(),
  state: z.enum(['RUNNING', 'SKIPPED']),
  reset: z.boolean().default(true),
});
const actionSchema = z.strictObject({
  state: z.enum(['SUCCESS', 'ERROR']).default('SUCCESS'),
  output: json.default(null),
});

const oneTask = { answer: mistralTaskSchema };
const oneAction = { answer: actionExecutionSchema };
const refuses = (summary: string) => described({ summary, isRefusal: true });

/** Registers the routes of tasks and their actions. */
export function taskRoutes(scope: FastifyInstance, ask: Ask): void {
  const lists = describedList('List the runs of the tasks of an execution.', 'tasks', mistralTaskSchema);
  scope.get<IdPath>('/v2/executions/:id/tasks', lists, async (request) => {
    const apply = readListQuery(request.query as QueryValues, mistralTaskSchema);
    const { execution, tasks } = await new Executions(ask, request).show(fullExecutionId(request.params.id), true);
    return { tasks: apply(tasks.map((task) => taskBody(task, execution))) };
  });
  scope.get<IdPath>('/v2/tasks/:id', described({ summary: 'Show a run of a task.', ...oneTask }), async (request) => {
    const { execution, task } = await new Executions(ask, request).task(request.params.id);
    return taskBody(task, execution);
  });
  const changes = described({ summary: 'Run a failed task again, or skip it.', body: taskSchema, ...oneTask });
  scope.put<IdPath>('/v2/tasks/:id', changes, async (request) => {
    const { state, reset } = parseField(taskSchema, request.body, 'The change');
    const executions = new Executions(ask, request);
    const { execution, task } = await executions.task(request.params.id);
    await executions.act(
      execution.id,
      state === 'SKIPPED'
        ? { kind: 'skip', task: task.id }
        : { kind: 'rerun', task: task.id, failed_items_only: !reset },
    );
    const after = await executions.task(task.id);
    return taskBody(after.task, after.execution);
  });
  scope.get('/v2/tasks', refuses('Refused: tasks are listed for one execution.'), () => {
    throw new AnnealError(
      'NotSupported',
      'Tasks are listed for one execution: openstack task execution list EXECUTION.',
    );
  });
  const listsBelow = described({
    summary: 'List the sub-workflows that a task started.',
    query: executionTreeSchema,
    answer: z.object({ executions: z.array(mistralExecutionSchema) }),
  });
  scope.get<IdPath>('/v2/tasks/:id/executions', listsBelow, async (request) => {
    const { max_depth: _, errors_only: errors } = parseField(executionTreeSchema, request.query, 'The query');
    const executions = new Executions(ask, request);
    const { execution, task } = await executions.task(request.params.id);
    const all = await executions.list(execution.root);
    const below = all.filter(({ id, state }) => id.startsWith(`${task.id}.`) && (!errors || state === 'ERROR'));
    return { executions: below.map(executionBody) };
  });
  actionExecutionRoutes(scope, ask);
}

function actionExecutionRoutes(scope: FastifyInstance, ask: Ask): void {
  scope.get('/v2/action_executions', refuses('Refused: the executions of actions are listed for one task.'), () => {
    const how = 'openstack action execution list TASK';
    throw new AnnealError('NotSupported', `The executions of actions are listed for one task: ${how}.`);
  });
  scope.post('/v2/action_executions', refuses('Refused: an action runs only as the task of a workflow.'), () => {
    const how = 'store a workflow with one task, and start it';
    throw new AnnealError('NotSupported', `An action runs only as the task of a workflow: ${how}.`);
  });
  const gone = refuses('Refused: the execution of an action is deleted with its workflow execution.');
  scope.delete('/v2/action_executions/:id', gone, () => {
    throw new AnnealError('NotSupported', 'The execution of an action is deleted with its workflow execution.');
  });
  const lists = describedList(
    'List the actions of the last attempt of a task.',
    'action_executions',
    actionExecutionSchema,
  );
  scope.get<IdPath>('/v2/tasks/:id/action_executions', lists, async (request) => {
    const apply = readListQuery(request.query as QueryValues, actionExecutionSchema);
    const executions = new Executions(ask, request);
    const about = await executions.task(request.params.id);
    const actions = await executions.actions(about.execution.id, about.task.id);
    return { action_executions: apply(actions.map((action) => actionBody(action, about))) };
  });
  scope.get<IdPath>(
    '/v2/action_executions/:id',
    described({ summary: 'Show an action of a task.', ...oneAction }),
    (request) => actionAt(new Executions(ask, request), request.params.id),
  );
  const completes = described({
    summary: 'Complete an action that waits for a client.',
    body: actionSchema,
    ...oneAction,
  });
  // Completes the action of a task std.async_noop: `<task>.<attempt>.<item>`, or the id of the task.
  scope.put<IdPath>('/v2/action_executions/:id', completes, async (request) => {
    const { state, output } = parseField(actionSchema, request.body, 'The change');
    const executions = new Executions(ask, request);
    const { id } = request.params;
    const { execution, task } = await executions.task(taskOfAction(id));
    await executions.act(execution.id, { kind: 'complete', task: task.id, state, output });
    return actionAt(executions, id);
  });
}

/** The id of the task of an action: `<task>.<attempt>.<item>`. An id of a task is its own. */
const taskOfAction = (id: string): string => (id.split('.').length > 3 ? id.split('.').slice(0, -2).join('.') : id);

/** One action of a task; the first when the id is that of the task. @throws AnnealError NotFound */
async function actionAt(executions: Executions, id: string): Promise<z.output<typeof actionExecutionSchema>> {
  const about = await executions.task(taskOfAction(id));
  const actions = await executions.actions(about.execution.id, about.task.id);
  const found = id === about.task.id ? actions[0] : actions.find((each) => each.id === id);
  if (!found) throw new AnnealError('NotFound', `The last attempt of task ${about.task.name} has no action ${id}.`);
  return actionBody(found, about);
}
