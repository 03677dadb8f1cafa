/** The query of a list that is asked for by pages. */
import { mostInPage, pageSchema, type PageRequest } from '@anneal/contracts/page.ts';
import { z } from 'zod';

const { find, sort } = pageSchema.shape;

/** The parameters of a page in an address. A page is asked for when `limit` is present. */
export const pageQuery = {
  find,
  sort,
  descending: z.boolean().optional(),
  offset: z.int().nonnegative().max(10_000_000).optional(),
  limit: z.int().positive().max(mostInPage).optional(),
};

type PageQuery = { [K in keyof PageRequest]?: PageRequest[K] | undefined };

/** Undefined without a limit: then the whole list is the answer. */
export function wantedPage(query: PageQuery & { limit: number }): PageRequest;
export function wantedPage(query: PageQuery): PageRequest | undefined;
export function wantedPage(query: PageQuery): PageRequest | undefined {
  const { limit, ...rest } = query;
  return limit === undefined ? undefined : { ...rest, limit };
}
