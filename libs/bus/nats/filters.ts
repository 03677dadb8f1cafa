/**
 * AMQP's patterns as subjects of NATS. A pattern without an exact form gets more events, and the rest is dropped here.
 */
import { escapeWords } from './names.ts';

/** Subjects that cover the patterns and do not overlap, which a consumer's filters may not. */
export function filtersFor(patterns: readonly string[], root: string): string[] {
  const subjects = [...new Set(patterns.flatMap((pattern) => subjectsOf(pattern)))];
  const overlap = subjects.some((one, index) => subjects.some((two, other) => other > index && overlaps(one, two)));
  return (overlap ? ['>'] : subjects).map((subject) => root + subject);
}

function subjectsOf(pattern: string): string[] {
  const words = pattern.split('.');
  const hash = words.indexOf('#');
  const written = (upTo: readonly string[]): string =>
    upTo.map((word) => (word === '*' ? '*' : escapeWords(word))).join('.');
  if (hash === -1) return [written(words)];
  const before = words.slice(0, hash);
  if (before.length === 0) return ['>'];
  // `a.#` is also `a`; NATS's `a.>` is not.
  const last = hash === words.length - 1;
  return last ? [written(before), `${written(before)}.>`] : [`${written(before)}.>`];
}

function overlaps(one: string, two: string): boolean {
  const [a, b] = [one.split('.'), two.split('.')];
  for (let at = 0; ; at += 1) {
    const [x, y] = [a[at], b[at]];
    if (x === undefined || y === undefined) return x === y;
    if (x === '>' || y === '>') return true;
    if (x !== '*' && y !== '*' && x !== y) return false;
  }
}
