/** Tasks of executions, and their actions, in Mistral's API. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { json } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { route, type Route } from '../http/route.ts';
import { Executions, fullExecutionId } from './executions.ts';
import { mistralList, mistralPage } from './list.ts';
import { refusal } from './refused-routes.ts';
import { executionTreeSchema } from './report.ts';
import {
  actionBody,
  actionExecutionSchema,
  executionBody,
  mistralExecutionSchema,
  mistralTaskSchema,
  taskBody,
} from './views.ts';

const taskSchema = z.strictObject({
  id: z.string().optional(),
  state: z.enum(['RUNNING', 'SKIPPED']),
  reset: z.boolean().default(true),
});
const actionSchema = z.strictObject({
  // Required, as in Mistral: a request without a body must not complete an action.
  state: z.enum(['SUCCESS', 'ERROR']),
  output: json.default(null),
});

/** The routes of tasks and their actions. */
export const taskRoutes = (ask: Ask): Route[] => [
  route({
    method: 'GET',
    path: '/v2/executions/{id}/tasks',
    summary: 'List the runs of the tasks of an execution.',
    ...mistralList('tasks', mistralTaskSchema),
    handle: async ({ params, query, request }) => {
      const { execution, tasks } = await new Executions(ask, request).show(fullExecutionId(params.id), true);
      const rows = tasks.map((task) => taskBody(task, execution));
      return { tasks: mistralPage(rows, query) };
    },
  }),
  route({
    method: 'GET',
    path: '/v2/tasks/{id}',
    summary: 'Show a run of a task.',
    answer: mistralTaskSchema,
    handle: async ({ params, request }) => {
      const { execution, task } = await new Executions(ask, request).task(params.id);
      return taskBody(task, execution);
    },
  }),
  route({
    method: 'PUT',
    path: '/v2/tasks/{id}',
    summary: 'Run a failed task again, or skip it.',
    body: taskSchema,
    answer: mistralTaskSchema,
    handle: async ({ params, body: { state, reset }, request }) => {
      const executions = new Executions(ask, request);
      const { execution, task } = await executions.task(params.id);
      await executions.act(
        execution.id,
        state === 'SKIPPED'
          ? { kind: 'skip', task: task.id }
          : { kind: 'rerun', task: task.id, failed_items_only: !reset },
      );
      const after = await executions.task(task.id);
      return taskBody(after.task, after.execution);
    },
  }),
  refusal('GET', '/v2/tasks', ['Tasks are listed for one execution', 'openstack task execution list EXECUTION']),
  route({
    method: 'GET',
    path: '/v2/tasks/{id}/executions',
    summary: 'List the sub-workflows that a task started.',
    query: executionTreeSchema,
    answer: z.object({ executions: z.array(mistralExecutionSchema) }),
    handle: async ({ params, query: { errors_only: errors }, request }) => {
      const executions = new Executions(ask, request);
      const { execution, task } = await executions.task(params.id);
      const all = await executions.list(execution.root);
      const below = all.filter(({ id, state }) => id.startsWith(`${task.id}.`) && (!errors || state === 'ERROR'));
      return { executions: below.map(executionBody) };
    },
  }),
  ...actionExecutionRoutes(ask),
];

const actionExecutionRoutes = (ask: Ask): Route[] => [
  refusal('GET', '/v2/action_executions', [
    'The executions of actions are listed for one task',
    'openstack action execution list TASK',
  ]),
  refusal('POST', '/v2/action_executions', [
    'An action runs only as the task of a workflow',
    'store a workflow with one task, and start it',
  ]),
  refusal('DELETE', '/v2/action_executions/{id}', [
    'The execution of an action is deleted with its workflow execution',
  ]),
  route({
    method: 'GET',
    path: '/v2/tasks/{id}/action_executions',
    summary: 'List the actions of the last attempt of a task.',
    ...mistralList('action_executions', actionExecutionSchema),
    handle: async ({ params, query, request }) => {
      const executions = new Executions(ask, request);
      const about = await executions.task(params.id);
      const actions = await executions.actions(about.execution.id, about.task.id);
      const rows = actions.map((action) => actionBody(action, about));
      return { action_executions: mistralPage(rows, query) };
    },
  }),
  route({
    method: 'GET',
    path: '/v2/action_executions/{id}',
    summary: 'Show an action of a task.',
    answer: actionExecutionSchema,
    handle: ({ params, request }) => actionAt(new Executions(ask, request), params.id),
  }),
  // Completes the action of a task std.async_noop: `<task>.<attempt>.<item>`, or the id of the task.
  route({
    method: 'PUT',
    path: '/v2/action_executions/{id}',
    summary: 'Complete an action that waits for a client.',
    body: actionSchema,
    answer: actionExecutionSchema,
    handle: async ({ params: { id }, body: { state, output }, request }) => {
      const executions = new Executions(ask, request);
      const { execution, task } = await executions.task(taskOfAction(id));
      await executions.act(execution.id, { kind: 'complete', task: task.id, state, output });
      return actionAt(executions, id);
    },
  }),
];

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
