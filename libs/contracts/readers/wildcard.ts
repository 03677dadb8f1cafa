/**
 * Patterns with wildcards: of paths, of names and of topics. A pattern and a text that are made for each other cost as much as
 * any others, length times length, because all places that a text may have reached are followed at once. Pure.
 */

/** A part of a pattern. It fits one item of the text, or with `repeats` any number of them, also none. */
export interface WildPart<T> {
  readonly fits: (item: T) => boolean;
  readonly repeats: boolean;
}

/** Whether the whole text fits the whole pattern. */
export function fitsWildcards<T>(pattern: readonly WildPart<T>[], text: Iterable<T>): boolean {
  /** The number of items after which each place was last reached. */
  const since = new Int32Array(pattern.length + 1).fill(-1);
  let reached: number[] = [];
  /** Adds a place of the pattern, and those behind it that need no item. */
  const reach = (places: number[], from: number, count: number): void => {
    for (let place = from; since[place] !== count; place += 1) {
      since[place] = count;
      places.push(place);
      if (pattern[place]?.repeats !== true) return;
    }
  };
  reach(reached, 0, 0);
  let count = 0;
  for (const item of text) {
    count += 1;
    const next: number[] = [];
    for (const place of reached) {
      const part = pattern[place];
      if (part?.fits(item) === true) reach(next, part.repeats ? place : place + 1, count);
    }
    if (next.length === 0) return false;
    reached = next;
  }
  return since[pattern.length] === count;
}

/** The parts of a text that has no wildcard: each fits one character. */
export const plainParts = (text: string): WildPart<string>[] =>
  Array.from(text, (character) => ({ fits: (item) => item === character, repeats: false }));
