/** How many things need a person: also those that the overview counts and does not list. Pure. */
import type { Overview } from '@anneal/contracts/calls/overview.ts';

export const needCountOf = ({ needs, need_counts: counts }: Overview, kind: string): number =>
  counts?.[kind] ?? needs.filter((need) => need.kind === kind).length;

export const needCount = (overview: Overview): number =>
  ['stack', 'node', 'host', 'dead letters', 'service'].reduce((all, kind) => all + needCountOf(overview, kind), 0);
