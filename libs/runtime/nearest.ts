/** The known name that a mistyped one probably means. */
import { closest } from 'fastest-levenshtein';

/** Undefined when no name is known. */
export const nearestOf = (name: string, known: readonly string[]): string | undefined =>
  known.length === 0 ? undefined : closest(name.slice(0, 300), known);
