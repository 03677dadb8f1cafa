/** Environments of executions in Mistral's API. */
import {
  environmentDelete,
  environmentList,
  environmentSet,
  environmentShow,
  type EnvironmentView,
} from '@anneal/contracts/calls/workflow.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parseField, type QueryValues } from '../http/input.ts';
import { described } from '../http/document.ts';
import { projectOf } from '../identity/caller.ts';
import { mapOrText } from './executions.ts';
import { describedList, readListQuery } from './list.ts';
import { mistralTime } from './views.ts';

interface NamePath {
  Params: { name: string };
}

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
const one = { answer: shownSchema };

const body = (view: EnvironmentView, project: string): z.output<typeof shownSchema> => ({
  id: view.id,
  name: view.name,
  description: view.description,
  variables: JSON.stringify(view.variables),
  scope: 'private',
  project_id: project,
  created_at: mistralTime(view.created_at),
  updated_at: mistralTime(view.updated_at),
});

/** Registers the routes of environments. */
export function environmentRoutes(scope: FastifyInstance, ask: Ask): void {
  const set = async (request: FastifyRequest, verb: 'create' | 'update') => {
    const { name, description, variables } = parseField(environmentSchema, request.body, 'The environment');
    const project = projectOf(request);
    const data = {
      project,
      name,
      verb,
      ...(typeof description === 'string' && { description }),
      ...(variables && { variables }),
    };
    return body(await ask('scheduling', environmentSet, { project, data }), project);
  };
  const creates = described({ summary: 'Create an environment.', body: environmentSchema, ...one, status: 201 });
  scope.post('/v2/environments', creates, async (request, reply) => reply.code(201).send(await set(request, 'create')));
  scope.put(
    '/v2/environments',
    described({ summary: 'Change an environment.', body: environmentSchema, ...one }),
    (request) => set(request, 'update'),
  );
  const lists = describedList('List the environments of the project by name.', 'environments', shownSchema);
  scope.get('/v2/environments', lists, async (request) => {
    const project = projectOf(request);
    const apply = readListQuery(request.query as QueryValues, shownSchema);
    const { environments } = await ask('scheduling', environmentList, { project, data: { project } });
    return { environments: apply(environments.map((each) => body(each, project))) };
  });
  scope.get<NamePath>(
    '/v2/environments/:name',
    described({ summary: 'Show an environment.', ...one }),
    async (request) => {
      const project = projectOf(request);
      const data = { project, name: request.params.name };
      return body(await ask('scheduling', environmentShow, { project, data }), project);
    },
  );
  const deletes = described({ summary: 'Delete an environment. Executions keep their copy.' });
  scope.delete<NamePath>('/v2/environments/:name', deletes, async (request, reply) => {
    const project = projectOf(request);
    await ask('scheduling', environmentDelete, { project, data: { project, name: request.params.name } });
    return reply.code(204).send();
  });
}
