/** Environments of executions in Mistral's API. */
import {
  environmentDelete,
  environmentList,
  environmentSet,
  environmentShow,
  type EnvironmentView,
} from '@anneal/contracts/calls/workflow.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { route, type Route } from '../http/route.ts';
import { projectOf } from '../identity/caller.ts';
import { mapOrText } from './executions.ts';
import { mistralList, mistralPage } from './list.ts';
import { mistralTime } from './views.ts';

const environmentSchema = z.strictObject({
  name: z.string().min(1).max(255),
  description: z.string().max(1024).nullish(),
  variables: mapOrText.optional(),
  scope: z.literal('private', { error: 'only private environments are served' }).optional(),
});
const shownSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    variables: z.string().meta({ description: 'The JSON text of a map.' }),
    scope: z.literal('private'),
    project_id: z.string(),
    created_at: z.string().nullable(),
    updated_at: z.string().nullable(),
  })
  .meta({ id: 'MistralEnvironment' });

const shown = (view: EnvironmentView, project: string): z.output<typeof shownSchema> => ({
  id: view.id,
  name: view.name,
  description: view.description,
  variables: JSON.stringify(view.variables),
  scope: 'private',
  project_id: project,
  created_at: mistralTime(view.created_at),
  updated_at: mistralTime(view.updated_at),
});

/** The routes of environments. */
export const environmentRoutes = (ask: Ask): Route[] => [
  ...(['create', 'update'] as const).map((verb) =>
    route({
      method: verb === 'create' ? 'POST' : 'PUT',
      path: '/v2/environments',
      summary: verb === 'create' ? 'Create an environment.' : 'Change an environment.',
      body: environmentSchema,
      answer: shownSchema,
      status: verb === 'create' ? 201 : 200,
      handle: async ({ body: { name, description, variables }, request }) => {
        const project = projectOf(request);
        const data = {
          project,
          name,
          verb,
          ...(typeof description === 'string' && { description }),
          ...(variables && { variables }),
        };
        return shown(await ask('scheduling', environmentSet, { project, data }), project);
      },
    }),
  ),
  route({
    method: 'GET',
    path: '/v2/environments',
    summary: 'List the environments of the project by name.',
    ...mistralList('environments', shownSchema),
    handle: async ({ query, request }) => {
      const project = projectOf(request);
      const { environments } = await ask('scheduling', environmentList, { project, data: { project } });
      const rows = environments.map((each) => shown(each, project));
      return { environments: mistralPage(rows, query) };
    },
  }),
  route({
    method: 'GET',
    path: '/v2/environments/{name}',
    summary: 'Show an environment.',
    answer: shownSchema,
    handle: async ({ params: { name }, request }) => {
      const project = projectOf(request);
      return shown(await ask('scheduling', environmentShow, { project, data: { project, name } }), project);
    },
  }),
  route({
    method: 'DELETE',
    path: '/v2/environments/{name}',
    summary: 'Delete an environment. Executions keep their copy.',
    handle: ({ params: { name }, request }) => {
      const project = projectOf(request);
      return ask('scheduling', environmentDelete, { project, data: { project, name } });
    },
  }),
];
