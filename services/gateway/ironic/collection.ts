/** Lists of Ironic's API: sorted, a page at a time, with the chosen fields. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { baseUrl, nextQueryOf, requestPath } from '../http/base-url.ts';
import { queryBoolean, queryNumber, queryValue } from '../http/body.ts';
import { ironicLinksSchema, pick } from './node-view.ts';

export type ListItem = Record<string, unknown> & { readonly uuid: string };

export const pagingParameters = ['limit', 'marker', 'sort_key', 'sort_dir', 'fields', 'detail'] as const;

const text = z.string().optional();
/** The query of a list: pages, order and fields, and these filters. */
export const listQuery = (filters: readonly string[] = []) =>
  z.object({
    ...Object.fromEntries(filters.map((name) => [name, text])),
    limit: z.int().min(0).max(1_000_000).optional(),
    marker: text,
    sort_key: text,
    sort_dir: z.enum(['asc', 'desc']).optional(),
    fields: text.meta({ description: 'Names of fields, with commas between.' }),
    detail: z.boolean().optional(),
  });
/** The query of one object. */
export const fieldsQuery = listQuery().pick({ fields: true });
/** An object. The request chooses its fields, and its version of the API has some of them. */
export const itemSchema = <S extends z.ZodRawShape>(shape: S) =>
  z
    .looseObject({
      uuid: z.string(),
      ...shape,
      links: ironicLinksSchema,
      created_at: z.string().nullable(),
      updated_at: z.string().nullable(),
    })
    .partial();
/** A page of a list. */
export const itemsSchema = (key: string, item: z.ZodType) =>
  z.object({ [key]: z.array(item), next: z.string().optional() });

export interface ListForm {
  /** The key of the list. */
  readonly key: string;
  /** The fields of an item without detail. */
  readonly row: readonly string[];
  readonly detailed?: boolean;
}

/** @throws AnnealError InvalidRequest for a field, an order or a marker that does not exist. */
export function pageOf(request: FastifyRequest, items: readonly ListItem[], form: ListForm): object {
  const { key } = form;
  const limit = queryNumber(request, 'limit', { least: 0, most: 1_000_000 });
  const size = limit === undefined || limit === 0 ? 1000 : Math.min(limit, 1000);
  const sorted = inOrder(request, items);
  const marker = queryValue(request, 'marker');
  const at = marker === undefined ? -1 : sorted.findIndex(({ uuid }) => uuid === marker);
  if (marker !== undefined && at < 0)
    throw new AnnealError('NotFound', `The marker ${marker} is not in the list of ${key}.`);
  const page = sorted.slice(at + 1, at + 1 + size);
  const last = page.at(-1);
  const isFull = last !== undefined && at + 1 + size < sorted.length;
  return {
    [key]: page.map((item) => shownItem(request, item, form)),
    ...((isFull || (last !== undefined && limit !== undefined && page.length === limit)) && {
      next: nextOf(request, { size, marker: last?.uuid ?? '' }),
    }),
  };
}

/** The address of the next page: that of the request, with another marker. */
export function nextOf(request: FastifyRequest, { size, marker }: { size: number; marker: string }): string {
  return `${baseUrl(request)}${requestPath(request)}${nextQueryOf(request, { limit: String(size), marker })}`;
}

/** Whether the list has all fields of each item. @throws AnnealError InvalidRequest for detail with chosen fields. */
function isDetailed(request: FastifyRequest, detailed: boolean): boolean {
  const detail = detailed || (queryBoolean(request, 'detail') ?? false);
  if (detail && queryValue(request, 'fields') !== undefined)
    throw new AnnealError('InvalidRequest', 'A list with detail has all fields: leave out "fields", or "detail".');
  return detail;
}

/** The chosen fields, and always the links. Undefined: all, or those of a row. */
export function fieldsIn(request: FastifyRequest, item: object): string[] | undefined {
  const fields = queryValue(request, 'fields')?.split(',');
  const unknown = fields?.find((name) => !(name in item));
  if (unknown !== undefined)
    throw new AnnealError(
      'InvalidRequest',
      `Field ${unknown} is not a valid field. There are ${Object.keys(item).sort().join(', ')}.`,
    );
  return fields && [...fields, 'links'];
}

/** The item of a list as the request asks for it. */
export function shownItem(request: FastifyRequest, item: ListItem, { row, detailed = false }: ListForm): object {
  const isWhole = isDetailed(request, detailed);
  const fields = fieldsIn(request, item);
  if (fields) return pick(item, fields);
  return isWhole ? item : pick(item, [...row, 'links']);
}

function inOrder(request: FastifyRequest, items: readonly ListItem[]): readonly ListItem[] {
  const name = queryValue(request, 'sort_key');
  const direction = queryValue(request, 'sort_dir') ?? 'asc';
  if (direction !== 'asc' && direction !== 'desc')
    throw new AnnealError('InvalidRequest', `Invalid sort direction: ${direction}. Acceptable values: asc, desc.`);
  if (name !== undefined && name !== 'id') {
    const isUnknown = items.some((item) => !(name in item) || (typeof item[name] === 'object' && item[name] !== null));
    if (isUnknown)
      throw new AnnealError('InvalidRequest', `The sort_key value "${name}" is an invalid field for sorting.`);
  }
  const sorted = name === undefined || name === 'id' ? [...items] : items.toSorted((a, b) => compare(a[name], b[name]));
  return direction === 'desc' ? sorted.reverse() : sorted;
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const textOf = (value: unknown): string => (value === null ? '' : JSON.stringify(value));
  return textOf(a).localeCompare(textOf(b));
}
