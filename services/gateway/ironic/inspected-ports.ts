/** The ports that an inspection found or the properties of a node declare, beside those that operators declared. */
import type { NodeView } from '@anneal/contracts/calls/nodes.ts';
import { nicsIn, portAddressOf } from '@anneal/contracts/inventory.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { portId } from '@anneal/contracts/port-id.ts';
import { readMac } from '@anneal/contracts/readers/mac.ts';
import type { FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import type { ListItem } from './collection.ts';
import { showNode } from './node-path.ts';
import { ironicLinks } from './node-view.ts';
import { fromAllNodes } from './nodes-in-parts.ts';

/** The ports of all nodes, or of one. */
export async function inspectedPorts(
  ask: Ask,
  request: FastifyRequest,
  { node, address }: { node?: string | undefined; address?: string | undefined },
): Promise<ListItem[]> {
  const base = baseUrl(request);
  const mac = address === undefined ? undefined : (readMac(address) ?? address);
  const of = (each: NodeView): ListItem[] =>
    portsOf(base, each).filter((port) => mac === undefined || port['address'] === mac);
  return node === undefined ? fromAllNodes(ask, of) : of(await showNode(ask, node));
}

export async function inspectedPort(ask: Ask, request: FastifyRequest, id: string): Promise<ListItem | undefined> {
  return (await inspectedPorts(ask, request, {})).find(({ uuid }) => uuid === id);
}

function portsOf(base: string, node: NodeView): ListItem[] {
  return nicsIn(node.properties).flatMap((nic) => {
    const { name, network } = nic;
    const mac = portAddressOf(nic);
    if (mac === undefined) return [];
    const uuid = portId(node.id, mac);
    const port = isObject(nic['port']) ? nic['port'] : {};
    return [
      {
        uuid,
        address: mac,
        node_uuid: node.id,
        name: null,
        physical_network: typeof network === 'string' ? network : null,
        pxe_enabled: port['pxe_enabled'] ?? true,
        extra: { ...(typeof name === 'string' && { interface: name }), ...(isObject(port['extra']) && port['extra']) },
        internal_info: {},
        local_link_connection: port['local_link_connection'] ?? {},
        is_smartnic: port['is_smartnic'] ?? false,
        portgroup_uuid: null,
        created_at: null,
        updated_at: null,
        links: ironicLinks(base, `ports/${uuid}`),
      },
    ];
  });
}
