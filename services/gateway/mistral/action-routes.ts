/** Actions in Mistral's API: those of the catalogue, and the ad hoc actions of the project. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import {
  adHocActionCreate,
  adHocActionDelete,
  adHocActionList,
  workflowCheck,
  type AdHocActionView,
} from '@anneal/contracts/calls/workflow.ts';
import { workflowActions, type ActionDefinition } from '@anneal/hot/workflow/action-catalogue.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { parseField } from '../http/body.ts';
import { projectOf } from '../identity/caller.ts';
import { readListQuery } from './list.ts';
import { definitionPlaceSchema, definitionTextOf } from './texts.ts';
import { inputTexts, mistralTime } from './views.ts';

interface ActionPath {
  Params: { action: string };
}

const fields = 'id name is_system input description tags definition scope namespace created_at updated_at'.split(' ');

/** An action of the catalogue. Its name is its id. */
const systemBody = ({ name, description, inputs, result }: ActionDefinition): JsonObject => ({
  id: name,
  name,
  is_system: true,
  input: inputTexts(inputs.map((each) => ({ name: each.name, required: each.required, default: null }))),
  description: `${description} Result: ${result}.`,
  tags: [],
  definition: null,
  scope: 'public',
  namespace: '',
  created_at: null,
  updated_at: null,
});

const adHocBody = (view: AdHocActionView): JsonObject => ({
  id: view.id,
  name: view.name,
  is_system: false,
  input: inputTexts(view.input),
  description: view.description,
  tags: view.tags,
  definition: view.definition,
  scope: 'private',
  namespace: '',
  created_at: mistralTime(view.created_at),
  updated_at: mistralTime(view.updated_at),
});

/** Registers the routes of actions. */
export function actionDefinitionRoutes(scope: FastifyInstance, ask: Ask): void {
  const store = async (request: FastifyRequest, replace: boolean) => {
    parseField(definitionPlaceSchema, request.query, 'The query');
    const project = projectOf(request);
    const data = { project, text: definitionTextOf(request, 'actions'), replace };
    return { actions: (await ask('scheduling', adHocActionCreate, { project, data })).actions.map(adHocBody) };
  };
  const all = async (request: FastifyRequest): Promise<JsonObject[]> => {
    const project = projectOf(request);
    const { actions } = await ask('scheduling', adHocActionList, { project, data: { project } });
    return [...workflowActions.map(systemBody), ...actions.map(adHocBody)];
  };
  const find = async (request: FastifyRequest, action: string): Promise<JsonObject> => {
    const found = (await all(request)).find(({ id, name }) => name === action || id === action);
    if (!found) throw new AnnealError('NotFound', `The action ${action} does not exist in this project.`);
    return found;
  };
  scope.post('/v2/actions', async (request, reply) => reply.code(201).send(await store(request, false)));
  scope.put('/v2/actions', (request) => store(request, true));
  scope.put<ActionPath>('/v2/actions/:action', async (request) => {
    const before = await find(request, request.params.action);
    const { actions } = await store(request, true);
    if (actions.some(({ name }) => name === before['name'])) return { actions };
    const name = JSON.stringify(before['name']);
    throw new AnnealError('InvalidRequest', `The text replaces other actions than ${name}; it must have this name.`);
  });
  scope.get('/v2/actions', async (request) => {
    const apply = readListQuery(request.query as Record<string, string>, fields);
    return { actions: apply(await all(request)) };
  });
  scope.post('/v2/actions/validate', async (request) => {
    const project = projectOf(request);
    const data = { project, text: definitionTextOf(request, 'actions'), kind: 'actions' } as const;
    return validity((await ask('scheduling', workflowCheck, { project, data })).mistakes);
  });
  scope.get<ActionPath>('/v2/actions/:action', (request) => find(request, request.params.action));
  scope.delete<ActionPath>('/v2/actions/:action', async (request, reply) => {
    const { id, is_system: isSystem } = await find(request, request.params.action);
    if (isSystem === true) {
      throw new AnnealError(
        'InvalidRequest',
        `Cannot delete ${request.params.action}: it is an action of the catalogue.`,
      );
    }
    const project = projectOf(request);
    const data = { project, action: id as string };
    await ask('scheduling', adHocActionDelete, { project, data });
    return reply.code(204).send();
  });
}

/** The answer to the check of a text. */
export const validity = (mistakes: readonly { message: string; line?: number | undefined }[]): JsonObject =>
  mistakes.length === 0
    ? { valid: true, error: null }
    : {
        valid: false,
        error: mistakes
          .map(({ message, line }) => (line === undefined ? message : `line ${line}: ${message}`))
          .join('\n'),
      };
