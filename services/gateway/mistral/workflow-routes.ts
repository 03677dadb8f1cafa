/** Workflows in Mistral's API. Definitions are texts. */
import {
  workflowCheck,
  workflowCreate,
  workflowDelete,
  workflowList,
  workflowShow,
} from '@anneal/contracts/calls/workflow.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { parseField } from '../http/body.ts';
import { projectOf } from '../identity/caller.ts';
import { readListQuery } from './list.ts';
import { validity } from './action-routes.ts';
import { definitionPlaceSchema, definitionTextOf } from './texts.ts';
import { workflowBody } from './views.ts';

interface WorkflowPath {
  Params: { workflow: string };
}

const workflowFields = 'id name namespace project_id input definition tags scope created_at updated_at'.split(' ');

/** Registers the routes of workflows. */
export function mistralWorkflowRoutes(scope: FastifyInstance, ask: Ask): void {
  const store = async (request: FastifyRequest, replace: boolean) => {
    parseField(definitionPlaceSchema, request.query, 'The query');
    const project = projectOf(request);
    const data = { project, text: definitionTextOf(request, 'workflows'), replace };
    return (await ask('scheduling', workflowCreate, { project, data })).workflows.map(workflowBody);
  };
  scope.post('/v2/workflows', async (request, reply) => {
    const workflows = await store(request, false);
    return reply.code(201).send({ workflows });
  });
  scope.put('/v2/workflows', async (request) => ({ workflows: await store(request, true) }));
  scope.put<WorkflowPath>('/v2/workflows/:workflow', async (request) => {
    const project = projectOf(request);
    const { workflow } = request.params;
    const before = await ask('scheduling', workflowShow, { project, data: { project, workflow } });
    const found = (await store(request, true)).find(({ name }) => name === before.name);
    if (found) return found;
    throw new AnnealError('InvalidRequest', `The text has no workflow ${before.name}; it must keep this name.`);
  });
  for (const path of ['/v2/workflows/validate', '/v2/workbooks/validate']) {
    scope.post(path, async (request) => {
      const project = projectOf(request);
      const data = { project, text: definitionTextOf(request, 'workflows'), kind: 'workflows' } as const;
      return validity((await ask('scheduling', workflowCheck, { project, data })).mistakes);
    });
  }
  scope.get('/v2/workflows', async (request) => {
    const project = projectOf(request);
    const apply = readListQuery(request.query as Record<string, string>, workflowFields);
    const { workflows } = await ask('scheduling', workflowList, { project, data: { project } });
    return { workflows: apply(workflows.map(workflowBody)) };
  });
  scope.get<WorkflowPath>('/v2/workflows/:workflow', async (request) => {
    parseField(definitionPlaceSchema, request.query, 'The query');
    const project = projectOf(request);
    const { workflow } = request.params;
    return workflowBody(await ask('scheduling', workflowShow, { project, data: { project, workflow } }));
  });
  scope.delete<WorkflowPath>('/v2/workflows/:workflow', async (request, reply) => {
    parseField(definitionPlaceSchema, request.query, 'The query');
    const project = projectOf(request);
    await ask('scheduling', workflowDelete, { project, data: { project, workflow: request.params.workflow } });
    return reply.code(204).send();
  });
}
