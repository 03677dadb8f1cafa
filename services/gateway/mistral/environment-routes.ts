/** Environments of executions in Mistral's API. */
import {
  environmentDelete,
  environmentList,
  environmentSet,
  environmentShow,
  type EnvironmentView,
} from '@anneal/contracts/calls/workflow.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parseField } from '../http/body.ts';
import { projectOf } from '../identity/caller.ts';
import { mapOrText } from './executions.ts';
import { readListQuery } from './list.ts';
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
const fields = 'id name description variables scope project_id created_at updated_at'.split(' ');

const body = (view: EnvironmentView, project: string): JsonObject => ({
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
  scope.post('/v2/environments', async (request, reply) => reply.code(201).send(await set(request, 'create')));
  scope.put('/v2/environments', (request) => set(request, 'update'));
  scope.get('/v2/environments', async (request) => {
    const project = projectOf(request);
    const apply = readListQuery(request.query as Record<string, string>, fields);
    const { environments } = await ask('scheduling', environmentList, { project, data: { project } });
    return { environments: apply(environments.map((each) => body(each, project))) };
  });
  scope.get<NamePath>('/v2/environments/:name', async (request) => {
    const project = projectOf(request);
    const data = { project, name: request.params.name };
    return body(await ask('scheduling', environmentShow, { project, data }), project);
  });
  scope.delete<NamePath>('/v2/environments/:name', async (request, reply) => {
    const project = projectOf(request);
    await ask('scheduling', environmentDelete, { project, data: { project, name: request.params.name } });
    return reply.code(204).send();
  });
}
