/** Pages of long lists: searched, sorted and counted by the server. */
import type { PageRequest } from '@anneal/contracts/page.ts';
import { z } from 'zod';
import type { GatewayConnection } from './connection.ts';
import { read } from './read.ts';

/** One page of a list, with the size of the list and how many of its rows have the words of the search. */
export interface PageOf<T> {
  readonly rows: T[];
  readonly total: number;
  readonly found: number;
}

/** Reads a page of the list at a path of the API, whose rows are under `key`. */
export async function readPage<T>(
  connection: GatewayConnection,
  {
    path,
    key,
    row,
    ...query
  }: PageRequest & { path: string; key: string; row: z.ZodType<T>; where?: string | undefined },
): Promise<PageOf<T>> {
  const what = `list the ${key}`;
  const form = z.object({ [key]: z.array(row), total: z.number(), found: z.number() });
  const body = read(form, await connection.json({ service: 'api', path, query, what }), what);
  return { rows: body[key] as T[], total: body.total as number, found: body.found as number };
}
