/** S4: which declared index serves a query. Shared by all adapters, so that a query refused on one is refused on all. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { CollectionDefinition, Condition, IndexDefinition, Query } from './port.ts';

const isRange = (condition: Condition): boolean =>
  typeof condition === 'object' && condition !== null && !('in' in condition);

/**
 * Every index ends in `id`, which makes equal entries come in one order and lets a reader go on after the last one seen.
 * A query over nothing is the walk over all documents by id, which asks for no more than it gets.
 *
 * @throws AnnealError Defect when a scan would be needed, naming the indexes there are.
 */
export function assertServed(definition: CollectionDefinition, query: Query): void {
  const ranges = Object.entries(query.where).filter(([, condition]) => isRange(condition));
  const equal = Object.keys(query.where).filter((field) => !ranges.some(([name]) => name === field));
  const range = ranges.map(([field]) => field);
  const order = (query.orderBy ?? []).filter((field) => !equal.includes(field));
  const candidates: IndexDefinition[] = [{ fields: [] }, ...definition.indexes];
  if (range.length <= 1 && candidates.some((index) => serves({ index, equal, range, order }))) return;
  const asked = [...equal, ...range.map((field) => `${field} (a range)`), ...order.map((field) => `${field} (order)`)];
  throw new AnnealError(
    'Defect',
    `${definition.name}: no declared index begins with ${asked.join(', ')}; there are ${
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
  // The id by itself finds at most one document: whatever else is asked is checked on that one.
  if (equal.includes('id')) return true;
  const fields = [...parameters.index.fields.filter((field) => field !== 'id'), 'id'];
  const head = new Set(fields.slice(0, equal.length));
  if (!equal.every((field) => head.has(field))) return false;
  const rest = [...range, ...order.filter((field) => !range.includes(field))];
  return rest.every((field, index) => fields[equal.length + index] === field);
}
