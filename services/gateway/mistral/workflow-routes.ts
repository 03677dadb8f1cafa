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
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parseField, type QueryValues } from '../http/input.ts';
import { described } from '../http/document.ts';
import { projectOf } from '../identity/caller.ts';
import { describedList, readListQuery } from './list.ts';
import { checksText, validity } from './action-routes.ts';
import { definitionPlaceSchema, definitionTextOf } from './texts.ts';
import { mistralWorkflowSchema, workflowBody } from './views.ts';

interface WorkflowPath {
  Params: { workflow: string };
}

const many = z.object({ workflows: z.array(mistralWorkflowSchema) });
const stores = { query: definitionPlaceSchema, body: z.string(), bodyType: 'text/plain' };

/** Registers the routes of workflows. */
export function mistralWorkflowRoutes(scope: FastifyInstance, ask: Ask): void {
  const store = async (request: FastifyRequest, replace: boolean) => {
    parseField(definitionPlaceSchema, request.query, 'The query');
    const project = projectOf(request);
    const data = { project, text: definitionTextOf(request, 'workflows'), replace };
    return (await ask('scheduling', workflowCreate, { project, data })).workflows.map(workflowBody);
  };
  const creates = described({ summary: 'Store the workflows of a text.', ...stores, answer: many, status: 201 });
  scope.post('/v2/workflows', creates, async (request, reply) => {
    const workflows = await store(request, false);
    return reply.code(201).send({ workflows });
  });
  const replaces = described({
    summary: 'Store the workflows of a text, and replace those that exist.',
    ...stores,
    answer: many,
  });
  scope.put('/v2/workflows', replaces, async (request) => ({ workflows: await store(request, true) }));
  const changes = described({
    summary: 'Replace a workflow by the one of this name in a text.',
    ...stores,
    answer: mistralWorkflowSchema,
  });
  scope.put<WorkflowPath>('/v2/workflows/:workflow', changes, async (request) => {
    const project = projectOf(request);
    const { workflow } = request.params;
    const before = await ask('scheduling', workflowShow, { project, data: { project, workflow } });
    const found = (await store(request, true)).find(({ name }) => name === before.name);
    if (found) return found;
    throw new AnnealError('InvalidRequest', `The text has no workflow ${before.name}; it must keep this name.`);
  });
  for (const path of ['/v2/workflows/validate', '/v2/workbooks/validate']) {
    scope.post(path, checksText('workflows'), async (request) => {
      const project = projectOf(request);
      const data = { project, text: definitionTextOf(request, 'workflows'), kind: 'workflows' } as const;
      return validity((await ask('scheduling', workflowCheck, { project, data })).mistakes);
    });
  }
  const lists = describedList('List the workflows of the project by name.', 'workflows', mistralWorkflowSchema);
  scope.get('/v2/workflows', lists, async (request) => {
    const project = projectOf(request);
    const apply = readListQuery(request.query as QueryValues, mistralWorkflowSchema);
    const { workflows } = await ask('scheduling', workflowList, { project, data: { project } });
    return { workflows: apply(workflows.map(workflowBody)) };
  });
  const shows = described({
    summary: 'Show a workflow, by name or id.',
    query: definitionPlaceSchema,
    answer: mistralWorkflowSchema,
  });
  scope.get<WorkflowPath>('/v2/workflows/:workflow', shows, async (request) => {
    parseField(definitionPlaceSchema, request.query, 'The query');
    const project = projectOf(request);
    const { workflow } = request.params;
    return workflowBody(await ask('scheduling', workflowShow, { project, data: { project, workflow } }));
  });
  const deletes = described({ summary: 'Delete a workflow. Its executions stay.', query: definitionPlaceSchema });
  scope.delete<WorkflowPath>('/v2/workflows/:workflow', deletes, async (request, reply) => {
    parseField(definitionPlaceSchema, request.query, 'The query');
    const project = projectOf(request);
    await ask('scheduling', workflowDelete, { project, data: { project, workflow: request.params.workflow } });
    return reply.code(204).send();
  });
}
