/** Lists and objects of Ironic's API: sorted, a page at a time, with the chosen fields. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { baseUrl, nextQueryOf, requestPath } from '../http/base-url.ts';
import { takePage } from '../http/list.ts';
import { ironicLinksSchema, pick } from './node-view.ts';

export type ListItem = Record<string, unknown> & { readonly uuid: string };

const mostOnPage = 1_000;

/** A parameter with commas between its values. */
export const commaText = z
  .string()
  .transform((text) => text.split(','))
  .optional();
/** The parameters that every list has. */
export const listParameters = {
  limit: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .transform((limit) => (limit === 0 ? mostOnPage : Math.min(limit, mostOnPage)))
    .meta({ description: `Objects of a page: at most ${mostOnPage}, and 0 for as many.` }),
  marker: z.string().optional().meta({ description: 'The UUID of the object before the first one.' }),
  sort_key: z.string().optional(),
  sort_dir: z.enum(['asc', 'desc']).optional(),
  fields: commaText.meta({ description: 'Names of fields, with commas between.' }),
  detail: z.boolean().optional(),
};
/** The query of a list without filters. */
export const listQuery = z.object(listParameters);
type ListQuery = z.output<typeof listQuery>;
/** The query of one object. */
export const fieldsQuery = listQuery.pick({ fields: true });
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

/**
 * A page of a list that is complete. A full page names the next one, as in Ironic.
 * @throws AnnealError InvalidRequest for a field or an order that does not exist, NotFound for such a marker
 */
export function pageOf(
  { request, query }: { readonly request: FastifyRequest; readonly query: ListQuery },
  items: readonly ListItem[],
  form: ListForm,
): object {
  const { sort_key: key = 'id', sort_dir: direction, marker, limit } = query;
  const view = viewIn(query, form);
  if (key !== 'id' && items.some((item) => !isSortable(item, key)))
    throw new AnnealError('InvalidRequest', `The sort_key value "${key}" is an invalid field for sorting.`);
  const isDescending = direction === 'desc';
  const order = key === 'id' ? [] : [{ of: (item: ListItem) => item[key] as Json, isDescending }];
  // A list that descends has also equal items the other way round.
  const all = isDescending ? items.toReversed() : items;
  const { rows } = takePage(all, { order, marker, limit }, { idOf: ({ uuid }) => uuid });
  const last = rows.at(-1);
  return {
    [form.key]: rows.map(view),
    ...(last && rows.length === limit && { next: nextOf(request, { limit, marker: last.uuid }) }),
  };
}

const isSortable = (item: ListItem, key: string): boolean =>
  Object.hasOwn(item, key) && (typeof item[key] !== 'object' || item[key] === null);

/** The address of the next page: that of the request, with another marker. */
export function nextOf(request: FastifyRequest, { limit, marker }: { limit: number; marker: string }): string {
  return `${baseUrl(request)}${requestPath(request)}${nextQueryOf(request, { limit: String(limit), marker })}`;
}

/** How a list shows its items. @throws AnnealError InvalidRequest for detail with chosen fields. */
export function viewIn({ fields, detail = false }: ListQuery, { row, detailed = false }: ListForm) {
  const isWhole = detailed || detail;
  if (isWhole && fields)
    throw new AnnealError('InvalidRequest', 'A list with detail has all fields: leave out "fields", or "detail".');
  return (item: ListItem): object => (fields || isWhole ? chosenOf(item, fields) : pick(item, [...row, 'links']));
}

/** The object with the chosen fields and its links, or all of it. @throws AnnealError InvalidRequest for an unknown field. */
export function chosenOf(item: ListItem, fields: readonly string[] | undefined): object {
  if (!fields) return item;
  const unknown = fields.find((name) => !Object.hasOwn(item, name));
  if (unknown === undefined) return pick(item, [...fields, 'links']);
  throw new AnnealError(
    'InvalidRequest',
    `Field ${unknown} is not a valid field. There are ${Object.keys(item).sort().join(', ')}.`,
  );
}

/** All of a list that a service sends in parts. */
export async function readAll<T extends { readonly id: string }>(
  read: (part: { limit: number; marker?: string }) => Promise<readonly T[]>,
): Promise<T[]> {
  const found: T[] = [];
  for (let marker: string | undefined; ;) {
    const part = await read({ limit: 1_000, ...(marker !== undefined && { marker }) });
    found.push(...part);
    marker = part.at(-1)?.id;
    if (part.length < 1_000) return found;
  }
}
