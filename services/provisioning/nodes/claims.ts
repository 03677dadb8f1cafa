/** Opens the collection of nodes. Documents of older versions, which have no claims, get their claims first. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import { DuplicateError, type Collection } from '@anneal/store/port.ts';
import { claimsOf, identityIn, type Claims } from './identity.ts';
import { nodesDefinition, unclaimedDefinition, type NodeDocument } from './document.ts';
import { identityFault } from './faults.ts';

type Older = Omit<NodeDocument, 'claims'> & { readonly claims?: Claims };

export async function openNodes(context: ServiceContext): Promise<Collection<NodeDocument>> {
  const { store } = context;
  try {
    return await claimAll(context, await store.collection<NodeDocument>(nodesDefinition));
  } catch (error) {
    // Documents without claims have equal (absent) claims, so a unique index over them cannot be created.
    if (!(error instanceof AnnealError && error.code === 'Conflict')) throw error;
    await claimAll(context, await store.collection<NodeDocument>(unclaimedDefinition));
    return store.collection<NodeDocument>(nodesDefinition);
  }
}

/**
 * Assigns claims. When two nodes are one machine, the node with a server keeps it, else the older one. The other is
 * faulty.
 */
async function claimAll(context: ServiceContext, nodes: Collection<NodeDocument>): Promise<Collection<NodeDocument>> {
  const all = (await nodes.find({ where: {}, orderBy: ['name'] })) as Older[];
  const older = all.filter((node) => node.claims === undefined);
  if (older.length === 0) return nodes;
  const taken = new Set(all.flatMap(({ claims }) => (claims ? [claims.given, claims.place, claims.machine] : [])));
  const inOrder = older.toSorted(
    (a, b) => Number(a.instance_id === null) - Number(b.instance_id === null) || (a.created_at < b.created_at ? -1 : 1),
  );
  for (const node of inOrder) await claim(context, nodes, { node, taken });
  return nodes;
}

async function claim(
  context: ServiceContext,
  nodes: Collection<NodeDocument>,
  { node, taken }: { node: Older; taken: Set<string> },
): Promise<void> {
  const { version, ...draft } = node;
  const { properties } = node;
  const seen = {
    UUID: properties['system_uuid'],
    SerialNumber: properties['serial_number'],
    Manufacturer: properties['manufacturer'],
    Model: properties['model'],
  };
  const path = node.system_id?.startsWith('/') ? node.system_id : null;
  const known = 'inspected_at' in properties ? identityIn(seen, path) : null;
  const claims = claimsOf({ ...node, identity: known });
  const isTwin = [claims.given, claims.place, claims.machine].some((value) => taken.has(value));
  const own = `node:${node.id}`;
  const given = isTwin ? { given: own, place: own, machine: own, serial: null } : claims;
  const twin = { fault: identityFault, fault_since: context.now().toISOString() };
  try {
    await nodes.replace(
      { ...draft, verify_ca: null, identity: known, foreign: null, claims: given, ...(isTwin && twin) },
      version,
    );
  } catch (error) {
    // Another replica wrote the same claims meanwhile.
    if (!(error instanceof DuplicateError)) throw error;
  }
  for (const value of Object.values(given)) if (value !== null) taken.add(value);
  if (isTwin)
    context.log.error(
      { node: node.name },
      'the node is the same machine as another one; it has a fault until it is removed',
    );
}
