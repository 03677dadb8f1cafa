/** Mistral's lists: filters on the fields of the rows, order, marker, limit, and the wanted fields. Pure. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import { takePage } from '../http/list.ts';

const filter = z.string().meta({
  id: 'Filter',
  description: 'A value, or an operator with a value: `eq:A`, `neq:A`, `in:A,B`, `nin:A,B`, `has:TEXT`.',
});

/** Texts with commas between. */
const commaList = (allowed: readonly string[], description: string) =>
  z
    .string()
    .transform((text) => text.split(',').filter((part) => part !== ''))
    .pipe(z.array(z.enum(allowed)))
    .optional()
    .meta({ description });

/** The query and the answer of a list of such rows. Any field of a row is a filter, and the query chooses the fields. */
export function mistralList(key: string, row: z.ZodObject) {
  const names = Object.keys(row.shape);
  const own = {
    marker: z.string().optional().meta({ description: 'The id of the row before the first one.' }),
    limit: z.int().min(1).optional(),
    sort_keys: commaList(names, 'Names of fields, with commas between.'),
    sort_dirs: commaList(['asc', 'desc'], '`asc` or `desc` for each key, with commas between.'),
    fields: commaList(names, 'Names of the wanted fields, with commas between.'),
    namespace: z.string().optional().meta({ description: 'Without effect: there are no namespaces.' }),
  };
  const filters = names.filter((name) => !Object.hasOwn(own, name)).map((name) => [name, filter.optional()] as const);
  return {
    query: z.strictObject<typeof own>({ ...own, ...Object.fromEntries(filters) }),
    answer: z.object({ [key]: z.array(row.partial()) }),
  };
}

/**
 * The rows that a query asks for, each with the wanted fields.
 * @throws AnnealError NotFound for a marker that is not there
 */
export function mistralPage(
  rows: readonly JsonObject[],
  query: z.output<ReturnType<typeof mistralList>['query']>,
): JsonObject[] {
  const { marker, limit, sort_keys: keys = [], sort_dirs: directions = [], fields = [], namespace: _, ...rest } = query;
  const filters = Object.entries<string>(rest);
  const page = takePage(
    rows,
    {
      fits: (row) => filters.every(([name, wanted]) => isHit(row[name] ?? null, wanted)),
      order: keys.map((key, at) => ({ of: (row) => row[key], isDescending: directions[at] === 'desc' })),
      marker: marker || undefined,
      limit,
    },
    { idOf: (row) => row['id'] as string },
  ).rows;
  if (fields.length === 0) return page;
  const shown = [...new Set(['id', ...fields])];
  return page.map((row) => Object.fromEntries(shown.map((key) => [key, row[key] ?? null] as const)));
}

/** `eq:x`, `neq:x`, `in:x,y`, `nin:x,y`, `has:x`, or a plain value. */
function isHit(value: Json, wanted: string): boolean {
  const [, operator = 'eq', operand = ''] = /^(?:(eq|neq|in|nin|has):)?(.*)$/s.exec(wanted) ?? [];
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const isOne = operand.split(',').includes(text);
  if (operator === 'in' || operator === 'nin') return isOne === (operator === 'in');
  if (operator === 'has') return text.includes(operand);
  return (text === operand) === (operator === 'eq');
}
