/**
 * The nodes that the MAC addresses of ports belong to, because a lookup by address must find one machine.
 *
 * C1 A port belongs to one node. The first that shows or declares the address keeps it, until that node is removed or
 *    no longer has it. Controllers of one model may all report the same address for a shared USB interface.
 * C2 The interface of the second node stays in its inventory. `not_a_port` says why, and a condition of the node names
 *    the first. An inspection looks again.
 */
import type { Condition } from '@anneal/contracts/calls/stacks.ts';
import { nicsIn } from '@anneal/contracts/inventory.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { BulkOperation, Collection, Document } from '@anneal/store/port.ts';
import { macOf } from '../bmc/declared-properties.ts';
import { withoutWarning, withWarning, type NodeDocument } from '../documents/node.ts';
import type { NodeRecords } from '../documents/records.ts';
import { assetsDefinition, uniqueKeyOf } from './rules.ts';

/** `id` is the address. */
interface PortClaim extends Document {
  readonly node_id: string;
  readonly claimed_at: number;
}

/** A port that an operator declared as an asset. */
interface DeclaredPort extends Document {
  readonly key: string;
  readonly node_id: string | null;
}

/** The type of the condition of a node that shows an address of another one. */
export const portsCondition = 'PortsOwn';

/** An inspection writes its node after its claims. A claim that its node does not show after this time has no owner. */
const unwrittenMs = 600_000;

type Named = Pick<NodeDocument, 'id' | 'name'>;

export class PortClaims {
  readonly #context: Pick<ServiceContext, 'now'>;
  readonly #claims: Collection<PortClaim>;
  readonly #assets: Collection<DeclaredPort>;
  readonly #records: NodeRecords;

  private constructor(options: {
    context: Pick<ServiceContext, 'now'>;
    claims: Collection<PortClaim>;
    assets: Collection<DeclaredPort>;
    records: NodeRecords;
  }) {
    this.#context = options.context;
    this.#claims = options.claims;
    this.#assets = options.assets;
    this.#records = options.records;
  }

  /** Claims the ports of the nodes of older versions first. */
  static async open(context: ServiceContext, records: NodeRecords): Promise<PortClaims> {
    const claims = await context.store.collection<PortClaim>({
      name: 'provisioning_port_claims',
      indexes: [{ fields: ['node_id'] }],
    });
    const assets = await context.store.collection<DeclaredPort>(assetsDefinition);
    const opened = new PortClaims({ context, claims, assets, records });
    if ((await claims.count({})) === 0)
      for await (const page of records.pages())
        for (const { id, properties } of page) if (nicsIn(properties).length > 0) await opened.settle(id);
    return opened;
  }

  /** The node that has the port with this address. */
  async holder(mac: string): Promise<NodeDocument | undefined> {
    const claim = await this.#claims.get(mac);
    return claim && this.#holderOf(claim);
  }

  /** The properties of a node with C2, and the condition of the node, after claiming its addresses. */
  async claimed(node: Named, properties: JsonObject): Promise<{ properties: JsonObject; warning?: Condition }> {
    const nics = nicsIn(properties);
    const wanted = [...new Set(nics.flatMap((nic) => macOf(nic) ?? []))];
    const taken = new Map<string, NodeDocument>();
    for (const mac of wanted) {
      const other = await this.#claim(mac, node.id);
      if (other) taken.set(mac, other);
    }
    await this.#release(node.id, new Set(wanted));
    const seen = new Map<string, string>();
    const interfaces = nics.map((nic) => marked(nic, { taken, seen }));
    const settled = nics.length === 0 ? properties : { ...properties, interfaces };
    const shared = [...taken].map(([mac, { name }]) => `${mac} is a port of node ${name}`);
    if (shared.length === 0) return { properties: settled };
    const message = `Interfaces of this node have addresses of other nodes, so they are no ports of it: ${shared.join('; ')}. Remove the address from the node that does not have it, or leave it: a shared interface of a controller needs no port.`;
    const since = this.#context.now().toISOString();
    return {
      properties: settled,
      warning: { type: portsCondition, status: 'False', reason: 'SharedAddress', message, since },
    };
  }

