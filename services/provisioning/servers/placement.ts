/** Ranks the nodes for a server. Pure: the caller claims in this order, and asks again when it loses. */
import type { SchedulerHints } from '@anneal/hot/types/scheduler-hints.ts';
import { capabilitiesOf, diskBytesOf } from '../bmc/declared-properties.ts';
import { hasMachine } from '../fake/machine.ts';
import { isSuspected } from '../documents/suspicion.ts';
import type { NodeDocument } from '../documents/node.ts';
import { ruleAllows, domainIn, preference, ruleText, type PlaceRule } from '../nodes/slots/place-rule.ts';

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
  | 'retired'
  | 'lessee'
  | 'origin'
  | 'driver'
  | 'losses'
  | 'quarantined'
>;

/** Flavor to resource class, for flavors that are not the name of a class. */
export type Flavors = Readonly<Record<string, string>>;

export interface PlacementRequest extends Pick<SchedulerHints, 'traits' | 'capabilities' | 'node'> {
  /** Nova's flavor. */
  readonly flavor: string;
  /** The project of the server. A leased node serves only its lessee. */
  readonly project: string;
  /** The availability zone, or empty for any. */
  readonly zone: string;
  /** The id of the stack at the top of the tree of the server. Its servers are spread over racks and power domains. */
  readonly root: string | null;
  /** The server group, with the places of its other servers. */
  readonly rule?: PlaceRule | undefined;
  /** The image that the machine writes. Undefined: it writes none, or the content is not known. */
  readonly image?: { readonly name: string; readonly size: number } | undefined;
  /** Also nodes that have no machine. */
  readonly anyDriver?: boolean;
  /** Ids of nodes on which this server failed before. */
  readonly tried?: readonly string[];
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
  return { nodes: inOrder(fit, { wish, all }) };
}

/**
 * Machines that died lately last; then the wish of the server group, then few servers of the same stack in the rack and in the power domain, then few
 * servers at all, then machines that are off, because a machine that is on must be turned off first.
 */
function inOrder(
  fit: readonly CandidateNode[],
  { wish, all }: { wish: PlacementRequest; all: readonly CandidateNode[] },
): CandidateNode[] {
  const used = all.filter(({ instance_id }) => instance_id !== null);
  const related = used.filter(({ origin }) => wish.root !== null && origin?.root?.stack_id === wish.root);
  const isTogether = wish.rule?.policy === 'affinity' || wish.rule?.policy === 'soft-affinity';
  const roomIn = isTogether ? countBy(fit, (node) => domainIn(node, wish.rule?.domain ?? 'rack')) : undefined;
  const spread = isTogether
    ? []
    : ([
        [countBy(related, (node) => domainIn(node, 'rack')), 'rack'],
        [countBy(related, (node) => domainIn(node, 'power_domain')), 'power_domain'],
        [countBy(used, (node) => domainIn(node, 'rack')), 'rack'],
      ] as const);
  const keyed = fit.map((node) => ({
    node,
    key: [
      isSuspected(node) ? 1 : 0,
      wish.rule ? -preference(wish.rule, domainIn(node, wish.rule.domain)) : 0,
      // A group that stays together begins where most of its servers have room.
      roomIn ? -(roomIn.get(domainIn(node, wish.rule?.domain ?? 'rack')) ?? 0) : 0,
      ...spread.map(([counts, domain]) => counts.get(domainIn(node, domain)) ?? 0),
      node.power === 'power off' ? 0 : 1,
    ],
  }));
  keyed.sort((a, b) => compare(a.key, b.key) || (a.node.name < b.node.name ? -1 : 1));
  return keyed.map(({ node }) => node);
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [at, value] of a.entries()) {
    const difference = value - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function countBy(nodes: readonly CandidateNode[], key: (node: CandidateNode) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const node of nodes) counts.set(key(node), (counts.get(key(node)) ?? 0) + 1);
  return counts;
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
    ...(wish.zone === ''
      ? []
      : [
          {
            what: `availability zone ${wish.zone}`,
            keep: (node: CandidateNode) => domainIn(node, 'availability_zone') === wish.zone,
            wished,
          } as const,
        ]),
    ...(wish.rule === undefined ? [] : [ruleFilter(wish.rule)]),
    ...(wish.image === undefined ? [] : [diskFilter(wish.image)]),
    {
      what: 'not tried before by this server',
      keep: (node) => wish.tried?.includes(node.id) !== true,
    },
    {
      what: `leased to no other project than ${wish.project}`,
      keep: (node) => (node.lessee ?? wish.project) === wish.project,
    },
    { what: 'with a machine', keep: (node) => wish.anyDriver === true || hasMachine(node) },
    { what: 'not retired', keep: (node) => !node.retired },
    { what: 'not in maintenance', keep: (node) => !node.maintenance },
    { what: 'not in quarantine after losses (anneal node clear-suspect NODE)', keep: (node) => !node.quarantined },
    { what: 'without a fault', keep: (node) => node.fault === null },
    { what: 'in the state available', keep: (node) => node.state === 'available' && node.work === null },
    { what: 'unclaimed', keep: (node) => node.instance_id === null },
    { what: 'with known power', keep: (node) => node.power !== null },
  ];
}

/** All disks together, because a RAID may combine them. The machine itself compares the image with its disk. */
const diskFilter = ({ name, size }: { name: string; size: number }): Filter => ({
  what: `with disks for the ${(size / 2 ** 30).toFixed(1)} GiB of image ${name}`,
  keep: (node) => (diskBytesOf(node.properties) ?? size) >= size,
});

const ruleFilter = (rule: PlaceRule): Filter => ({
  what: `server group ${rule.name} (${ruleText(rule)})`,
  keep: (node) => ruleAllows(rule, domainIn(node, rule.domain)),
  wished: true,
});

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

/** E.g. `3 active, 2 cleaning`. */
function count(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, many]) => `${many} ${name}`).join(', ');
}
