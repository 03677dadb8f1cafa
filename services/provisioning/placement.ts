/** Which node a server gets. Pure: the caller claims in the order given, and asks again when it loses. */
import type { NodeDocument } from './node-document.ts';

export type Candidate = Pick<
  NodeDocument,
  'id' | 'name' | 'state' | 'resource_class' | 'traits' | 'power' | 'maintenance' | 'fault' | 'instance_id' | 'work'
>;

export interface Wish {
  /** Nova's flavor; stands for a resource class. */
  readonly flavor: string;
  readonly traits: readonly string[];
}

export type Placement =
  | { readonly nodes: readonly Candidate[] }
  | { readonly nodes: readonly []; readonly why: string };

/**
 * A flavor fits nodes of the class with its name; where there is no such class, it fits the class `baremetal`, so that
 * templates written for other clouds find machines.
 */
export function classFor(flavor: string, all: readonly Pick<Candidate, 'resource_class'>[]): string {
  return all.some((node) => node.resource_class === flavor) ? flavor : 'baremetal';
}

export function place(wish: Wish, all: readonly Candidate[]): Placement {
  const wanted = classFor(wish.flavor, all);
  const filters: readonly { readonly what: string; readonly keep: (node: Candidate) => boolean }[] = [
    { what: `of resource class ${wanted} (flavor ${wish.flavor})`, keep: (node) => node.resource_class === wanted },
    {
      what: `with the traits ${wish.traits.join(', ')}`,
      keep: (node) => wish.traits.every((trait) => node.traits.includes(trait)),
    },
    { what: 'out of maintenance', keep: (node) => !node.maintenance },
    { what: 'without a fault', keep: (node) => node.fault === null },
    { what: 'in the state available', keep: (node) => node.state === 'available' && node.work === null },
    { what: 'unclaimed', keep: (node) => node.instance_id === null },
    { what: 'whose power is known', keep: (node) => node.power !== null },
  ];
  let left = all;
  if (left.length === 0) return { nodes: [], why: 'no node is enrolled' };
  for (const { what, keep } of filters) {
    const kept = left.filter(keep);
    if (kept.length === 0) {
      return {
        nodes: [],
        why: `none of ${left.length} node${left.length === 1 ? '' : 's'} is ${what} (${spread(left)})`,
      };
    }
    left = kept;
  }
  // A machine that is off starts from nothing; one that is on has to be turned off first.
  return { nodes: [...left].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1)) };
}

const rank = (node: Candidate): number => (node.power === 'power off' ? 0 : 1);

/** E.g. `3 active, 2 cleaning`: what those that were left out are at. */
function spread(nodes: readonly Candidate[]): string {
  const counts = new Map<string, number>();
  for (const node of nodes) counts.set(node.state, (counts.get(node.state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(', ');
}
