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
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parseField, type QueryValues } from '../http/input.ts';
import { described } from '../http/document.ts';
import { projectOf } from '../identity/caller.ts';
import { describedList, readListQuery } from './list.ts';
import { definitionPlaceSchema, definitionTextOf } from './texts.ts';
import { inputTexts, mistralTime } from './views.ts';

interface ActionPath {
  Params: { action: string };
}

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
const stores = { query: definitionPlaceSchema, body: z.string(), bodyType: 'text/plain' };
/** The description of a check of a text. */
export const checksText = (what: 'workflows' | 'actions') =>
  described({
    summary: `Name every mistake in a text of ${what}, and store nothing.`,
    body: z.string(),
    bodyType: 'text/plain',
    answer: z.object({ valid: z.boolean(), error: z.string().nullable() }),
  });

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

/** Registers the routes of actions. */
export function actionDefinitionRoutes(scope: FastifyInstance, ask: Ask): void {
  const store = async (request: FastifyRequest, replace: boolean) => {
    parseField(definitionPlaceSchema, request.query, 'The query');
    const project = projectOf(request);
    const data = { project, text: definitionTextOf(request, 'actions'), replace };
    return { actions: (await ask('scheduling', adHocActionCreate, { project, data })).actions.map(adHocBody) };
  };
  const all = async (request: FastifyRequest): Promise<ActionBody[]> => {
    const project = projectOf(request);
    const { actions } = await ask('scheduling', adHocActionList, { project, data: { project } });
    return [...workflowActions.map(systemBody), ...actions.map(adHocBody)];
  };
  const find = async (request: FastifyRequest, action: string): Promise<ActionBody> => {
    const found = (await all(request)).find(({ id, name }) => name === action || id === action);
    if (!found) throw new AnnealError('NotFound', `The action ${action} does not exist in this project.`);
    return found;
  };
  const creates = described({ summary: 'Store the ad hoc actions of a text.', ...stores, answer: many, status: 201 });
  scope.post('/v2/actions', creates, async (request, reply) => reply.code(201).send(await store(request, false)));
  const replaces = described({
    summary: 'Store the ad hoc actions of a text, and replace those that exist.',
    ...stores,
    answer: many,
  });
  scope.put('/v2/actions', replaces, (request) => store(request, true));
  const changes = described({
    summary: 'Replace an ad hoc action by the one of this name in a text.',
    ...stores,
    answer: many,
  });
  scope.put<ActionPath>('/v2/actions/:action', changes, async (request) => {
    const before = await find(request, request.params.action);
    const { actions } = await store(request, true);
    if (actions.some(({ name }) => name === before.name)) return { actions };
    const name = JSON.stringify(before.name);
    throw new AnnealError('InvalidRequest', `The text replaces other actions than ${name}; it must have this name.`);
  });
  const lists = describedList(
    'List the actions of the catalogue, and the ad hoc actions of the project.',
    'actions',
    actionSchema,
  );
  scope.get('/v2/actions', lists, async (request) => {
    const apply = readListQuery(request.query as QueryValues, actionSchema);
    return { actions: apply(await all(request)) };
  });
  scope.post('/v2/actions/validate', checksText('actions'), async (request) => {
    const project = projectOf(request);
    const data = { project, text: definitionTextOf(request, 'actions'), kind: 'actions' } as const;
    return validity((await ask('scheduling', workflowCheck, { project, data })).mistakes);
  });
  const shows = described({ summary: 'Show an action, by name or id.', answer: actionSchema });
  scope.get<ActionPath>('/v2/actions/:action', shows, (request) => find(request, request.params.action));
  scope.delete<ActionPath>(
    '/v2/actions/:action',
    described({ summary: 'Delete an ad hoc action. Workflows keep it.' }),
    async (request, reply) => {
      const { id, is_system: isSystem } = await find(request, request.params.action);
      if (isSystem) {
        throw new AnnealError(
          'InvalidRequest',
          `Cannot delete ${request.params.action}: it is an action of the catalogue.`,
        );
      }
      const project = projectOf(request);
      const data = { project, action: id };
      await ask('scheduling', adHocActionDelete, { project, data });
      return reply.code(204).send();
    },
  );
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
