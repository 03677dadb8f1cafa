/** Which members leave when a group shrinks. Pure. */
import type { VictimOrder } from '@anneal/contracts/calls/scaling.ts';

export interface Candidate {
  readonly name: string;
  readonly created_at: string;
  readonly failed: boolean;
  /** Its host is silent, or an operator marked it as unhealthy. */
  readonly unhealthy?: boolean;
}

/**
 * The members in the order in which they leave, without the protected ones. Failed members leave first in every order,
 * as in Heat: `unhealthy` puts those with a silent host next.
 */
export function victimsIn(
  order: VictimOrder,
  { members, safe }: { members: readonly Candidate[]; safe: ReadonlySet<string> },
): string[] {
  const rank = ({ failed, unhealthy }: Candidate): number => {
    if (failed) return 0;
    return order === 'unhealthy' && unhealthy === true ? 1 : 2;
  };
  const byAge = (a: Candidate, b: Candidate): number => {
    const older = `${a.created_at} ${a.name}` < `${b.created_at} ${b.name}` ? -1 : 1;
    return order === 'newest' ? -older : older;
  };
  return members
    .filter(({ name }) => !safe.has(name))
    .toSorted((a, b) => rank(a) - rank(b) || byAge(a, b))
    .map(({ name }) => name);
}
