/** Bare-metal ports: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';

export const ironicTypes: ResourceType[] = [
  {
    type: 'OS::Ironic::Port',
    properties: {
      node: {
        type: 'String',
        required: true,
        update_allowed: true,
        constraints: [{ custom_constraint: 'ironic.node' }],
      },
      address: { type: 'String', required: true, update_allowed: true },
      portgroup: { type: 'String', update_allowed: true, constraints: [{ custom_constraint: 'ironic.portgroup' }] },
      local_link_connection: { type: 'Map', update_allowed: true },
      pxe_enabled: { type: 'Boolean', update_allowed: true },
      physical_network: { type: 'String', update_allowed: true },
      extra: { type: 'Map', update_allowed: true },
      is_smartnic: { type: 'Boolean', update_allowed: true },
    },
    attributes: {
      address: { type: 'String' },
      node_uuid: { type: 'String' },
      portgroup_uuid: { type: 'String' },
      local_link_connection: { type: 'Map' },
      pxe_enabled: { type: 'Boolean' },
      physical_network: { type: 'String' },
      internal_info: { type: 'Map' },
      extra: { type: 'Map' },
      is_smartnic: { type: 'Boolean' },
    },
  },
];
