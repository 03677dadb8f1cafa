/** Conditions on the labels of a series, from the filters of Gnocchi, Ceilometer and CloudWatch. Pure. */
import { fitsWildcards, plainParts, type WildPart } from '@anneal/contracts/readers/wildcard.ts';
import type { Labels } from '@anneal/contracts/calls/measuring.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { jsonIn } from '@anneal/contracts/plain-json.ts';

export const comparisons = ['le', 'ge', 'eq', 'lt', 'gt', 'ne'] as const;
export type LimitComparison = (typeof comparisons)[number];

/** A filter. A field may be several labels: one of them must fit. */
export type LabelFilter =
  | { readonly all: readonly LabelFilter[] }
  | { readonly any: readonly LabelFilter[] }
  | { readonly not: LabelFilter }
  | {
      readonly field: string;
      readonly compare: LimitComparison | 'like' | 'in';
      readonly value: string | readonly string[];
      /** The type that the texts are compared as. Absent: a number when both are numbers. */
      readonly type?: string;
    };

/** The labels that the field of another system means here. Every other field is the label of that name. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  stack: ['stack', 'stack_name'],
  stack_id: ['stack', 'group_id'],
  server_group: ['server_group', 'stack', 'group_id', 'group_name'],
  AutoScalingGroupName: ['AutoScalingGroupName', 'group_name', 'group_id', 'stack_name'],
  id: ['host', 'host_name', 'server', 'resource_id'],
  resource_id: ['resource_id', 'host', 'host_name', 'server'],
  display_name: ['host_name', 'display_name'],
};
/** Fields that are true for every series: an alarm sees only its project, and ended series have no new points. */
const given: ReadonlySet<string> = new Set(['project_id', 'created_by_project_id', 'ended_at', 'user_id', 'type']);

export const labelsOfField = (field: string): readonly string[] =>
  (Object.hasOwn(aliases, field) ? aliases[field] : undefined) ?? [field];

export const compareNumbers: Readonly<Record<LimitComparison, (a: number, b: number) => boolean>> = {
  le: (a, b) => a <= b,
  ge: (a, b) => a >= b,
  eq: (a, b) => a === b,
  lt: (a, b) => a < b,
  gt: (a, b) => a > b,
  ne: (a, b) => a !== b,
};

const isNumber = (text: string): boolean => text.trim() !== '' && Number.isFinite(Number(text));
const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Compares as the type says. Without a type: as numbers when both are numbers, otherwise as text. */
export function compareTexts(
  a: string,
  { compare, value: b, type }: { compare: LimitComparison; value: string; type?: string | undefined },
): boolean {
  const compares = compareNumbers[compare];
  if (type === 'integer' || type === 'float') return compares(Number(a), Number(b));
  if (type === 'datetime') return compares(Date.parse(a), Date.parse(b));
  if (type === 'boolean') return compares(order(a.toLowerCase(), b.toLowerCase()), 0);
  const isNumeric = type === undefined && isNumber(a) && isNumber(b);
  return isNumeric ? compares(Number(a), Number(b)) : compares(order(a, b), 0);
}

/** Whether a filter says anything about a label. */
export function reads(filter: LabelFilter, label: string): boolean {
  if ('all' in filter) return filter.all.some((each) => reads(each, label));
  if ('any' in filter) return filter.any.some((each) => reads(each, label));
  if ('not' in filter) return reads(filter.not, label);
  return labelsOfField(filter.field).includes(label);
}

export function labelsFit(filter: LabelFilter, labels: Labels): boolean {
  if ('all' in filter) return filter.all.every((each) => labelsFit(each, labels));
  if ('any' in filter) return filter.any.some((each) => labelsFit(each, labels));
  if ('not' in filter) return !labelsFit(filter.not, labels);
  const { field, compare, value, type } = filter;
  if (given.has(field)) return true;
  const values = labelsOfField(field).flatMap((label) => (Object.hasOwn(labels, label) ? [labels[label] ?? ''] : []));
  if (compare === 'ne') return values.every((each) => compareTexts(each, { compare, value: String(value), type }));
  return values.some((each) => {
    if (compare === 'in') return value.includes(each);
    if (typeof value !== 'string') return false;
    return compare === 'like' ? isLike(each, value) : compareTexts(each, { compare, value, type });
  });
}

/** SQL's LIKE: `%` is any text and `_` any character. */
const isLike = (text: string, pattern: string): boolean =>
  fitsWildcards(
    Array.from(pattern).flatMap((symbol): WildPart<string>[] =>
      symbol === '%' || symbol === '_' ? [{ fits: () => true, repeats: symbol === '%' }] : plainParts(symbol),
    ),
    text,
  );

const operators: Readonly<Record<string, LimitComparison | 'like' | 'in'>> = {
  '=': 'eq',
  '==': 'eq',
  eq: 'eq',
  '!=': 'ne',
  '≠': 'ne',
  ne: 'ne',
  '<': 'lt',
  lt: 'lt',
  '<=': 'le',
  '≤': 'le',
  le: 'le',
  '>': 'gt',
  gt: 'gt',
  '>=': 'ge',
  '≥': 'ge',
  ge: 'ge',
  like: 'like',
  in: 'in',
};

const mostDepth = 20;

/** The filter of a search in Gnocchi, as JSON text: `{"=": {"server_group": "…"}}`. @throws AnnealError InvalidRequest */
export function parseSearch(text: string): LabelFilter {
  const parsed = jsonIn(text);
  if (parsed === undefined) throw refused(`query is not JSON: ${text.slice(0, 200)}`);
  return searchFrom(parsed, 0);
}

function searchFrom(search: Json, depth: number): LabelFilter {
  if (depth > mostDepth) throw refused(`query is nested more than ${mostDepth} levels deep`);
  const entries = isObject(search) ? Object.entries(search) : [];
  const [operator, operand] = entries[0] ?? [];
  if (entries.length !== 1 || operator === undefined || operand === undefined) {
    throw refused(`each part of query must be {operator: operand}, not ${JSON.stringify(search).slice(0, 200)}`);
  }
  if (['and', '∧', 'or', '∨'].includes(operator)) {
    if (!Array.isArray(operand)) throw refused(`"${operator}" in query must have a list`);
    const parts = operand.map((each) => searchFrom(each, depth + 1));
    return operator === 'and' || operator === '∧' ? { all: parts } : { any: parts };
  }
  if (operator === 'not') return { not: searchFrom(operand, depth + 1) };
  const compare = Object.hasOwn(operators, operator) ? operators[operator] : undefined;
  const fields = isObject(operand) ? Object.entries(operand) : [];
  const [field, value] = fields[0] ?? [];
  if (!compare || fields.length !== 1 || field === undefined || value === undefined) {
    const known = ['and', 'or', 'not', '=', '!=', '<', '<=', '>', '>=', 'in', 'like'].join(', ');
    throw refused(`"${operator}" in query is not {operator: {field: value}} with one of ${known}`);
  }
  if (compare === 'in') {
    if (!Array.isArray(value)) throw refused('"in" in query must have a list of values');
    return { field, compare, value: value.map(String) };
  }
  return { field, compare, value: typeof value === 'string' ? value : JSON.stringify(value ?? '') };
}

/** The label that a field of Ceilometer's metadata means: `metadata.user_metadata.stack` is `stack`. */
export const meterField = (field: string): string =>
  field.replace(/^(?:metadata\.)?(?:(?:user_metadata|metering)\.)?/, '').replace(/^resource_metadata\./, '');

const refused = (message: string): AnnealError =>
  new AnnealError('InvalidRequest', `Cannot use the alarm: ${message}.`);
