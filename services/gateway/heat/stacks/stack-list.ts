/** Lists stacks, with Heat's filters, order and pages. */
import { stackList, type StackView } from '@anneal/contracts/calls/scheduling.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { baseUrl, nextQueryOf, requestPath } from '../../http/base-url.ts';
import { queryBoolean, queryNumber, queryValue, queryValues } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import { isFromOperator, projectOf } from '../../identity/caller.ts';
import { rootOfProject, rootStackOf } from './find-stack.ts';
import { stackRow, heatStackRowSchema } from '../representation.ts';
import { heatError } from '../wording.ts';

const mostRows = 1000;

export interface StackListOptions {
  ask: Ask;
  /** A stack with one of these tags is listed only with `show_hidden`. */
  hiddenTags: readonly string[];
}

const text = z.string().optional();
const flag = z.boolean().optional();
const filterFields = {
  ...Object.fromEntries(
    ['name', 'stack_name', 'id', 'status', 'stack_status', 'action', 'tenant', 'username', 'owner_id'].map((name) => [
      name,
      text,
    ]),
  ),
  ...Object.fromEntries(['tags', 'tags-any', 'not-tags', 'not-tags-any'].map((name) => [name, text])),
  show_deleted: flag,
  show_nested: flag,
  show_hidden: flag,
  global_tenant: flag.meta({ description: 'The stacks of all projects, for operators.' }),
  sort_keys: text.meta({ description: 'stack_name, stack_status, creation_time or updated_time.' }),
  sort_dir: z.enum(['asc', 'desc']).optional(),
};
const lists = described({
  summary: 'List the stacks of the project.',
  query: z.object({ limit: z.int().min(0).optional(), marker: text, with_count: flag, ...filterFields }),
  answer: z.object({
    stacks: z.array(heatStackRowSchema),
    links: z.array(z.object({ rel: z.string(), href: z.string() })).optional(),
    count: z.int().optional(),
  }),
});
const details = described({
  summary: 'List the stacks of the project, all at once.',
  query: z.object(filterFields),
  answer: z.object({ stacks: z.array(heatStackRowSchema) }),
});

export function stackListRoutes(scope: FastifyInstance, { ask, hiddenTags }: StackListOptions): void {
  const from = { ask, hiddenTags };
  scope.get('/:project/stacks', lists, async (request) => {
    const limit = queryNumber(request, 'limit', { least: 0, most: Number.MAX_SAFE_INTEGER });
    const size = limit === undefined || limit === 0 ? undefined : Math.min(limit, mostRows);
    const counted = queryBoolean(request, 'with_count') ?? false;
    const marker = queryValue(request, 'marker');
    // The store pages stacks newest first. Any other order, or a count, needs all of them.
    const all = counted || isOrdered(request) ? await list(from, request, {}) : undefined;
    const stacks = all ? pageOf(all, { marker, size }) : await list(from, request, { size, marker });
    const row = rowOf(request);
    const last = stacks.at(-1);
    const more = limit !== undefined && last !== undefined && stacks.length === limit;
    return {
      stacks: stacks.map(row),
      ...(more && { links: [{ rel: 'next', href: `${baseUrl(request)}${nextPage(request, last.id)}` }] }),
      ...(counted && { count: all?.length ?? 0 }),
    };
  });

  scope.get('/:project/stacks/detail', details, async (request) => {
    return { stacks: (await list(from, request, {})).map(rowOf(request)) };
  });
}

/** The row of a stack. A list over all projects names the project of each, as Heat's does. */
function rowOf(request: FastifyRequest): (stack: StackView) => object {
  const all = ofAllProjects(request);
  const root = rootStackOf(request);
  return (stack) =>
    all ? { ...stackRow(rootOfProject(request, stack.project), stack), project: stack.project } : stackRow(root, stack);
}

/** Whether an operator asks for the stacks of all projects. @throws AnnealError Forbidden for another user */
function ofAllProjects(request: FastifyRequest): boolean {
  const all = queryBoolean(request, 'global_tenant') ?? false;
  if (all && !isFromOperator(request)) {
    throw heatError('Forbidden', 'Forbidden', 'You are not authorized to use stacks:global_index.');
  }
  return all;
}

