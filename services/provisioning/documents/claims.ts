/**
 * Claims of machines and of instances, for nodes that an older version stored without. Pure.
 *
 * Such a version could enrol two nodes for one machine. The node with a server keeps the machine, else the older one.
 * The other gets a fault, and nothing is done through it until an operator removes it or corrects its address.
 * It could also give one server two nodes. Then the older node has the claim (N3 of `records.ts`), and the other none.
 */
import { toFailure } from '@anneal/contracts/errors.ts';
import { claimsOf, identityIn, type Claims, type Identity, identityFault } from './identity.ts';
import type { NodeDocument, NodeChange } from './node.ts';
import { sameMachine } from './faults.ts';

export type Older = Omit<NodeDocument, 'claims'> & { readonly claims?: Claims };

interface Holder {
  readonly node: Pick<NodeDocument, 'id' | 'name' | 'address' | 'system_id'>;
  readonly claims: Claims;
  readonly uuid: string | null;
}

/** The change of each node without claims. `placeholders`: further values that identify no machine, in lower case. */
export function missingClaims(
  nodes: readonly Older[],
  { placeholders, now }: { placeholders: ReadonlySet<string>; now: string },
): { node: Older; change: NodeChange }[] {
  const holders = nodes.flatMap((node): Holder[] =>
    node.claims ? [{ node, claims: node.claims, uuid: node.identity?.uuid ?? null }] : [],
  );
  const instances = new Set(nodes.map(({ instance_claim: claim }) => claim));
  const older = nodes
    .filter(({ claims, instance_claim: claim }) => claims === undefined || claim === undefined)
    .toSorted(
      (a, b) =>
        Number(a.instance_id === null) - Number(b.instance_id === null) || a.created_at.localeCompare(b.created_at),
    );
  return older.map((node) => {
    const { instance_id } = node;
    const isOwn = node.instance_claim !== undefined || instance_id === null || instances.has(instance_id);
    const instance = isOwn ? {} : { instance_id };
    if (instance_id !== null) instances.add(instance_id);
    if (node.claims) return { node, change: instance };
    const identity = identityOf(node, placeholders);
    const claims = claimsOf({ ...node, identity });
    const uuid = identity?.uuid ?? null;
    const known = { ...instance, identity, foreign: null, verify_ca: node.verify_ca ?? null };
    const holder = holders.find((each) => isSameMachine(each, { node, claims, uuid }));
    if (!holder) {
      holders.push({ node, claims, uuid });
      return { node, change: { ...known, claims } };
    }
    const own = `node:${node.id}`;
    return {
      node,
      change: {
        ...known,
        claims: { given: own, place: own, machine: own, serial: null },
        fault: identityFault,
        fault_since: now,
        last_error: toFailure(sameMachine(node.name, holder.node, identity)),
      },
    };
  });
}

/** I1 of `identity.ts`. */
function isSameMachine(a: Holder, b: Holder): boolean {
  if ((['given', 'place', 'machine'] as const).some((name) => a.claims[name] === b.claims[name])) return true;
  return a.claims.serial !== null && a.claims.serial === b.claims.serial && (a.uuid === null || b.uuid === null);
}

/** The machine that the last inspection found. */
function identityOf({ properties, system_id: path }: Older, placeholders: ReadonlySet<string>): Identity | null {
  if (!('inspected_at' in properties)) return null;
  const seen = {
    UUID: properties['system_uuid'],
    SerialNumber: properties['serial_number'],
    Manufacturer: properties['manufacturer'],
    Model: properties['model'],
  };
  return identityIn(seen, path?.startsWith('/') ? path : null, placeholders);
}
