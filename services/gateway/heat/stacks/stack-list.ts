/** Lists stacks, with Heat's filters, order and pages. */
import { stackList, type StackView } from '@anneal/contracts/calls/stacks.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { baseUrl, nextQueryOf, requestPath } from '../../http/base-url.ts';
import { takePage, type PageForm, type SortKey } from '../../http/list.ts';
import { route, type Route } from '../../http/route.ts';
import { isFromOperator, projectOf } from '../../identity/caller.ts';
import { rootOfProject, rootStackOf } from './find-stack.ts';
import { filterFields, filtersIn, wantedValues, sortDirection } from '../query.ts';
import { stackRow, heatStackRowSchema } from '../representation.ts';
import { heatError } from '../wording.ts';

const mostRows = 1000;

export interface StackListOptions {
  ask: Ask;
  /** A stack with one of these tags is listed only with `show_hidden`. */
  hiddenTags: readonly string[];
}

/** The filters that the store does not know. */
const ownFilters = {
  action: ({ action }: StackView) => action,
  tenant: ({ project }: StackView) => project,
  username: ({ owner }: StackView) => owner,
  owner_id: ({ parent }: StackView) => parent ?? '',
};

const flag = z.boolean().default(false);
const upperCase = z.array(z.string().toUpperCase()).optional();
const tags = z
  .string()
  .transform((text) => text.split(','))
  .optional();
const allTags = tags.meta({ description: 'The stacks with all of these tags: `a,b`.' });
const anyTag = tags.meta({ description: 'The stacks with one of these tags.' });
const notAllTags = tags.meta({ description: 'The stacks without one of these tags.' });
const noTag = tags.meta({ description: 'The stacks with none of these tags.' });
const filterQuery = z.object({
  name: wantedValues,
  stack_name: wantedValues,
  id: wantedValues,
  status: upperCase,
  stack_status: upperCase,
  ...filterFields(ownFilters),
  action: upperCase,
  // Heat spells these with `-` and with `_`.
  tags: allTags,
  'tags-any': anyTag,
  tags_any: anyTag,
  'not-tags': notAllTags,
  not_tags: notAllTags,
  'not-tags-any': noTag,
  not_tags_any: noTag,
  show_deleted: z.boolean().optional(),
  show_nested: flag,
  show_hidden: flag,
  global_tenant: flag.meta({ description: 'The stacks of all projects, for operators.' }),
  sort_keys: wantedValues.meta({
    description: 'stack_name, stack_status, creation_time or updated_time. Others are ignored.',
  }),
  sort_dir: sortDirection,
});
type StackFilters = z.output<typeof filterQuery>;

const form: PageForm<StackView> = { idOf: ({ id }) => id, unknownMarker: 'ignored' };

/** The lists of stacks: page by page, and all at once. */
export const stackListRoutes = ({ ask, hiddenTags }: StackListOptions): Route[] => [
  route({
    method: 'GET',
    path: '/{project}/stacks',
    summary: 'List the stacks of the project.',
    query: z.object({
      limit: z.int().min(0).optional(),
      marker: z.string().optional(),
      with_count: flag,
      ...filterQuery.shape,
    }),
    answer: z.object({
      stacks: z.array(heatStackRowSchema),
      links: z.array(z.object({ rel: z.string(), href: z.string() })).optional(),
      count: z.int().optional(),
    }),
    handle: async ({ query, request }) => {
      const { limit, marker, with_count: isCounted } = query;
      const from = { ask, hiddenTags };
      const size = limit === undefined || limit === 0 ? undefined : Math.min(limit, mostRows);
      const order = orderOf(query);
      // The store pages stacks newest first. Any other order, or a count, needs all of them.
      const all = isCounted || order.length > 0 ? await list(from, { query, request }) : undefined;
      const stacks = all
        ? takePage(all, { order, marker, limit: size }, form).rows
        : await list(from, { query, request }, { size, marker });
      const last = stacks.at(-1);
      const hasMore = limit !== undefined && last !== undefined && stacks.length === limit;
      const next = (id: string): string =>
        `${baseUrl(request)}${requestPath(request)}${nextQueryOf(request, { marker: id })}`;
      return {
        stacks: stacks.map(rowOf(query, request)),
        ...(hasMore && { links: [{ rel: 'next', href: next(last.id) }] }),
        ...(isCounted && { count: all?.length ?? 0 }),
      };
    },
  }),
  route({
    method: 'GET',
    path: '/{project}/stacks/detail',
    summary: 'List the stacks of the project, all at once.',
    query: filterQuery,
    answer: z.object({ stacks: z.array(heatStackRowSchema) }),
    handle: async ({ query, request }) => {
      const all = await list({ ask, hiddenTags }, { query, request });
      return { stacks: takePage(all, { order: orderOf(query) }, form).rows.map(rowOf(query, request)) };
    },
  }),
];

