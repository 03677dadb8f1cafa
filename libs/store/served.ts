/** S4: finds the declared index that serves a query. All adapters share it, so that all refuse the same queries. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { CollectionDefinition, FieldCondition, IndexDefinition, Query } from './port.ts';

const isRange = (condition: FieldCondition): boolean =>
  typeof condition === 'object' && condition !== null && !('in' in condition);

/**
 * Every index ends in `id`. So equal entries have one order, and a reader can continue after the last one seen. A query
 * without conditions is a walk over all documents by id, which reads no more than it returns. An index of some documents
 * serves the queries that ask only for these. One for counts need not end in `id`.
 *
 * @throws AnnealError Defect when a scan would be needed, naming the existing indexes.
 */
export function assertServed(
  definition: CollectionDefinition,
  query: Query,
  { isCount = false }: { isCount?: boolean } = {},
): void {
  const shape = shapeOf(query) + partsHeld(definition, query.where) + (isCount ? '#' : '');
  const known = servedShapes.get(definition) ?? new Set();
  if (known.has(shape)) return;
  assertShape(definition, query, isCount);
  // Queries have few shapes, because code writes them and users only give values.
  servedShapes.set(definition, known.add(shape));
}

/** The indexes of a collection that hold only some documents. */
export function partialIndexes(definition: CollectionDefinition): readonly IndexDefinition[] {
  const known = partial.get(definition);
  if (known) return known;
  const found = definition.indexes.filter(({ only }) => only !== undefined);
  partial.set(definition, found);
  return found;
}

const partial = new WeakMap<CollectionDefinition, readonly IndexDefinition[]>();

/** True when the conditions ask only for documents that an index holds. */
export function holdsAll({ only }: IndexDefinition, where: Query['where']): boolean {
  if (only === undefined) return true;
  const condition = where[only.field];
  if (condition === undefined || condition === null) return false;
  if (only.is !== undefined) return condition === only.is;
  if (typeof condition !== 'object') return true;
  if ('in' in condition) return !condition.in.includes(null);
  // A range with a bound above null excludes the documents without a value, at both its ends.
  return condition.gt !== undefined || [condition.gte, condition.lt].some((bound) => (bound ?? null) !== null);
}

const partsHeld = (definition: CollectionDefinition, where: Query['where']): string =>
  partialIndexes(definition)
    .map((index) => (holdsAll(index, where) ? '+' : '-'))
    .join('');

const servedShapes = new WeakMap<CollectionDefinition, Set<string>>();

/** Equal for queries that the same index serves. */
function shapeOf({ where, orderBy = [] }: Query): string {
  let shape = '';
  for (const field in where) shape += `${field}${isRange(where[field] ?? null) ? '<' : '='}`;
  return `${shape}/${orderBy.join(',')}`;
}

function assertShape(definition: CollectionDefinition, query: Query, isCount: boolean): void {
  const ranges = Object.entries(query.where).filter(([, condition]) => isRange(condition));
  const equal = Object.keys(query.where).filter((field) => !ranges.some(([name]) => name === field));
  const range = ranges.map(([field]) => field);
  const order = (query.orderBy ?? []).filter((field) => !equal.includes(field));
  const held = definition.indexes.filter((index) => holdsAll(index, query.where) && (isCount || index.counts !== true));
  const candidates: IndexDefinition[] = [{ fields: [] }, ...held];
  if (range.length <= 1 && candidates.some((index) => serves({ index, equal, range, order }))) return;
  const asked = [...equal, ...range.map((field) => `${field} (a range)`), ...order.map((field) => `${field} (order)`)];
  throw new AnnealError(
    'Defect',
    `${definition.name}: no declared index begins with ${asked.join(', ')}; the indexes are ${
      definition.indexes.map(nameOf).join(', ') || 'none'
    }, and id.`,
  );
}

const nameOf = ({ fields, only, counts }: IndexDefinition): string => {
  const part = only && (only.is === undefined ? `with a value of ${only.field}` : `of ${only.field} ${only.is}`);
  return `(${fields.join(', ')}${part === undefined ? '' : `; only documents ${part}`}${counts ? '; only for counts' : ''})`;
};

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
