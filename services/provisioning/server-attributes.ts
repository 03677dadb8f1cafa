/** What templates may read of a server. Pure. */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { HostAccess } from './hosts.ts';
import type { NodeDocument } from './node-document.ts';

const network = 'baremetal';

/** Agents report `address`, or `addresses`; both forms are understood. */
export function addressesIn(facts: JsonObject): string[] {
  const list = Array.isArray(facts['addresses']) ? facts['addresses'] : [];
  const all = [facts['address'], facts['ip_address'], facts['HOST_ADDRESS'], ...list].flatMap((value) =>
    typeof value === 'string' ? [value] : isObject(value) && typeof value['addr'] === 'string' ? [value['addr']] : [],
  );
  return [...new Set(all.filter((address) => address !== ''))];
}

export function serverAttributes(options: {
  id: string;
  name: string;
  node: Pick<NodeDocument, 'id' | 'name' | 'facts' | 'properties'>;
  metadata: JsonObject;
  tags: Json;
}): JsonObject {
  const { id, name, node, metadata, tags } = options;
  const found = addressesIn(node.facts);
  const mac = firstMac(node.properties);
  const versionOf = (address: string): number => (address.includes(':') ? 6 : 4);
  const addresses = {
    [network]: found.map((addr) => ({
      addr,
      version: versionOf(addr),
      type: 'fixed',
      ...(mac !== undefined && { mac }),
    })),
  };
  return {
    name,
    addresses,
    networks: { [network]: found },
    first_address: found[0] ?? '',
    instance_name: node.name,
    accessIPv4: found.find((address) => versionOf(address) === 4) ?? '',
    accessIPv6: found.find((address) => versionOf(address) === 6) ?? '',
    console_urls: {},
    tags: Array.isArray(tags) ? tags : [],
    os_collect_config: {},
    show: { id, name, status: 'ACTIVE', node: node.name, node_id: node.id, metadata, addresses },
  };
}

function firstMac(properties: JsonObject): string | undefined {
  const interfaces = Array.isArray(properties['interfaces']) ? properties['interfaces'] : [];
  for (const entry of interfaces) {
    if (isObject(entry) && typeof entry['mac_address'] === 'string') return entry['mac_address'];
  }
  return undefined;
}

/** `token` comes in sealed: whoever may only read the stack does not see it. */
export function deployedServerAttributes(options: {
  id: string;
  name: string;
  project: string;
  access: Omit<HostAccess, 'token'>;
  token: Json;
  gatewayUrl: string;
}): JsonObject {
  const { id, name, project, access, token, gatewayUrl } = options;
  return {
    name,
    os_collect_config: {
      collectors: ['zaqar', 'local'],
      zaqar: {
        auth_url: `${gatewayUrl}/identity/v3`,
        user_id: id,
        password: token,
        project_id: project,
        // Zaqar's own client refuses names with a dot; the id of the host is a name of its queue too.
        queue_id: id,
        region_name: '',
      },
    },
    show: { id, name, requests_queue: access.requests_queue, responses_queue: access.responses_queue },
  };
}
