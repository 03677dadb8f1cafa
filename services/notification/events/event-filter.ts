/**
 * Filters of subscriptions: patterns of types, and the filter dialects of the CloudEvents Subscriptions API (exact,
 * prefix, suffix, all, any, not). Pure.
 *
 * A dialect names an attribute: `event-attributes.ts` lists them.
 */
import { matcherOf } from '@anneal/bus/pattern.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { nearestOf } from '@anneal/runtime/nearest.ts';
import { attributeValues } from './event-attributes.ts';

export type EventPredicate = (event: Envelope) => boolean;

const mostFilters = 100;
const mostLevels = 8;
const comparisons: Record<string, (value: string, wanted: string) => boolean> = {
  exact: (value, wanted) => value === wanted,
  prefix: (value, wanted) => value.startsWith(wanted),
  suffix: (value, wanted) => value.endsWith(wanted),
};
const dialects = [...Object.keys(comparisons), 'all', 'any', 'not'];
/** The names of attributes in CloudEvents, or a path into the data. */
const attributeName = /^(?:[a-z0-9]{1,40}|data(?:\.[A-Za-z0-9_-]{1,100}){1,8})$/;

/**
 * An event must pass all of the filters.
 * @throws AnnealError InvalidRequest that names every mistake
 */
export function parseFilters(filters: readonly Json[]): EventPredicate {
  const mistakes: string[] = [];
  let count = 0;
  const pass: EventPredicate = () => true;

  const wrong = (path: string, why: string): EventPredicate => {
    mistakes.push(`${path}: ${why}`);
    return pass;
  };
  const many = (path: string, given: Json | undefined, level: number): EventPredicate[] => {
    if (!Array.isArray(given) || given.length === 0) return [wrong(path, 'must be a list with at least one filter')];
    return given.map((each, index) => one(`${path}[${index}]`, each, level + 1));
  };
  const compared = (path: string, dialect: string, given: Json | undefined): EventPredicate => {
    const holds = comparisons[dialect];
    if (!holds || !isObject(given) || Object.keys(given).length === 0) {
      return wrong(path, 'must name at least one attribute and its value');
    }
    const wanted: [string, string][] = [];
    for (const [name, value] of Object.entries(given)) {
      if (!attributeName.test(name))
        wrong(`${path}.${name}`, 'is not an attribute such as subject, stack, tag or data.stack_name');
      else if (typeof value !== 'string' || value === '') wrong(`${path}.${name}`, 'must be a text that is not empty');
      else wanted.push([name, value]);
    }
    return (event) =>
      wanted.every(([name, value]) => attributeValues(event, name).some((found) => holds(found, value)));
  };
  const one = (path: string, given: Json, level: number): EventPredicate => {
    count += 1;
    if (count > mostFilters || level > mostLevels) {
      return wrong(path, `exceeds ${mostFilters} filters or ${mostLevels} levels`);
    }
    const [dialect, ...others] = isObject(given) ? Object.keys(given) : [];
    if (!isObject(given) || dialect === undefined || others.length > 0 || !dialects.includes(dialect)) {
      return wrong(path, `must be an object with one of ${dialects.join(', ')}`);
    }
    const inner = given[dialect];
    const below = `${path}.${dialect}`;
    if (dialect === 'all') {
      const every = many(below, inner, level);
      return (event) => every.every((each) => each(event));
    }
    if (dialect === 'any') {
      const some = many(below, inner, level);
      return (event) => some.some((each) => each(event));
    }
    if (dialect === 'not') {
      const negated = one(below, inner ?? null, level + 1);
      return (event) => !negated(event);
    }
    return compared(below, dialect, inner);
  };

  const parsed = filters.map((each, index) => one(`filters[${index}]`, each, 1));
  if (mistakes.length > 0) {
    throw new AnnealError('InvalidRequest', `The filters are not valid: ${mistakes.slice(0, 20).join('; ')}.`);
  }
  return (event) => parsed.every((each) => each(event));
}

/** @throws AnnealError InvalidRequest for a pattern that matches none of the types, with the nearest one that does */
export function checkPatterns(patterns: readonly string[], types: readonly string[]): void {
  const lost = patterns.filter((pattern) => !types.some(matcherOf([pattern])));
  if (lost.length === 0) return;
  const families = types.flatMap((type) => {
    const words = type.split('.');
    return words.slice(1).map((_, index) => `${words.slice(0, index + 1).join('.')}.#`);
  });
  const known = [...new Set([...families, ...types])];
  const texts = lost.map(
    (pattern) => `No event type matches ${pattern}. Did you mean ${nearestOf(pattern, known) ?? '#, which is all'}?`,
  );
  throw new AnnealError('InvalidRequest', `${texts.join(' ')} docs/reference/events.md lists the types.`);
}
