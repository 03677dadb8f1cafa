/** Executions in Mistral's API. */
import { jsonObject } from '@anneal/contracts/json.ts';
import { executionIdFrom, type executionActSchema } from '@anneal/contracts/calls/workflow.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { route, type Route } from '../http/route.ts';
import { Executions, executionStartSchema, fullExecutionId } from './executions.ts';
import { mistralList, mistralPage } from './list.ts';
import { executionReport, requireReportable, executionTreeOf, executionTreeSchema, reportSchema } from './report.ts';
import { executionBody, mistralExecutionSchema } from './views.ts';

type Act = z.infer<typeof executionActSchema>;

const changeSchema = z.strictObject({
  state: z.enum(['PAUSED', 'RUNNING', 'CANCELLED']),
  state_info: z.string().max(1024).optional(),
  params: z.strictObject({ env: jsonObject }).optional(),
});
const listed = mistralList('executions', mistralExecutionSchema);

/** The routes of executions. */
export const executionRoutes = ({ ask, newId }: { ask: Ask; newId: () => string }): Route[] => [
  route({
    method: 'POST',
    path: '/v2/executions',
    summary: 'Start an execution of a workflow.',
    body: executionStartSchema,
    answer: mistralExecutionSchema,
    status: 201,
    handle: async ({ body, request }) =>
      executionBody(await new Executions(ask, request).start(executionIdFrom(body.id ?? newId()), body)),
  }),
  route({
    method: 'GET',
    path: '/v2/executions',
    summary: 'List the executions of the project, the newest first.',
    query: listed.query.extend({
      nulls: z
        .literal('root_execution_id', 'can only be root_execution_id')
        .optional()
        .meta({ description: 'Leaves out sub-workflows.' }),
    }),
    answer: listed.answer,
    handle: async ({ query: { nulls, ...query }, request }) => {
      const rows = (await new Executions(ask, request).list()).map(executionBody);
      const asked = nulls === undefined ? rows : rows.filter((row) => row[nulls] === null);
      return { executions: mistralPage(asked, query) };
    },
  }),
  route({
    method: 'GET',
    path: '/v2/executions/{id}',
    summary: 'Show an execution.',
    answer: mistralExecutionSchema,
    handle: async ({ params, request }) =>
      executionBody((await new Executions(ask, request).show(fullExecutionId(params.id))).execution),
  }),
  route({
    method: 'PUT',
    path: '/v2/executions/{id}',
    summary: 'Pause, resume or cancel an execution.',
    body: changeSchema,
    answer: mistralExecutionSchema,
    handle: async ({ params: { id }, body: { state, state_info, params }, request }) => {
      const act: Act =
        state === 'PAUSED'
          ? { kind: 'pause' }
          : state === 'RUNNING'
            ? { kind: 'resume', ...(params && { env: params.env }) }
            : { kind: 'cancel', ...(state_info !== undefined && { reason: state_info }) };
      return executionBody(await new Executions(ask, request).act(fullExecutionId(id), act));
    },
  }),
  route({
    method: 'DELETE',
    path: '/v2/executions/{id}',
    summary: 'Delete an execution that has ended; `force` cancels it first.',
    query: z.strictObject({ force: z.boolean().optional() }),
    handle: async ({ params, query: { force }, request }) => {
      const executions = new Executions(ask, request);
      const id = fullExecutionId(params.id);
      if (force) await executions.act(id, { kind: 'cancel' });
      await executions.act(id, { kind: 'delete' });
    },
  }),
  ...treeRoutes(ask),
];

const treeRoutes = (ask: Ask): Route[] => [
  route({
    method: 'GET',
    path: '/v2/executions/{id}/executions',
    summary: 'List an execution and its sub-workflows.',
    query: executionTreeSchema,
    answer: z.object({ executions: z.array(mistralExecutionSchema) }),
    handle: async ({ params, query: { max_depth: most, errors_only: errors }, request }) => {
      const executions = new Executions(ask, request);
      const { execution } = await executions.show(fullExecutionId(params.id));
      const found = executionTreeOf(execution, await executions.list(execution.root), most);
      return { executions: found.filter(({ state }) => !errors || state === 'ERROR').map(executionBody) };
    },
  }),
  route({
    method: 'GET',
    path: '/v2/executions/{id}/report',
    summary: 'Report about an execution and its sub-workflows.',
    query: executionTreeSchema,
    answer: reportSchema,
    handle: async ({ params, query, request }) => {
      const executions = new Executions(ask, request);
      const { execution } = await executions.show(fullExecutionId(params.id));
      const found = executionTreeOf(execution, await executions.list(execution.root), query.max_depth);
      requireReportable(found);
      const shown = await Promise.all(found.map(({ id }) => executions.show(id, true)));
      return executionReport(shown, query);
    },
  }),
];
