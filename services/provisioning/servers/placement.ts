/** Ranks the nodes for a server. Pure: the caller claims in this order, and asks again when it loses. */
import type { SchedulerHints } from '@anneal/hot/types/scheduler-hints.ts';
import { capabilitiesOf } from '../nodes/bmc/declared-properties.ts';
import type { NodeDocument } from '../nodes/document.ts';

export type CandidateNode = Pick<
  NodeDocument,
  | 'id'
  | 'name'
  | 'state'
  | 'resource_class'
  | 'traits'
  | 'properties'
  | 'power'
  | 'maintenance'
  | 'fault'
  | 'instance_id'
  | 'work'
>;

/** Flavor to resource class, for flavors that are not the name of a class. */
export type Flavors = Readonly<Record<string, string>>;

export interface PlacementRequest extends Pick<SchedulerHints, 'traits' | 'capabilities' | 'node'> {
  /** Nova's flavor. */
  readonly flavor: string;
}

export type Placement =
  | { readonly nodes: readonly CandidateNode[] }
  | { readonly nodes: readonly []; readonly why: string };

/** A flavor names the resource class of its nodes, or an entry of the setting that maps flavors to classes. */
export function classFor(
  flavor: string,
  { all, flavors }: { all: readonly Pick<CandidateNode, 'resource_class'>[]; flavors: Flavors },
): string {
  const isClass = all.some((node) => node.resource_class === flavor);
  return isClass || !Object.hasOwn(flavors, flavor) ? flavor : (flavors[flavor] ?? flavor);
}

interface Filter {
  readonly what: string;
  readonly keep: (node: CandidateNode) => boolean;
  /** Requested by the server, so always named. Other filters are named only when they exclude a node. */
  readonly wished?: true;
}

export function place(
  wish: PlacementRequest,
  { all, flavors }: { all: readonly CandidateNode[]; flavors: Flavors },
): Placement {
  if (all.length === 0) return { nodes: [], why: 'no node is enrolled' };
  const filters = filtersOf(wish, classFor(wish.flavor, { all, flavors }));
  const fit = all.filter((node) => filters.every(({ keep }) => keep(node)));
  if (fit.length === 0) return { nodes: [], why: whyNone(filters, all) };
  // Prefer machines that are off, because a machine that is on must be turned off first.
  return { nodes: fit.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1)) };
}

function filtersOf(wish: PlacementRequest, wanted: string): Filter[] {
  const { flavor, traits, node: named } = wish;
  const capabilities = Object.entries(wish.capabilities);
  const wished = true;
  return [
    {
      what: wanted === flavor ? `resource class ${wanted}` : `resource class ${wanted} (flavor ${flavor})`,
      keep: (node) => node.resource_class === wanted,
      wished,
    },
    ...traits.map((trait): Filter => ({
      what: `trait ${trait}`,
      keep: (node) => node.traits.includes(trait),
      wished,
    })),
    ...capabilities.map(([name, value]): Filter => ({
      what: `capability ${name}:${value}`,
      keep: (node) => capabilitiesOf(node.properties)[name] === value,
      wished,
    })),
    ...(named === undefined
      ? []
      : [
          {
            what: `node ${named}`,
            keep: (node: CandidateNode) =>
              node.name === named || node.id === named || capabilitiesOf(node.properties)['node'] === named,
            wished,
          } as const,
        ]),
    { what: 'not in maintenance', keep: (node) => !node.maintenance },
    { what: 'without a fault', keep: (node) => node.fault === null },
    { what: 'in the state available', keep: (node) => node.state === 'available' && node.work === null },
    { what: 'unclaimed', keep: (node) => node.instance_id === null },
    { what: 'with known power', keep: (node) => node.power !== null },
  ];
}

/**
 * E.g. `none of 4 nodes fits: resource class gpu 1 of 4, trait CUSTOM_A 0 of 4, in the state available 3 of 4 (1
 * active)`.
 */
function whyNone(filters: readonly Filter[], all: readonly CandidateNode[]): string {
  const parts = filters.flatMap(({ what, keep, wished }) => {
    const out = all.filter((node) => !keep(node));
    if (out.length === 0 && !wished) return [];
    const states = what === 'in the state available' ? ` (${count(out.map(({ state }) => state))})` : '';
    const classes = what.startsWith('resource class') && out.length === all.length;
    const known = classes ? ` (enrolled: ${count(all.map((node) => node.resource_class))})` : '';
    return [`${what} ${all.length - out.length} of ${all.length}${states}${known}`];
  });
  return `none of ${all.length} node${all.length === 1 ? '' : 's'} fits: ${parts.join(', ')}`;
}

const rank = (node: CandidateNode): number => (node.power === 'power off' ? 0 : 1);

/** E.g. `3 active, 2 cleaning`. */
function count(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, many]) => `${many} ${name}`).join(', ');
}
