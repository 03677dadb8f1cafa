/** Rows of a log that grows at its start, the newest first. Pure. */
interface Row {
  readonly id: string;
}

/**
 * The rows that are held, behind those that are newer. Rows that are held apart from the newest ones are left out,
 * because the rows between the two are not known.
 *
 * @param newest the newest rows, whose end may have moved behind rows that are held
 */
export function joinRows<T extends Row>(newest: readonly T[], held: readonly T[]): readonly T[] {
  const [first, last] = [held[0]?.id, held.at(-1)?.id];
  if (first === undefined || newest.some(({ id }) => id === last)) return newest;
  const at = newest.findIndex(({ id }) => id === first);
  return at < 0 ? newest : [...newest.slice(0, at), ...held];
}
