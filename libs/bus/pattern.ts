/** Topic patterns as in AMQP, over the words of an event type: `*` is one word, `#` any number of words, also none. */
import { AnnealError } from '@anneal/contracts/errors.ts';

/** True for an event type that matches at least one of the patterns. */
export type Matcher = (type: string) => boolean;

/** Senders choose types, so a matcher remembers a bounded number. */
const mostKnown = 200;

/** @throws AnnealError InvalidRequest for a pattern that cannot be intended, such as `stack.*ed`. */
export function matcherOf(patterns: readonly string[]): Matcher {
  const parsed = patterns.map(parse);
  if (parsed.length === 0) throw new AnnealError('InvalidRequest', 'A subscription needs at least one pattern.');
  // Few types exist, and each comes often.
  const known = new Map<string, boolean>();
  return (type) => {
    const before = known.get(type);
    if (before !== undefined) return before;
    const words = type.split('.');
    const isMatch = parsed.some((pattern) => matches(pattern, words));
    if (known.size >= mostKnown) known.clear();
    known.set(type, isMatch);
    return isMatch;
  };
}

function parse(pattern: string): string[] {
  const words = pattern.split('.');
  for (const word of words) {
    if (word === '' || (word.length > 1 && /[*#]/.test(word))) {
      throw new AnnealError(
        'InvalidRequest',
        `"${pattern}" is not a pattern: single dots separate words, and * and # match whole words.`,
      );
    }
  }
  // A second # after a # matches nothing more, and without it the search below stays linear in practice.
  return words.filter((word, index) => word !== '#' || words[index - 1] !== '#');
}

function matches(pattern: readonly string[], words: readonly string[]): boolean {
  const restMatches = (at: number, from: number): boolean => {
    const word = pattern[at];
    if (word === undefined) return from === words.length;
    if (word === '#') {
      for (let next = from; next <= words.length; next += 1) if (restMatches(at + 1, next)) return true;
      return false;
    }
    return from < words.length && (word === '*' || word === words[from]) && restMatches(at + 1, from + 1);
  };
  return restMatches(0, 0);
}
