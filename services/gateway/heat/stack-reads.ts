/** Reading stacks: lists, one stack, its template, environment, files and outputs. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { stackList, type StackView } from '@anneal/contracts/scheduling.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import type { Blobs } from '@anneal/store/port.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { baseUrl, pathOf } from '../http/base-url.ts';
import { queryBoolean, queryNumber, queryValue, queryValues, type Query } from '../http/body.ts';
import { projectOf } from '../identity/caller.ts';
import { rootOf, stackAt } from './find-stack.ts';
import { outputBody, sortedOutputs, stackBody, stackRow } from './representation.ts';
import { heatError } from './wording.ts';

export interface StackReadOptions {
  ask: Ask;
  blobs: Blobs;
  secrets: Secrets;
}

const at = '/:project/stacks/:name/:id';
const mostRows = 1000;

export function stackReadRoutes(scope: FastifyInstance, { ask, blobs, secrets }: StackReadOptions): void {
  scope.get('/:project/stacks', async (request) => {
    const limit = queryNumber(request, 'limit', { least: 0, most: Number.MAX_SAFE_INTEGER });
    const stacks = await list(request, limit === undefined || limit === 0 ? undefined : Math.min(limit, mostRows));
    const root = rootOf(request);
    const last = stacks.at(-1);
    const more = limit !== undefined && last !== undefined && stacks.length === limit;
    return {
      stacks: stacks.map((stack) => stackRow(root, stack)),
      ...(more && { links: [{ rel: 'next', href: `${baseUrl(request)}${nextPage(request, last.id)}` }] }),
      ...(queryBoolean(request, 'with_count') && { count: stacks.length }),
    };
  });

  scope.get('/:project/stacks/detail', async (request) => {
    const root = rootOf(request);
    return { stacks: (await list(request, undefined)).map((stack) => stackRow(root, stack)) };
  });

  /** All of them where no limit is given: pages are asked for until there are no more. */
  async function list(request: FastifyRequest, limit: number | undefined): Promise<StackView[]> {
    const project = projectOf(request);
    // There is one project, so a list over all of them is the same list.
    queryBoolean(request, 'global_tenant');
    const nested = queryBoolean(request, 'show_nested') ?? false;
    queryBoolean(request, 'show_hidden');
    const names = [...queryValues(request, 'name'), ...queryValues(request, 'stack_name')];
    const ids = queryValues(request, 'id');
    const states = [...queryValues(request, 'status'), ...queryValues(request, 'stack_status')];
    const actions = queryValues(request, 'action').map((action) => action.toUpperCase());
    const deleted = queryBoolean(request, 'show_deleted');
    const wanted = tagFilter(request);
    const found: StackView[] = [];
    let marker = queryValue(request, 'marker');
    for (;;) {
      const page = await ask('scheduling', stackList, {
        project,
        data: {
          project,
          limit: mostRows,
          ...(marker !== undefined && { marker }),
          ...(names.length > 0 && { names }),
          ...(ids.length > 0 && { ids }),
          ...(states.length > 0 && { states: states.map((state) => state.toUpperCase()) }),
          ...(deleted !== undefined && { deleted }),
          ...(nested && { nested }),
        },
      });
      for (const stack of page.stacks) {
        if (actions.length > 0 && !actions.includes(stack.action)) continue;
        if (!wanted(stack.tags)) continue;
        found.push(stack);
        if (found.length === limit) return found;
      }
      const last = page.stacks.at(-1);
      if (!last || page.stacks.length < mostRows) return sorted(request, found);
      marker = last.id;
    }
  }

  scope.get(at, async (request) => {
    const outputs = queryBoolean(request, 'resolve_outputs') ?? true;
    return { stack: stackBody(rootOf(request), await stackAt(ask, request, { outputs })) };
  });

  scope.get(`${at}/outputs`, async (request) => {
    const stack = await stackAt(ask, request, { outputs: true });
    return {
      outputs: sortedOutputs(stack).map((output) => {
        const { output_key, description } = outputBody(output);
        return { output_key, description };
      }),
    };
  });

  scope.get<{ Params: { key: string } }>(`${at}/outputs/:key`, async (request) => {
    const { key } = request.params;
    const stack = await stackAt(ask, request, { outputs: true });
    const output = stack.outputs?.find((each) => each.key === key);
    if (!output) throw heatError('NotFound', 'NotFound', `Specified output key ${key} not found.`);
    return { output: outputBody(output) };
  });

  scope.get(`${at}/template`, async (request) => document((await stackAt(ask, request)).template, 'template'));
  scope.get(`${at}/files`, async (request) => document((await stackAt(ask, request)).files, 'files'));

  scope.get(`${at}/environment`, async (request) => {
    const stack = await stackAt(ask, request);
    const environment = await document(stack.environment, 'environment');
    const hidden = Object.entries(stack.parameters).flatMap(([name, value]) => (value === '******' ? [name] : []));
    return {
      resource_registry: { resources: {} },
      parameter_defaults: {},
      event_sinks: [],
      encrypted_param_names: [],
      ...secrets.mask(environment),
      parameters: maskNamed(environment['parameters'], hidden),
      ...(environment['parameter_defaults'] !== undefined && {
        parameter_defaults: maskNamed(environment['parameter_defaults'], hidden),
      }),
    };
  });

  async function document(hash: string, what: string): Promise<JsonObject> {
    const text = await blobs.getText(hash);
    if (text === undefined) {
      throw new AnnealError('Defect', `The ${what} of the stack (blob ${hash}) is not in the store.`);
    }
    return JSON.parse(text) as JsonObject;
  }

  function maskNamed(values: Json | undefined, hidden: readonly string[]): JsonObject {
    if (!isObject(values)) return {};
    const shown = Object.entries(secrets.mask(values)).map(([name, value]) => [
      name,
      hidden.includes(name) ? '******' : value,
    ]);
    return Object.fromEntries(shown) as JsonObject;
  }
}

