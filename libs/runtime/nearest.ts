/** The known name that a mistyped one probably means. */
import { closest, distance } from 'fastest-levenshtein';

/** Undefined when each known name differs in more than half of the letters: such a hint only misleads. */
export function nearestOf(name: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined;
  const given = name.slice(0, 300);
  const nearest = closest(given, known);
  return distance(given, nearest) <= Math.max(2, Math.floor(given.length / 2)) ? nearest : undefined;
}
