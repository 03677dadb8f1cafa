/** The query of Mistral's lists: filters on fields, order, marker, limit, and the wanted fields. Pure. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { sameJson, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import { described } from '../http/document.ts';
import type { QueryValues } from '../http/input.ts';

/** The query of a list. A filter is any field of its rows. */
export const listQuerySchema = z.object({
  marker: z.string().optional().meta({ description: 'The id of the row before the first one.' }),
  limit: z.int().min(1).optional(),
  sort_keys: z.string().optional().meta({ description: 'Names of fields, with commas between.' }),
  sort_dirs: z.string().optional().meta({ description: '`asc` or `desc` for each key, with commas between.' }),
  fields: z.string().optional().meta({ description: 'Names of the wanted fields, with commas between.' }),
  namespace: z.string().optional().meta({ description: 'Without effect: there are no namespaces.' }),
});
const own: ReadonlySet<string> = new Set(Object.keys(listQuerySchema.shape));

/** The description of a list of rows, of which the query chooses the fields. */
export const describedList = (summary: string, key: string, row: z.ZodObject) =>
  described({ summary, query: listQuerySchema, answer: z.object({ [key]: z.array(row.partial()) }) });

/** The last value of each parameter, because clients that follow a redirect send some twice. */
const lastValues = (query: QueryValues): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(query).map(([key, value]) => [key, [value].flat().at(-1)]));

/**
 * Checks the query of a list before anything is read. Returns the function that applies it to rows with the fields of
 * the schema; the function throws NotFound for a marker that is not there.
 * @throws AnnealError InvalidRequest with every mistake
 */
export function readListQuery(given: QueryValues, row: z.ZodObject): (rows: readonly JsonObject[]) => JsonObject[] {
  const query = lastValues(given);
  const fields = Object.keys(row.shape);
  const named = (key: string): string[] => (query[key] ?? '').split(',').filter((part) => part !== '');
  const [wanted, keys, directions] = [named('fields'), named('sort_keys'), named('sort_dirs')];
  const limit = query['limit'] === undefined ? undefined : Number(query['limit']);
  const mistakes = [
    ...[...wanted, ...keys, ...Object.keys(query).filter((key) => !own.has(key))]
      .filter((key) => !fields.includes(key))
      .map((key) => ({ path: key, message: `${key} is no field here; the fields are ${fields.join(', ')}` })),
    ...directions
      .filter((each) => each !== 'asc' && each !== 'desc')
      .map((each) => ({ path: 'sort_dirs', message: `sort_dirs must be asc or desc, not ${each}` })),
    ...(limit !== undefined && !(Number.isInteger(limit) && limit > 0)
      ? [{ path: 'limit', message: 'limit must be an integer above 0' }]
      : []),
  ].map((mistake) => ({ code: 'InvalidField', ...mistake }));
  if (mistakes.length > 0) {
    const message = `The query is not valid: ${mistakes.map((each) => each.message).join('; ')}`;
    throw new AnnealError('InvalidRequest', message, { mistakes });
  }
  const filters = Object.entries(query).filter(([key]) => !own.has(key));
  const marker = query['marker'] || undefined;
  return (rows) => {
    const sorted = keys.length === 0 ? rows : rows.toSorted((a, b) => compareBy(a, b, { keys, directions }));
    const from = marker === undefined ? 0 : sorted.findIndex((each) => each['id'] === marker) + 1;
    if (from === 0 && marker !== undefined) {
      throw new AnnealError('NotFound', `The marker ${marker} is not in the list; its object may have been deleted.`);
    }
    const found = sorted
      .slice(from)
      .filter((each) => filters.every(([key, value]) => isHit(each[key] ?? null, value ?? '')));
    const page = found.slice(0, limit);
    if (wanted.length === 0) return page;
    const shown = [...new Set(['id', ...wanted])];
    return page.map((each) => Object.fromEntries(shown.map((key) => [key, each[key] ?? null] as const)));
  };
}

/** `eq:x`, `neq:x`, `in:x,y`, `nin:x,y`, `has:x`, or a plain value. */
function isHit(value: Json, filter: string): boolean {
  const [, operator = 'eq', operand = ''] = /^(?:(eq|neq|in|nin|has):)?(.*)$/s.exec(filter) ?? [];
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const isOne = operand.split(',').includes(text);
  if (operator === 'in' || operator === 'nin') return isOne === (operator === 'in');
  if (operator === 'has') return text.includes(operand);
  return (text === operand) === (operator === 'eq');
}

function compareBy(
  a: JsonObject,
  b: JsonObject,
  { keys, directions }: { keys: readonly string[]; directions: readonly string[] },
): number {
  for (const [index, key] of keys.entries()) {
    const [first, second] = [a[key] ?? null, b[key] ?? null];
    if (sameJson(first, second)) continue;
    const order = JSON.stringify(first) < JSON.stringify(second) ? -1 : 1;
    return directions[index] === 'desc' ? -order : order;
  }
  return 0;
}
