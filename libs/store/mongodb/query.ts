/** A query of the port as MongoDB's filter and order over the index values. */
import type { FieldCondition, Query } from '../port.ts';
import { indexed, keyOf } from './stored.ts';

type Filter = Record<string, unknown>;

/** The filter for conditions that an index serves. */
export function mongoFilter(where: Query['where']): Filter {
  const filter: Filter = {};
  const also: Filter[] = [];
  for (const [field, condition] of Object.entries(where)) {
    const part = conditionOf(keyOf(field), condition);
    if ('$or' in part) also.push(part);
    else Object.assign(filter, part);
  }
  return also.length === 0 ? filter : { ...filter, $and: also };
}

/** Equal entries are ordered by id, so that every answer has one order and a page can end at any entry. */
export function sortOf({ orderBy = [], descending }: Query): Record<string, 1 | -1> {
  const direction = descending ? -1 : 1;
  return Object.fromEntries([...new Set([...orderBy, 'id'])].map((field) => [keyOf(field), direction]));
}

/**
 * MongoDB's ranges hold only values of the type of their bounds, as the port requires. Null is the exception, for pages
 * that continue after the documents without a value: null sorts below everything, so every other value is above it.
 */
function conditionOf(key: string, condition: FieldCondition): Filter {
  if (typeof condition !== 'object' || condition === null) return { [key]: indexed(condition) };
  if ('in' in condition) return { [key]: { $in: condition.in.map(indexed) } };
  const { gt, gte, lt, lte } = condition;
  if (lt === null) return { [key]: { $in: [] } };
  if (lte === null) return gt === undefined && (gte ?? null) === null ? { [key]: null } : { [key]: { $in: [] } };
  const range: Filter = {
    ...(gt !== undefined && (gt === null ? { $ne: null } : { $gt: indexed(gt) })),
    ...(gte !== undefined && gte !== null && { $gte: indexed(gte) }),
    ...(lt !== undefined && { $lt: indexed(lt) }),
    ...(lte !== undefined && { $lte: indexed(lte) }),
  };
  if (Object.keys(range).length === 0) return {};
  return gte === null && gt === undefined ? { $or: [{ [key]: null }, { [key]: range }] } : { [key]: range };
}