/** Lists one page, or all stacks when no limit is given. */
async function list(
  { ask, hiddenTags }: StackListOptions,
  request: FastifyRequest,
  { size, marker: from }: { size?: number | undefined; marker?: string | undefined },
): Promise<StackView[]> {
  const project = projectOf(request);
  const all = ofAllProjects(request);
  const nested = queryBoolean(request, 'show_nested') ?? false;
  const hidden = (queryBoolean(request, 'show_hidden') ?? false) ? [] : hiddenTags;
  const names = [...queryValues(request, 'name'), ...queryValues(request, 'stack_name')];
  const ids = queryValues(request, 'id');
  const states = [...queryValues(request, 'status'), ...queryValues(request, 'stack_status')];
  const deleted = queryBoolean(request, 'show_deleted');
  const filters = filtersOf(request);
  const found: StackView[] = [];
  // Stacks that the gateway filters come in full pages.
  const limit = size === undefined || filters.length > 0 ? mostRows : Math.min(size, mostRows);
  let marker = from;
  for (;;) {
    const page = await ask('scheduling', stackList, {
      project,
      data: {
        project,
        limit,
        ...(marker !== undefined && { marker }),
        ...(names.length > 0 && { names }),
        ...(ids.length > 0 && { ids }),
        ...(states.length > 0 && { states: states.map((state) => state.toUpperCase()) }),
        ...(deleted !== undefined && { deleted }),
        ...(nested && { nested }),
        ...(all && { all_projects: all }),
      },
    });
    for (const stack of page.stacks) {
      if (!filters.every((fits) => fits(stack)) || hidden.some((tag) => stack.tags.includes(tag))) continue;
      found.push(stack);
      if (found.length === size) return found;
    }
    const last = page.stacks.at(-1);
    if (!last || page.stacks.length < limit) return sorted(request, found);
    marker = last.id;
  }
}

const nextPage = (request: FastifyRequest, marker: string): string =>
  `${requestPath(request)}${nextQueryOf(request, { marker })}`;

const valueFilters: Readonly<Record<string, (stack: StackView) => string>> = {
  action: ({ action }) => action,
  tenant: ({ project }) => project,
  username: ({ owner }) => owner,
  owner_id: ({ parent }) => parent ?? '',
};

/** `tags`: all of them; `tags-any`: one of them; `not-…`: the opposite. */
const tagFilters: Readonly<Record<string, (wanted: readonly string[], tags: readonly string[]) => boolean>> = {
  tags: (wanted, tags) => wanted.every((tag) => tags.includes(tag)),
  'tags-any': (wanted, tags) => wanted.some((tag) => tags.includes(tag)),
  'not-tags': (wanted, tags) => !wanted.every((tag) => tags.includes(tag)),
  'not-tags-any': (wanted, tags) => !wanted.some((tag) => tags.includes(tag)),
};

/** The filters of the request that the store does not know. Heat spells those of tags with `-` and with `_`. */
function filtersOf(request: FastifyRequest): ((stack: StackView) => boolean)[] {
  const byValue = Object.entries(valueFilters).flatMap(([key, of]) => {
    const wanted = queryValues(request, key).map((value) => (key === 'action' ? value.toUpperCase() : value));
    return wanted.length > 0 ? [(stack: StackView) => wanted.includes(of(stack))] : [];
  });
  const byTags = Object.entries(tagFilters).flatMap(([key, fits]) => {
    const wanted = (queryValue(request, key.replaceAll('-', '_')) ?? queryValue(request, key))?.split(',');
    return wanted ? [({ tags }: StackView) => fits(wanted, tags)] : [];
  });
  return [...byValue, ...byTags];
}

/** An unknown marker is ignored. */
function pageOf(
  all: readonly StackView[],
  { marker, size = all.length }: { marker: string | undefined; size: number | undefined },
): readonly StackView[] {
  const first = all.findIndex(({ id }) => id === marker) + 1;
  return all.slice(first, first + size);
}

const sortKeys: Readonly<Record<string, (stack: StackView) => string>> = {
  stack_name: ({ name }) => name,
  stack_status: ({ action, status }) => `${action}_${status}`,
  creation_time: ({ created_at }) => created_at,
  updated_time: ({ updated_at }) => updated_at ?? '',
};

const isOrdered = (request: FastifyRequest): boolean =>
  queryValues(request, 'sort_keys').length > 0 || queryValue(request, 'sort_dir') !== undefined;

function sorted(request: FastifyRequest, stacks: StackView[]): StackView[] {
  if (!isOrdered(request)) return stacks;
  const known = queryValues(request, 'sort_keys').flatMap((key) => sortKeys[key] ?? []);
  const keys = known.length > 0 ? known : [({ created_at }: StackView) => created_at];
  const direction = queryValue(request, 'sort_dir') ?? (known.length > 0 ? 'asc' : 'desc');
  const sign = direction === 'desc' ? -1 : 1;
  return stacks.sort((a, b) => {
    for (const key of keys) {
      if (key(a) !== key(b)) return key(a) < key(b) ? -sign : sign;
    }
    return 0;
  });
}
