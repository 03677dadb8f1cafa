/** The query of Mistral's lists: filters on fields, order, marker, limit, and the wanted fields. Pure. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { sameJson, type Json, type JsonObject } from '@anneal/contracts/json.ts';

type Query = Readonly<Record<string, string | undefined>>;

const own = new Set(['marker', 'limit', 'sort_keys', 'sort_dirs', 'fields', 'namespace']);

/**
 * Checks the query of a list before anything is read. Returns the function that applies it to rows with these fields.
 * @throws AnnealError InvalidRequest with every mistake
 */
export function readListQuery(query: Query, fields: readonly string[]): (rows: readonly JsonObject[]) => JsonObject[] {
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
  const { marker } = query;
  return (rows) => {
    const found = rows.filter((row) => filters.every(([key, value]) => isHit(row[key] ?? null, value ?? '')));
    const sorted = keys.length === 0 ? found : found.toSorted((a, b) => compareBy(a, b, { keys, directions }));
    const from = marker === undefined || marker === '' ? 0 : sorted.findIndex((row) => row['id'] === marker) + 1;
    const page = sorted.slice(from, limit === undefined ? undefined : from + limit);
    if (wanted.length === 0) return page;
    const shown = [...new Set(['id', ...wanted])];
    return page.map((row) => Object.fromEntries(shown.map((key) => [key, row[key] ?? null] as const)));
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
