/** Pages of long lists: searched, sorted and counted by the server. */
import type { PageRequest } from '@anneal/contracts/page.ts';
import { z } from 'zod';
import type { GatewayConnection } from './connection.ts';
import { read } from './read.ts';
import { resourceSchema, type Resource } from './representation.ts';

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

/** Resources with their paths in the tree of stacks, and how many of all are in which state. */
export interface ResourcePage extends PageOf<Resource & { readonly path: string }> {
  readonly states: Readonly<Record<string, number>>;
}

const resourcePageForm = z.object({
  resources: z.array(resourceSchema.and(z.object({ path: z.string() }))),
  total: z.number(),
  found: z.number(),
  states: z.record(z.string(), z.number()),
});

/** Reads a page of the resources of a stack. */
export async function readResourcePage(
  connection: GatewayConnection,
  { stack, ...query }: PageRequest & { stack: string; depth?: number | undefined },
): Promise<ResourcePage> {
  const what = `list the resources of ${stack}`;
  const path = `/stacks/${encodeURIComponent(stack)}/resources`;
  const answer = await connection.json({ service: 'api', path, query, what });
  const { resources: rows, ...counts } = read(resourcePageForm, answer, what);
  return { rows, ...counts };
}
