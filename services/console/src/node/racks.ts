/** Nodes by power domain and rack, as placement counts them. Pure. */
import { byNaturalOrder } from '@anneal/contracts/natural-order.ts';
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { toneOf, type Tone } from '@anneal/client/text/tone.ts';

export interface Rack {
  /** Empty for the nodes that declare no rack. */
  readonly name: string;
  readonly nodes: readonly NodeRepresentation[];
}
export interface PowerDomain {
  /** Empty for the nodes that declare none. */
  readonly name: string;
  readonly racks: readonly Rack[];
}

/** The name of a node, or its id when it has none. */
export const nameOfNode = ({ name, uuid }: NodeRepresentation): string => name ?? uuid;

/** A property that says where the node is; empty when the operator declared none. */
export function propertyOf(node: NodeRepresentation, property: 'rack' | 'power_domain'): string {
  const properties = node['properties'] as Json | undefined;
  const value = properties !== undefined && isObject(properties) ? properties[property] : undefined;
  return typeof value === 'string' ? value : '';
}

/** The worst that is known about a node decides: a fault, then maintenance, then its state. */
export function toneOfNode({ fault, maintenance, provision_state: state }: NodeRepresentation): Tone {
  if (fault !== null) return 'failed';
  const tone = toneOf(state ?? '');
  if (tone === 'failed') return 'failed';
  if (maintenance) return 'wait';
  return state === 'available' ? 'idle' : tone;
}

/** The meaning of each tone, for the legend. */
export const toneMeanings: readonly (readonly [Tone, string])[] = [
  ['failed', 'fault or failed'],
  ['wait', 'waits for a person'],
  ['busy', 'in progress'],
  ['done', 'in use'],
  ['idle', 'free'],
];

/** How many nodes have each tone. */
export function tonesOf(nodes: readonly NodeRepresentation[]): ReadonlyMap<Tone, number> {
  const counts = new Map<Tone, number>();
  for (const node of nodes) counts.set(toneOfNode(node), (counts.get(toneOfNode(node)) ?? 0) + 1);
  return counts;
}

/** By name, `r2` before `r10`. What has no name comes last. */
const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  Number(a.name === '') - Number(b.name === '') || byNaturalOrder(a.name, b.name);

/** A rack that two power domains feed is in both, each with the nodes that it feeds. */
export const powerDomainsOf = (nodes: readonly NodeRepresentation[]): readonly PowerDomain[] =>
  [...Map.groupBy(nodes, (node) => propertyOf(node, 'power_domain'))]
    .map(([name, inside]) => ({
      name,
      racks: [...Map.groupBy(inside, (node) => propertyOf(node, 'rack'))]
        .map(([rack, own]) => ({
          name: rack,
          nodes: own.toSorted((a, b) => byNaturalOrder(nameOfNode(a), nameOfNode(b))),
        }))
        .toSorted(byName),
    }))
    .toSorted(byName);