/** The row of a stack. A list over all projects names the project of each, as Heat's does. */
function rowOf({ global_tenant: isOfAll }: StackFilters, request: FastifyRequest): (stack: StackView) => object {
  const root = rootStackOf(request);
  return (stack) =>
    isOfAll
      ? { ...stackRow(rootOfProject(request, stack.project), stack), project: stack.project }
      : stackRow(root, stack);
}

/**
 * Lists one page, or all stacks when no size is given.
 * @throws AnnealError Forbidden for a user who asks for the stacks of all projects and is no operator
 */
async function list(
  { ask, hiddenTags }: StackListOptions,
  { query, request }: { query: StackFilters; request: FastifyRequest },
  { size, marker: from }: { size?: number | undefined; marker?: string | undefined } = {},
): Promise<StackView[]> {
  const { name = [], stack_name = [], id: ids = [], status = [], stack_status = [], show_deleted: deleted } = query;
  if (query.global_tenant && !isFromOperator(request)) {
    throw heatError('Forbidden', 'Forbidden', 'You are not authorized to use stacks:global_index.');
  }
  const project = projectOf(request);
  const hidden = query.show_hidden ? [] : hiddenTags;
  const [names, states] = [
    [...name, ...stack_name],
    [...status, ...stack_status],
  ];
  const filters = filtersOf(query);
  const found: StackView[] = [];
  // Stacks that the gateway filters come in full pages.
  const limit = size === undefined || filters.length > 0 ? mostRows : size;
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
        ...(states.length > 0 && { states }),
        ...(deleted !== undefined && { deleted }),
        ...(query.show_nested && { nested: true }),
        ...(query.global_tenant && { all_projects: true }),
      },
    });
    for (const stack of page.stacks) {
      if (!filters.every((fits) => fits(stack)) || hidden.some((tag) => stack.tags.includes(tag))) continue;
      found.push(stack);
      if (found.length === size) return found;
    }
    const last = page.stacks.at(-1);
    if (!last || page.stacks.length < limit) return found;
    marker = last.id;
  }
}

/** The filters of the query that the store does not know. */
function filtersOf(query: StackFilters): ((stack: StackView) => boolean)[] {
  const filters = filtersIn(query, ownFilters);
  const {
    tags: all,
    tags_any: some = query['tags-any'],
    not_tags: notAll = query['not-tags'],
    not_tags_any: none = query['not-tags-any'],
  } = query;
  if (all) filters.push((stack) => all.every((tag) => stack.tags.includes(tag)));
  if (some) filters.push((stack) => some.some((tag) => stack.tags.includes(tag)));
  if (notAll) filters.push((stack) => !notAll.every((tag) => stack.tags.includes(tag)));
  if (none) filters.push((stack) => !none.some((tag) => stack.tags.includes(tag)));
  return filters;
}

const sortKeys: ReadonlyMap<string, SortKey<StackView>['of']> = new Map([
  ['stack_name', ({ name }: StackView) => name],
  ['stack_status', ({ action, status }: StackView) => `${action}_${status}`],
  ['creation_time', ({ created_at }: StackView) => created_at],
  ['updated_time', ({ updated_at }: StackView) => updated_at ?? ''],
]);

/** The order that the query asks for: none for that of the store. */
function orderOf({ sort_keys: names = [], sort_dir: direction }: StackFilters): SortKey<StackView>[] {
  if (names.length === 0 && direction === undefined) return [];
  const known = names.flatMap((name) => sortKeys.get(name) ?? []);
  if (known.length > 0) return known.map((of) => ({ of, isDescending: direction === 'desc' }));
  return [{ of: ({ created_at }) => created_at, isDescending: direction !== 'asc' }];
}
