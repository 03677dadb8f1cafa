/** Lists stacks, with Heat's filters, order and pages. */
import { stackList, type StackView } from '@anneal/contracts/calls/scheduling.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../../ask.ts';
import { baseUrl, requestPath } from '../../http/base-url.ts';
import { queryBoolean, queryNumber, queryValue, queryValues, type QueryValues } from '../../http/body.ts';
import { projectOf } from '../../identity/caller.ts';
import { rootStackOf } from './find-stack.ts';
import { stackRow } from '../representation.ts';

const mostRows = 1000;

export function stackListRoutes(scope: FastifyInstance, { ask }: { ask: Ask }): void {
  scope.get('/:project/stacks', async (request) => {
    const limit = queryNumber(request, 'limit', { least: 0, most: Number.MAX_SAFE_INTEGER });
    const size = limit === undefined || limit === 0 ? undefined : Math.min(limit, mostRows);
    const counted = queryBoolean(request, 'with_count') ?? false;
    const marker = queryValue(request, 'marker');
    // The store pages stacks newest first. Any other order, or a count, needs all of them.
    const all = counted || isOrdered(request) ? await list(ask, request, {}) : undefined;
    const stacks = all ? pageOf(all, { marker, size }) : await list(ask, request, { size, marker });
    const root = rootStackOf(request);
    const last = stacks.at(-1);
    const more = limit !== undefined && last !== undefined && stacks.length === limit;
    return {
      stacks: stacks.map((stack) => stackRow(root, stack)),
      ...(more && { links: [{ rel: 'next', href: `${baseUrl(request)}${nextPage(request, last.id)}` }] }),
      ...(counted && { count: all?.length ?? 0 }),
    };
  });

  scope.get('/:project/stacks/detail', async (request) => {
    const root = rootStackOf(request);
    return { stacks: (await list(ask, request, {})).map((stack) => stackRow(root, stack)) };
  });
}

/** Lists one page, or all stacks when no limit is given. */
async function list(
  ask: Ask,
  request: FastifyRequest,
  { size, marker: from }: { size?: number | undefined; marker?: string | undefined },
): Promise<StackView[]> {
  const project = projectOf(request);
  // There is only one project, so a list over all projects is the same.
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
  let marker = from;
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
      if (!wanted(stack.tags) || !isOf(request, stack)) continue;
      found.push(stack);
      if (found.length === size) return found;
    }
    const last = page.stacks.at(-1);
    if (!last || page.stacks.length < mostRows) return sorted(request, found);
    marker = last.id;
  }
}

function nextPage(request: FastifyRequest, marker: string): string {
  const query = new URLSearchParams();
  for (const [name, values] of Object.entries(request.query as QueryValues)) {
    for (const value of [values].flat()) if (value !== undefined && name !== 'marker') query.append(name, value);
  }
  query.append('marker', marker);
  return `${requestPath(request)}?${query.toString()}`;
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

/** Filters stacks by project, owner and parent. */
function isOf(request: FastifyRequest, { project, owner, parent }: StackView): boolean {
  const fits = (key: string, value: string): boolean => {
    const wanted = queryValues(request, key);
    return wanted.length === 0 || wanted.includes(value);
  };
  return fits('tenant', project) && fits('username', owner) && fits('owner_id', parent ?? '');
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