function nextPage(request: FastifyRequest, marker: string): string {
  const query = new URLSearchParams();
  for (const [name, values] of Object.entries(request.query as Query)) {
    for (const value of [values].flat()) if (value !== undefined && name !== 'marker') query.append(name, value);
  }
  query.append('marker', marker);
  return `${pathOf(request)}?${query.toString()}`;
}

/** `tags`: all of them; `tags-any`: one of them; `not-…`: the opposite. Heat spells them both ways. */
function tagFilter(request: FastifyRequest): (tags: readonly string[]) => boolean {
  const named = (name: string): string[] | undefined =>
    (queryValue(request, name) ?? queryValue(request, name.replaceAll('_', '-')))?.split(',');
  const all = named('tags');
  const any = named('tags_any');
  const notAll = named('not_tags');
  const notAny = named('not_tags_any');
  return (tags) =>
    (all?.every((tag) => tags.includes(tag)) ?? true) &&
    (any?.some((tag) => tags.includes(tag)) ?? true) &&
    !(notAll?.every((tag) => tags.includes(tag)) ?? false) &&
    !(notAny?.some((tag) => tags.includes(tag)) ?? false);
}

const sortKeys: Readonly<Record<string, (stack: StackView) => string>> = {
  stack_name: ({ name }) => name,
  stack_status: ({ action, status }) => `${action}_${status}`,
  creation_time: ({ created_at }) => created_at,
  updated_time: ({ updated_at }) => updated_at ?? '',
};

function sorted(request: FastifyRequest, stacks: StackView[]): StackView[] {
  const keys = queryValues(request, 'sort_keys').flatMap((key) => sortKeys[key] ?? []);
  if (keys.length === 0) return stacks;
  const sign = queryValue(request, 'sort_dir') === 'desc' ? -1 : 1;
  return stacks.sort((a, b) => {
    for (const key of keys) {
      if (key(a) !== key(b)) return key(a) < key(b) ? -sign : sign;
    }
    return 0;
  });
}
