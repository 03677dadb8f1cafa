/** Tasks of executions, and their actions, in Mistral's API. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { json, type JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parseField } from '../http/body.ts';
import { Executions, fullExecutionId } from './executions.ts';
import { readListQuery } from './list.ts';
import { executionTreeSchema } from './report.ts';
import { actionBody, executionBody, taskBody } from './views.ts';

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

const taskFields =
  'id name workflow_name workflow_namespace workflow_execution_id project_id state state_info result published created_at started_at finished_at'.split(
    ' ',
  );
const actionFields =
  'id name workflow_name workflow_namespace task_name task_execution_id project_id state state_info accepted input output created_at updated_at'.split(
    ' ',
  );
const queryOf = (request: FastifyRequest) => request.query as Record<string, string>;

/** Registers the routes of tasks and their actions. */
export function taskRoutes(scope: FastifyInstance, ask: Ask): void {
  scope.get<IdPath>('/v2/executions/:id/tasks', async (request) => {
    const apply = readListQuery(queryOf(request), taskFields);
    const { execution, tasks } = await new Executions(ask, request).show(fullExecutionId(request.params.id), true);
    return { tasks: apply(tasks.map((task) => taskBody(task, execution))) };
  });
  scope.get<IdPath>('/v2/tasks/:id', async (request) => {
    const { execution, task } = await new Executions(ask, request).task(request.params.id);
    return taskBody(task, execution);
  });
  scope.put<IdPath>('/v2/tasks/:id', async (request) => {
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
  scope.get('/v2/tasks', () => {
    throw new AnnealError(
      'NotSupported',
      'Tasks are listed for one execution: openstack task execution list EXECUTION.',
    );
  });
  scope.get<IdPath>('/v2/tasks/:id/executions', async (request) => {
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
  scope.get('/v2/action_executions', () => {
    const how = 'openstack action execution list TASK';
    throw new AnnealError('NotSupported', `The executions of actions are listed for one task: ${how}.`);
  });
  scope.post('/v2/action_executions', () => {
    const how = 'store a workflow with one task, and start it';
    throw new AnnealError('NotSupported', `An action runs only as the task of a workflow: ${how}.`);
  });
  scope.delete('/v2/action_executions/:id', () => {
    throw new AnnealError('NotSupported', 'The execution of an action is deleted with its workflow execution.');
  });
  scope.get<IdPath>('/v2/tasks/:id/action_executions', async (request) => {
    const apply = readListQuery(queryOf(request), actionFields);
    const executions = new Executions(ask, request);
    const about = await executions.task(request.params.id);
    const actions = await executions.actions(about.execution.id, about.task.id);
    return { action_executions: apply(actions.map((action) => actionBody(action, about))) };
  });
  scope.get<IdPath>('/v2/action_executions/:id', (request) =>
    actionAt(new Executions(ask, request), request.params.id),
  );
  // Completes the action of a task std.async_noop: `<task>.<attempt>.<item>`, or the id of the task.
  scope.put<IdPath>('/v2/action_executions/:id', async (request) => {
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
async function actionAt(executions: Executions, id: string): Promise<JsonObject> {
  const about = await executions.task(taskOfAction(id));
  const actions = await executions.actions(about.execution.id, about.task.id);
  const found = id === about.task.id ? actions[0] : actions.find((each) => each.id === id);
  if (!found) throw new AnnealError('NotFound', `The last attempt of task ${about.task.name} has no action ${id}.`);
  return actionBody(found, about);
}