  /** Writes C2 into a node whose declaration has changed. Returns the node when that changed it. */
  async settle(id: string): Promise<NodeDocument | undefined> {
    const node = await this.#records.get(id);
    if (!node) return undefined;
    const { properties, warning } = await this.claimed(node, node.properties);
    const before = JSON.stringify([node.properties, node.warnings ?? []]);
    return this.#records.change(id, (current) => {
      // A later writer of the properties settles them itself.
      if (JSON.stringify(current.properties) !== JSON.stringify(node.properties)) return undefined;
      const warnings = warning ? withWarning(current, warning) : withoutWarning(current, portsCondition);
      return JSON.stringify([properties, warnings]) === before ? undefined : { properties, warnings };
    });
  }

  /** Releases the addresses of a node that was removed. */
  forget(nodeId: string): Promise<void> {
    return this.#release(nodeId, new Set());
  }

  /** Claims an address. Returns the other node that has it. */
  async #claim(mac: string, nodeId: string): Promise<NodeDocument | undefined> {
    const declared = await this.#declaredBy(mac);
    if (declared && declared.id !== nodeId) return declared;
    for (;;) {
      const own = { id: mac, node_id: nodeId, claimed_at: this.#context.now().getTime() };
      const known = await this.#claims.get(mac);
      if (known?.node_id === nodeId) return undefined;
      if (known) {
        const holder = await this.#holderOf(known);
        if (holder) return holder;
        if (await this.#claims.replace(own, known.version)) return undefined;
      } else if ((await this.#claims.bulk([{ kind: 'insert', document: own }]))[0] === 'done') {
        return undefined;
      }
      // Another process was first.
    }
  }

  /** The node that an operator declared a port for, as an asset. */
  async #declaredBy(mac: string): Promise<NodeDocument | undefined> {
    const key = uniqueKeyOf('port', { address: mac }) ?? '';
    const [port] = await this.#assets.find({ where: { key }, limit: 1 });
    return typeof port?.node_id === 'string' ? this.#records.get(port.node_id) : undefined;
  }

  /** The node of a claim. Undefined when it was removed, or does not have the address. */
  async #holderOf({ id: mac, node_id, claimed_at }: PortClaim): Promise<NodeDocument | undefined> {
    const node = await this.#records.get(node_id);
    if (!node) return undefined;
    const isShown = nicsIn(node.properties).some((nic) => macOf(nic) === mac);
    return isShown || this.#context.now().getTime() < claimed_at + unwrittenMs ? node : undefined;
  }

  async #release(nodeId: string, kept: ReadonlySet<string>): Promise<void> {
    const claims = await this.#claims.find({ where: { node_id: nodeId } });
    const removals = claims
      .filter(({ id }) => !kept.has(id))
      .map(({ id, version }): BulkOperation<PortClaim> => ({ kind: 'remove', id, version }));
    if (removals.length > 0) await this.#claims.bulk(removals);
  }
}

/** The interface with the reason why it is no port, or without an earlier one. */
function marked(
  nic: JsonObject,
  { taken, seen }: { taken: ReadonlyMap<string, NodeDocument>; seen: Map<string, string> },
): JsonObject {
  const mac = macOf(nic);
  if (mac === undefined) return nic;
  const { not_a_port: _earlier, ...free } = nic;
  const other = taken.get(mac);
  if (other) return { ...free, not_a_port: `its address is a port of node ${other.name}` };
  const twin = seen.get(mac);
  if (twin !== undefined) return { ...free, not_a_port: `its address is a port already: that of interface ${twin}` };
  seen.set(mac, typeof nic['name'] === 'string' ? nic['name'] : mac);
  return free;
}
