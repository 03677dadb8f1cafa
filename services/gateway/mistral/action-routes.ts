/** Actions in Mistral's API: those of the catalogue, and the ad hoc actions of the project. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  adHocActionCreate,
  adHocActionDelete,
  adHocActionList,
  type AdHocActionView,
} from '@anneal/contracts/calls/workflow.ts';
import { workflowActions, type ActionDefinition } from '@anneal/hot/workflow/action-catalogue.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { route, type Route } from '../http/route.ts';
import { projectOf } from '../identity/caller.ts';
import { mistralList, mistralPage } from './list.ts';
import { checkRoute, definitionsInput } from './texts.ts';
import { inputTexts, mistralTime } from './views.ts';

const actionSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    is_system: z.boolean(),
    input: z.string(),
    description: z.string(),
    tags: z.array(z.string()),
    definition: z.string().nullable(),
    scope: z.enum(['public', 'private']),
    namespace: z.literal(''),
    created_at: z.string().nullable(),
    updated_at: z.string().nullable(),
  })
  .meta({ id: 'MistralAction' });
type ActionBody = z.output<typeof actionSchema>;

const many = z.object({ actions: z.array(actionSchema) });

/** An action of the catalogue. Its name is its id. */
const systemBody = ({ name, description, inputs, result }: ActionDefinition): ActionBody => ({
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

const adHocBody = (view: AdHocActionView): ActionBody => ({
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

/** The routes of actions. */
export function actionDefinitionRoutes(ask: Ask): Route[] {
  const all = async (request: FastifyRequest): Promise<ActionBody[]> => {
    const project = projectOf(request);
    const { actions } = await ask('scheduling', adHocActionList, { project, data: { project } });
    return [...workflowActions.map(systemBody), ...actions.map(adHocBody)];
  };
  const find: FindAction = async (request, action) => {
    const found = (await all(request)).find(({ id, name }) => name === action || id === action);
    if (!found) throw new AnnealError('NotFound', `The action ${action} does not exist in this project.`);
    return found;
  };
  return [
    ...storeRoutes(ask, find),
    route({
      method: 'GET',
      path: '/v2/actions',
      summary: 'List the actions of the catalogue, and the ad hoc actions of the project.',
      ...mistralList('actions', actionSchema),
      handle: async ({ query, request }) => ({ actions: mistralPage(await all(request), query) }),
    }),
    checkRoute(ask, '/v2/actions/validate', 'actions'),
    route({
      method: 'GET',
      path: '/v2/actions/{action}',
      summary: 'Show an action, by name or id.',
      answer: actionSchema,
      handle: ({ params: { action }, request }) => find(request, action),
    }),
    route({
      method: 'DELETE',
      path: '/v2/actions/{action}',
      summary: 'Delete an ad hoc action. Workflows keep it.',
      handle: async ({ params: { action }, request }) => {
        const { id, is_system: isSystem } = await find(request, action);
        if (isSystem)
          throw new AnnealError('InvalidRequest', `Cannot delete ${action}: it is an action of the catalogue.`);
        const project = projectOf(request);
        await ask('scheduling', adHocActionDelete, { project, data: { project, action: id } });
      },
    }),
  ];
}

/** @throws AnnealError NotFound */
type FindAction = (request: FastifyRequest, action: string) => Promise<ActionBody>;

function storeRoutes(ask: Ask, find: FindAction): Route[] {
  const store = async (request: FastifyRequest, text: string, replace: boolean) => {
    const project = projectOf(request);
    const { actions } = await ask('scheduling', adHocActionCreate, { project, data: { project, text, replace } });
    return { actions: actions.map(adHocBody) };
  };
  return [
    route({
      method: 'POST',
      path: '/v2/actions',
      summary: 'Store the ad hoc actions of a text.',
      ...definitionsInput('actions'),
      answer: many,
      status: 201,
      handle: ({ body, request }) => store(request, body, false),
    }),
    route({
      method: 'PUT',
      path: '/v2/actions',
      summary: 'Store the ad hoc actions of a text, and replace those that exist.',
      ...definitionsInput('actions'),
      answer: many,
      handle: ({ body, request }) => store(request, body, true),
    }),
    route({
      method: 'PUT',
      path: '/v2/actions/{action}',
      summary: 'Replace an ad hoc action by the one of this name in a text.',
      ...definitionsInput('actions'),
      answer: many,
      handle: async ({ params, body, request }) => {
        const before = await find(request, params.action);
        const { actions } = await store(request, body, true);
        if (actions.some(({ name }) => name === before.name)) return { actions };
        const name = JSON.stringify(before.name);
        throw new AnnealError(
          'InvalidRequest',
          `The text replaces other actions than ${name}; it must have this name.`,
        );
      },
    }),
  ];
}
