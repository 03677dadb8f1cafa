/** The attributes of a server that templates can read. Pure. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { HostAccess } from '../nodes/states/hosts.ts';
import type { NodeDocument } from '../documents/node.ts';
import { firstAddress, serverAddresses } from './addresses.ts';

export function serverAttributes(options: {
  id: string;
  name: string;
  node: Pick<NodeDocument, 'id' | 'name' | 'facts' | 'properties'>;
  /** The property of the server, open. */
  networks: Json | undefined;
  /** As stored: they may be sealed. */
  metadata: Json;
  tags: Json;
  /** Its secrets are sealed. */
  os_collect_config: JsonObject;
  /** Seals values that reveal a sealed part of the networks. */
  hide: (value: Json) => Json;
}): JsonObject {
  const { id, name, node, metadata, tags, os_collect_config, hide } = options;
  const found = serverAddresses({ networks: options.networks, properties: node.properties, facts: node.facts });
  const addresses = hide(found.addresses);
  return {
    name,
    addresses,
    networks: hide(found.networks),
    first_address: hide(firstAddress(found)),
    instance_name: node.name,
    accessIPv4: hide(firstAddress(found, 4)),
    accessIPv6: hide(firstAddress(found, 6)),
    console_urls: {},
    tags,
    os_collect_config,
    show: { id, name, status: 'ACTIVE', node: node.name, node_id: node.id, metadata, addresses },
  };
}

/** The secrets in `os_collect_config` are sealed, so that a user who may only read the stack does not see them. */
export function deployedServerAttributes(options: {
  id: string;
  name: string;
  access: Pick<HostAccess, 'requests_queue' | 'responses_queue'>;
  os_collect_config: JsonObject;
}): JsonObject {
  const { id, name, access, os_collect_config } = options;
  return {
    name,
    os_collect_config,
    show: { id, name, requests_queue: access.requests_queue, responses_queue: access.responses_queue },
  };
}
