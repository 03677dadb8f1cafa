/** Things that need a person, and their number: also those that the overview counts and does not list. Pure. */
import type { Tone } from '@anneal/client/text/tone.ts';
import { needKinds, type Need, type Overview } from '@anneal/contracts/calls/overview.ts';

export const needCountOf = ({ needs, need_counts: counts }: Overview, kind: Need['kind']): number =>
  counts?.[kind] ?? needs.filter((need) => need.kind === kind).length;

export const needCount = (overview: Overview): number =>
  needKinds.reduce((all, kind) => all + needCountOf(overview, kind), 0);

/** A hook waits for a person, although the state of its stack is in progress. */
export const toneOfWhy = ({ exits }: { readonly exits: readonly string[] }, state: Tone): Tone =>
  state === 'busy' && exits.some((exit) => exit.startsWith('anneal hook clear')) ? 'wait' : state;
