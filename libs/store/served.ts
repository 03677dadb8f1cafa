/** S4: finds the declared index that serves a query. All adapters share it, so that all refuse the same queries. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { CollectionDefinition, FieldCondition, IndexDefinition, Query } from './port.ts';

const isRange = (condition: FieldCondition): boolean =>
  typeof condition === 'object' && condition !== null && !('in' in condition);

/**
 * Every index ends in `id`. So equal entries have one order, and a reader can continue after the last one seen. A query
 * without conditions is a walk over all documents by id, which reads no more than it returns.
 *
 *
 * @throws AnnealError Defect when a scan would be needed, naming the existing indexes.
 */
export function assertServed(definition: CollectionDefinition, query: Query): void {
  const shape = shapeOf(query);
  const known = servedShapes.get(definition) ?? new Set();
  if (known.has(shape)) return;
  assertShape(definition, query);
  // Queries have few shapes, because code writes them and users only give values.
  servedShapes.set(definition, known.add(shape));
}

const servedShapes = new WeakMap<CollectionDefinition, Set<string>>();

/** Equal for queries that the same index serves. */
function shapeOf({ where, orderBy = [] }: Query): string {
  let shape = '';
  for (const field in where) shape += `${field}${isRange(where[field] ?? null) ? '<' : '='}`;
  return `${shape}/${orderBy.join(',')}`;
}

function assertShape(definition: CollectionDefinition, query: Query): void {
  const ranges = Object.entries(query.where).filter(([, condition]) => isRange(condition));
  const equal = Object.keys(query.where).filter((field) => !ranges.some(([name]) => name === field));
  const range = ranges.map(([field]) => field);
  const order = (query.orderBy ?? []).filter((field) => !equal.includes(field));
  const candidates: IndexDefinition[] = [{ fields: [] }, ...definition.indexes];
  if (range.length <= 1 && candidates.some((index) => serves({ index, equal, range, order }))) return;
  const asked = [...equal, ...range.map((field) => `${field} (a range)`), ...order.map((field) => `${field} (order)`)];
  throw new AnnealError(
    'Defect',
    `${definition.name}: no declared index begins with ${asked.join(', ')}; the indexes are ${
      definition.indexes.map((index) => `(${index.fields.join(', ')})`).join(', ') || 'none'
    }, and id.`,
  );
}

function serves(parameters: {
  index: IndexDefinition;
  equal: readonly string[];
  range: readonly string[];
  order: readonly string[];
}): boolean {
  const { equal, range, order } = parameters;
  // The id alone finds at most one document; all other conditions are checked on that one.
  if (equal.includes('id')) return true;
  const fields = [...parameters.index.fields.filter((field) => field !== 'id'), 'id'];
  const head = new Set(fields.slice(0, equal.length));
  if (!equal.every((field) => head.has(field))) return false;
  const rest = [...range, ...order.filter((field) => !range.includes(field))];
  return rest.every((field, index) => fields[equal.length + index] === field);
}
