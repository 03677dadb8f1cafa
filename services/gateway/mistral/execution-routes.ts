/** Executions in Mistral's API. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { jsonObject } from '@anneal/contracts/json.ts';
import { executionIdFrom, type executionActSchema } from '@anneal/contracts/calls/workflow.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parseField, type QueryValues } from '../http/input.ts';
import { described } from '../http/document.ts';
import { Executions, executionStartSchema, fullExecutionId } from './executions.ts';
import { listQuerySchema, readListQuery } from './list.ts';
import { executionReport, requireReportable, executionTreeOf, executionTreeSchema, reportSchema } from './report.ts';
import { executionBody, mistralExecutionSchema } from './views.ts';

interface IdPath {
  Params: { id: string };
}
type Act = z.infer<typeof executionActSchema>;

const changeSchema = z.strictObject({
  state: z.enum(['PAUSED', 'RUNNING', 'CANCELLED']),
  state_info: z.string().max(1024).optional(),
  params: z.strictObject({ env: jsonObject }).optional(),
});
const many = z.object({ executions: z.array(mistralExecutionSchema) });
const one = { answer: mistralExecutionSchema };
const forceSchema = z.strictObject({ force: z.enum(['true', 'True', 'false', 'False']).optional() });
const lists = described({
  summary: 'List the executions of the project, the newest first.',
  query: listQuerySchema.extend({
    nulls: z.literal('root_execution_id').optional().meta({ description: 'Leaves out sub-workflows.' }),
  }),
  answer: z.object({ executions: z.array(mistralExecutionSchema.partial()) }),
});

/** Registers the routes of executions. */
export function executionRoutes(scope: FastifyInstance, { ask, newId }: { ask: Ask; newId: () => string }): void {
  const starts = described({
    summary: 'Start an execution of a workflow.',
    body: executionStartSchema,
    ...one,
    status: 201,
  });
  scope.post('/v2/executions', starts, async (request, reply) => {
    const wanted = parseField(executionStartSchema, request.body, 'The execution');
    const started = await new Executions(ask, request).start(executionIdFrom(wanted.id ?? newId()), wanted);
    return reply.code(201).send(executionBody(started));
  });
  scope.get('/v2/executions', lists, async (request) => {
    const { nulls, ...query } = request.query as QueryValues;
    if (nulls !== undefined && nulls !== 'root_execution_id') {
      throw new AnnealError('InvalidRequest', `nulls can only be root_execution_id, not ${String(nulls)}.`);
    }
    const apply = readListQuery(query, mistralExecutionSchema);
    const rows = (await new Executions(ask, request).list()).map(executionBody);
    const asked = nulls === undefined ? rows : rows.filter((row) => row.root_execution_id === null);
    return { executions: apply(asked) };
  });
  scope.get<IdPath>('/v2/executions/:id', described({ summary: 'Show an execution.', ...one }), async (request) =>
    executionBody((await new Executions(ask, request).show(fullExecutionId(request.params.id))).execution),
  );
  const changes = described({ summary: 'Pause, resume or cancel an execution.', body: changeSchema, ...one });
  scope.put<IdPath>('/v2/executions/:id', changes, async (request) => {
    const { state, state_info, params } = parseField(changeSchema, request.body, 'The change');
    const act: Act =
      state === 'PAUSED'
        ? { kind: 'pause' }
        : state === 'RUNNING'
          ? { kind: 'resume', ...(params && { env: params.env }) }
          : { kind: 'cancel', ...(state_info !== undefined && { reason: state_info }) };
    return executionBody(await new Executions(ask, request).act(fullExecutionId(request.params.id), act));
  });
  const deletes = described({
    summary: 'Delete an execution that has ended; `force` cancels it first.',
    query: forceSchema,
  });
  scope.delete<IdPath>('/v2/executions/:id', deletes, async (request, reply) => {
    const { force } = parseField(forceSchema, request.query, 'The query');
    const executions = new Executions(ask, request);
    const id = fullExecutionId(request.params.id);
    if (force?.toLowerCase() === 'true') await executions.act(id, { kind: 'cancel' });
    await executions.act(id, { kind: 'delete' });
    return reply.code(204).send();
  });
  const tree = { query: executionTreeSchema };
  const listsTree = described({ summary: 'List an execution and its sub-workflows.', ...tree, answer: many });
  scope.get<IdPath>('/v2/executions/:id/executions', listsTree, async (request) => {
    const { max_depth: most, errors_only: errors } = parseField(executionTreeSchema, request.query, 'The query');
    const executions = new Executions(ask, request);
    const { execution } = await executions.show(fullExecutionId(request.params.id));
    const found = executionTreeOf(execution, await executions.list(execution.root), most);
    return { executions: found.filter(({ state }) => !errors || state === 'ERROR').map(executionBody) };
  });
  const reports = described({
    summary: 'Report about an execution and its sub-workflows.',
    ...tree,
    answer: reportSchema,
  });
  scope.get<IdPath>('/v2/executions/:id/report', reports, async (request) => {
    const wanted = parseField(executionTreeSchema, request.query, 'The query');
    const executions = new Executions(ask, request);
    const { execution } = await executions.show(fullExecutionId(request.params.id));
    const found = executionTreeOf(execution, await executions.list(execution.root), wanted.max_depth);
    requireReportable(found);
    const shown = await Promise.all(found.map(({ id }) => executions.show(id, true)));
    return executionReport(shown, wanted);
  });
}
