/**
 * The description of a host for its metadata service.
 *
 * M1 A source address is known only when an operator declared it for one node. What a template, an agent or a BMC reports
 *    never counts, because they could name the address of another host.
 * M2 An address that two nodes declare is known for none of them.
 * M3 A host is described from the command that boots it until its release begins.
 */
import { normalIp } from '@anneal/contracts/readers/ip.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Instance } from '@anneal/contracts/calls/boot.ts';
import type { NodeState } from '@anneal/contracts/calls/nodes.ts';
import { networkData } from './network-data.ts';
import { nicsOf } from '../bmc/declared-properties.ts';
import type { NodeDocument } from '../documents/node.ts';
import type { NodeRecords } from '../documents/records.ts';
import { objectOf, textOf } from './document.ts';

/** M3. */
const withoutHost: ReadonlySet<NodeState> = new Set(['deleting', 'error', 'cleaning', 'clean failed', 'available']);

/** The nodes by address cost a reading of all nodes. */
const freshMs = 5_000;

export class Instances {
  readonly #records: Pick<NodeRecords, 'all' | 'get' | 'ofInstance'>;
  readonly #now: () => number;
  #nodes: Promise<ReadonlyMap<string, string | null>> | undefined;
  #readAt = -Infinity;

  /** @param options.now milliseconds of a clock that never goes back. */
  constructor({ records, now }: { records: Pick<NodeRecords, 'all' | 'get' | 'ofInstance'>; now: () => number }) {
    this.#records = records;
    this.#now = now;
  }

  /** @throws AnnealError NotFound */
  async show(who: { host_id: string } | { address: string }): Promise<Instance> {
    const node = 'host_id' in who ? await this.#records.ofInstance(who.host_id) : await this.#ofAddress(who.address);
    if (node && node.instance_id !== null && !withoutHost.has(node.state)) return instanceOf(node, node.instance_id);
    throw new AnnealError('NotFound', 'No deployed machine is known by this address.');
  }

  async #ofAddress(address: string): Promise<NodeDocument | undefined> {
    if (this.#nodes === undefined || this.#now() - this.#readAt > freshMs) {
      this.#readAt = this.#now();
      this.#nodes = this.#records.all().then(nodesByAddress, (error: unknown) => {
        this.#nodes = undefined;
        throw error;
      });
    }
    const key = normalIp(address);
    const id = (await this.#nodes).get(key);
    const node = typeof id === 'string' ? await this.#records.get(id) : undefined;
    // An operator may have changed the declaration since.
    return node && declaredAddresses(node).includes(key) ? node : undefined;
  }
}

/** M1. */
const declaredAddresses = ({ declared = {} }: Pick<NodeDocument, 'declared'>): string[] =>
  nicsOf(declared).flatMap(({ addresses }) => addresses.map(normalIp));

/** M2. The id of the node with each address, or null for an address of several nodes. */
function nodesByAddress(nodes: readonly NodeDocument[]): ReadonlyMap<string, string | null> {
  const found = new Map<string, string | null>();
  for (const node of nodes) {
    for (const address of new Set(declaredAddresses(node))) found.set(address, found.has(address) ? null : node.id);
  }
  return found;
}

export function instanceOf(node: NodeDocument, host_id: string): Instance {
  const { instance_info: info, properties, resource_class } = node;
  const { name } = objectOf(properties, 'root_device');
  return {
    host_id,
    hostname: textOf(info, 'name') || node.name,
    project: textOf(info, 'project'),
    user_data: info['user_data'] ?? '',
    metadata: info['metadata'] ?? {},
    image: textOf(info, 'image'),
    resource_class,
    availability_zone: textOf(properties, 'availability_zone') || 'nova',
    architecture: textOf(properties, 'cpu_arch') || null,
    root_device: typeof name === 'string' ? name : null,
    interfaces: nicsOf(properties).flatMap(({ mac_address, network, addresses, prefix, gateway }) =>
      mac_address === undefined
        ? []
        : {
            mac_address,
            network: network ?? null,
            addresses: [...addresses],
            prefix: prefix ?? null,
            gateway: gateway ?? null,
          },
    ),
    network_data: networkData(properties) ?? null,
    since: node.provision_updated_at,
  };
}
