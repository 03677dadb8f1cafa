/** The ports that an inspection found or the properties of a node declare, beside those that operators declared. */
import { nodeList, nodeShow, type NodeView } from '@anneal/contracts/calls/provisioning.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { portId } from '@anneal/contracts/port-id.ts';
import type { FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import type { ListItem } from './collection.ts';
import { ironicLinks } from './node-view.ts';

/** The interfaces among the properties of a node. */
export const nicsIn = ({ interfaces }: { interfaces?: Json | undefined }): JsonObject[] =>
  Array.isArray(interfaces) ? interfaces.filter(isObject) : [];

/** The ports of all nodes, or of one. */
export async function inspectedPorts(
  ask: Ask,
  request: FastifyRequest,
  { node, address }: { node?: string | undefined; address?: string | undefined },
): Promise<ListItem[]> {
  const base = baseUrl(request);
  const mac = address?.toLowerCase();
  const nodes = node === undefined ? await allNodes(ask) : [await ask('provisioning', nodeShow, { data: { node } })];
  return nodes.flatMap((each) => portsOf(base, each)).filter((port) => mac === undefined || port['address'] === mac);
}

export async function inspectedPort(ask: Ask, request: FastifyRequest, id: string): Promise<ListItem | undefined> {
  return (await inspectedPorts(ask, request, {})).find(({ uuid }) => uuid === id);
}

/** All nodes, page by page. */
export async function allNodes(ask: Ask): Promise<NodeView[]> {
  const found: NodeView[] = [];
  for (let marker: string | undefined; ;) {
    const data = { limit: 1000, ...(marker !== undefined && { marker }) };
    const { nodes } = await ask('provisioning', nodeList, { data });
    found.push(...nodes);
    marker = nodes.at(-1)?.id;
    if (nodes.length < 1000) return found;
  }
}

function portsOf(base: string, node: NodeView): ListItem[] {
  return nicsIn(node.properties).flatMap((nic) => {
    const { mac_address: mac, name, network } = nic;
    if (typeof mac !== 'string' || mac === '') return [];
    const uuid = portId(node.id, mac);
    const port = isObject(nic['port']) ? nic['port'] : {};
    return [
      {
        uuid,
        address: mac.toLowerCase(),
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
