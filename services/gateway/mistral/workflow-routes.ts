/** Workflows in Mistral's API. Definitions are texts. */
import { workflowCreate, workflowDelete, workflowList, workflowShow } from '@anneal/contracts/calls/workflow.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { route, type Route } from '../http/route.ts';
import { projectOf } from '../identity/caller.ts';
import { mistralList, mistralPage } from './list.ts';
import { checkRoute, definitionPlaceSchema, definitionsInput } from './texts.ts';
import { mistralWorkflowSchema, workflowBody } from './views.ts';

const many = z.object({ workflows: z.array(mistralWorkflowSchema) });

/** The routes of workflows. */
export const mistralWorkflowRoutes = (ask: Ask): Route[] => [
  ...storeRoutes(ask),
  ...['/v2/workflows/validate', '/v2/workbooks/validate'].map((path) => checkRoute(ask, path, 'workflows')),
  route({
    method: 'GET',
    path: '/v2/workflows',
    summary: 'List the workflows of the project by name.',
    ...mistralList('workflows', mistralWorkflowSchema),
    handle: async ({ query, request }) => {
      const project = projectOf(request);
      const { workflows } = await ask('scheduling', workflowList, { project, data: { project } });
      return { workflows: mistralPage(workflows.map(workflowBody), query) };
    },
  }),
  route({
    method: 'GET',
    path: '/v2/workflows/{workflow}',
    summary: 'Show a workflow, by name or id.',
    query: definitionPlaceSchema,
    answer: mistralWorkflowSchema,
    handle: async ({ params: { workflow }, request }) => {
      const project = projectOf(request);
      return workflowBody(await ask('scheduling', workflowShow, { project, data: { project, workflow } }));
    },
  }),
  route({
    method: 'DELETE',
    path: '/v2/workflows/{workflow}',
    summary: 'Delete a workflow. Its executions stay.',
    query: definitionPlaceSchema,
    handle: ({ params: { workflow }, request }) => {
      const project = projectOf(request);
      return ask('scheduling', workflowDelete, { project, data: { project, workflow } });
    },
  }),
];

function storeRoutes(ask: Ask): Route[] {
  const store = async (request: FastifyRequest, text: string, replace: boolean) => {
    const project = projectOf(request);
    const { workflows } = await ask('scheduling', workflowCreate, { project, data: { project, text, replace } });
    return workflows.map(workflowBody);
  };
  return [
    route({
      method: 'POST',
      path: '/v2/workflows',
      summary: 'Store the workflows of a text.',
      ...definitionsInput('workflows'),
      answer: many,
      status: 201,
      handle: async ({ body, request }) => ({ workflows: await store(request, body, false) }),
    }),
    route({
      method: 'PUT',
      path: '/v2/workflows',
      summary: 'Store the workflows of a text, and replace those that exist.',
      ...definitionsInput('workflows'),
      answer: many,
      handle: async ({ body, request }) => ({ workflows: await store(request, body, true) }),
    }),
    route({
      method: 'PUT',
      path: '/v2/workflows/{workflow}',
      summary: 'Replace a workflow by the one of this name in a text.',
      ...definitionsInput('workflows'),
      answer: mistralWorkflowSchema,
      handle: async ({ params: { workflow }, body, request }) => {
        const project = projectOf(request);
        const before = await ask('scheduling', workflowShow, { project, data: { project, workflow } });
        const found = (await store(request, body, true)).find(({ name }) => name === before.name);
        if (found) return found;
        throw new AnnealError('InvalidRequest', `The text has no workflow ${before.name}; it must keep this name.`);
      },
    }),
  ];
}
