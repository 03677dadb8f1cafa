/** Ports of bare metal: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, map, resourceType, string } from '../schema.ts';

/** Their schemas, which an offline check uses. */
export const ironicTypes: ResourceType[] = [
  resourceType(
    'OS::Ironic::Port',
    {
      node: string({ required: true, update_allowed: true, constraints: checked('ironic.node') }),
      address: string({ required: true, update_allowed: true }),
      portgroup: string({ update_allowed: true, constraints: checked('ironic.portgroup') }),
      local_link_connection: map({ update_allowed: true }),
      pxe_enabled: boolean({ update_allowed: true }),
      physical_network: string({ update_allowed: true }),
      extra: map({ update_allowed: true }),
      is_smartnic: boolean({ update_allowed: true }),
    },
    {
      address: 'String',
      node_uuid: 'String',
      portgroup_uuid: 'String',
      local_link_connection: 'Map',
      pxe_enabled: 'Boolean',
      physical_network: 'String',
      internal_info: 'Map',
      extra: 'Map',
      is_smartnic: 'Boolean',
    },
  ),
];
