/** Executions in Mistral's API. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { jsonObject } from '@anneal/contracts/json.ts';
import { executionIdFrom, type executionActSchema } from '@anneal/contracts/calls/workflow.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parseField } from '../http/body.ts';
import { Executions, executionStartSchema, fullExecutionId } from './executions.ts';
import { readListQuery } from './list.ts';
import { executionReport, requireReportable, executionTreeOf, executionTreeSchema } from './report.ts';
import { executionBody } from './views.ts';

interface IdPath {
  Params: { id: string };
}
type Act = z.infer<typeof executionActSchema>;

const changeSchema = z.strictObject({
  state: z.enum(['PAUSED', 'RUNNING', 'CANCELLED']),
  state_info: z.string().max(1024).optional(),
  params: z.strictObject({ env: jsonObject }).optional(),
});
const executionFields =
  'id workflow_id workflow_name workflow_namespace project_id description state state_info input output published_global task_execution_id root_execution_id created_at updated_at'.split(
    ' ',
  );
const queryOf = (request: FastifyRequest) => request.query as Record<string, string>;

/** Registers the routes of executions. */
export function executionRoutes(scope: FastifyInstance, { ask, newId }: { ask: Ask; newId: () => string }): void {
  scope.post('/v2/executions', async (request, reply) => {
    const wanted = parseField(executionStartSchema, request.body, 'The execution');
    const started = await new Executions(ask, request).start(executionIdFrom(wanted.id ?? newId()), wanted);
    return reply.code(201).send(executionBody(started));
  });
  scope.get('/v2/executions', async (request) => {
    const { nulls, ...query } = queryOf(request);
    if (nulls !== undefined && nulls !== 'root_execution_id') {
      throw new AnnealError('InvalidRequest', `nulls can only be root_execution_id, not ${nulls}.`);
    }
    const apply = readListQuery(query, executionFields);
    const rows = (await new Executions(ask, request).list()).map(executionBody);
    const asked = nulls === undefined ? rows : rows.filter((row) => row['root_execution_id'] === null);
    return { executions: apply(asked) };
  });
  scope.get<IdPath>('/v2/executions/:id', async (request) =>
    executionBody((await new Executions(ask, request).show(fullExecutionId(request.params.id))).execution),
  );
  scope.put<IdPath>('/v2/executions/:id', async (request) => {
    const { state, state_info, params } = parseField(changeSchema, request.body, 'The change');
    const act: Act =
      state === 'PAUSED'
        ? { kind: 'pause' }
        : state === 'RUNNING'
          ? { kind: 'resume', ...(params && { env: params.env }) }
          : { kind: 'cancel', ...(state_info !== undefined && { reason: state_info }) };
    return executionBody(await new Executions(ask, request).act(fullExecutionId(request.params.id), act));
  });
  scope.delete<IdPath>('/v2/executions/:id', async (request, reply) => {
    const forceSchema = z.strictObject({ force: z.enum(['true', 'True', 'false', 'False']).optional() });
    const { force } = parseField(forceSchema, request.query, 'The query');
    const executions = new Executions(ask, request);
    const id = fullExecutionId(request.params.id);
    if (force?.toLowerCase() === 'true') await executions.act(id, { kind: 'cancel' });
    await executions.act(id, { kind: 'delete' });
    return reply.code(204).send();
  });
  scope.get<IdPath>('/v2/executions/:id/executions', async (request) => {
    const { max_depth: most, errors_only: errors } = parseField(executionTreeSchema, request.query, 'The query');
    const executions = new Executions(ask, request);
    const { execution } = await executions.show(fullExecutionId(request.params.id));
    const tree = executionTreeOf(execution, await executions.list(execution.root), most);
    return { executions: tree.filter(({ state }) => !errors || state === 'ERROR').map(executionBody) };
  });
  scope.get<IdPath>('/v2/executions/:id/report', async (request) => {
    const wanted = parseField(executionTreeSchema, request.query, 'The query');
    const executions = new Executions(ask, request);
    const { execution } = await executions.show(fullExecutionId(request.params.id));
    const tree = executionTreeOf(execution, await executions.list(execution.root), wanted.max_depth);
    requireReportable(tree);
    const shown = await Promise.all(tree.map(({ id }) => executions.show(id, true)));
    return executionReport(shown, wanted);
  });
}
