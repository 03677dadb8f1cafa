/** Topic patterns as in AMQP, over the words of an event type: `*` is one word, `#` any number of words, also none. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { fitsWildcards, type WildPart } from '@anneal/contracts/readers/wildcard.ts';

/** True for an event type that matches at least one of the patterns. */
export type Matcher = (type: string) => boolean;

/** Senders choose types, so a matcher remembers a bounded number. */
const mostKnown = 200;

/** @throws AnnealError InvalidRequest for a pattern that cannot be intended, such as `stack.*ed`. */
export function matcherOf(patterns: readonly string[]): Matcher {
  const parsed = patterns.map((pattern) => partsOf(parse(pattern)));
  if (parsed.length === 0) throw new AnnealError('InvalidRequest', 'A subscription needs at least one pattern.');
  // Few types exist, and each comes often.
  const known = new Map<string, boolean>();
  return (type) => {
    const before = known.get(type);
    if (before !== undefined) return before;
    const words = type.split('.');
    const isMatch = parsed.some((pattern) => fitsWildcards(pattern, words));
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
  return words;
}

const partsOf = (pattern: readonly string[]): WildPart<string>[] =>
  pattern.map((word) => ({
    fits: word === '#' || word === '*' ? () => true : (item) => item === word,
    repeats: word === '#',
  }));
