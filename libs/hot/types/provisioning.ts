/** Types that represent machines. */
import { collectTransports } from '@anneal/contracts/transports.ts';
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { supportedHints } from './scheduler-hints.ts';

/** Nova's policies of server groups. */
export const groupPolicies = ['anti-affinity', 'affinity', 'soft-anti-affinity', 'soft-affinity'] as const;
/** The domains that a policy can count. A node without the property is a domain of its own; without a zone, it is in the zone `nova`. */
export const groupDomains = ['rack', 'power_domain', 'availability_zone', 'node'] as const;

const updatable = (type: PropertySchema['type'], description: string): PropertySchema => ({
  type,
  update_allowed: true,
  description,
});
const text = (description: string): PropertySchema => ({ type: 'String', description });

const configTransport: PropertySchema = {
  type: 'String',
  update_allowed: true,
  description:
    "How os-collect-config on the host receives its configs: sets `os_collect_config`. Anneal's agent ignores it; by default the host pops its queue.",
  constraints: [{ allowed_values: [...collectTransports] }],
};
const swiftData: PropertySchema = {
  ...updatable('Map', 'Without effect: Anneal itself serves the metadata of a host.'),
  default: {},
  schema: {
    container: { ...updatable('String', 'Container in the object store.'), constraints: [{ length: { min: 1 } }] },
    object: { ...updatable('String', 'Object in the container.'), constraints: [{ length: { min: 1 } }] },
  },
};

const portProperties: Record<string, PropertySchema> = {
  admin_state_up: { ...updatable('Boolean', 'Administrative state: true is up.'), default: true },
  allowed_address_pairs: {
    ...updatable('List', 'Additional allowed addresses.'),
    schema: {
      '*': {
        type: 'Map',
        schema: {
          mac_address: { ...text('A hardware address.'), constraints: [{ custom_constraint: 'mac_addr' }] },
          ip_address: {
            ...text('An address or a range.'),
            required: true,
            constraints: [{ custom_constraint: 'ip_or_cidr' }],
          },
        },
      },
    },
  },
  'binding:vnic_type': {
    ...updatable('String', 'Type of the device that it is bound to; `baremetal` for a machine.'),
    default: 'normal',
    constraints: [
      {
        allowed_values: [
          'normal',
          'direct',
          'macvtap',
          'direct-physical',
          'baremetal',
          'virtio-forwarder',
          'smart-nic',
        ],
      },
    ],
  },
  mac_address: { ...text('The hardware address.'), constraints: [{ custom_constraint: 'mac_addr' }] },
  no_fixed_ips: { ...updatable('Boolean', 'True for a port without an address.'), default: false },
  port_security_enabled: updatable('Boolean', 'True when traffic is filtered.'),
  propagate_uplink_status: updatable('Boolean', 'True when the port goes down with its uplink.'),
  qos_policy: {
    ...updatable('String', 'Name or id of a policy.'),
    constraints: [{ custom_constraint: 'neutron.qos_policy' }],
  },
  value_specs: { ...updatable('Map', 'Other values for the network service.'), default: {} },
};

const networks: PropertySchema = {
  ...updatable('List', 'Networks to attach, in order.'),
  schema: {
    '*': {
      type: 'Map',
      schema: {
        network: updatable('String', 'Name or id of a network.'),
        uuid: updatable('String', 'Id of a network; the older name of `network`.'),
        port: updatable('String', 'Name or id of a port.'),
        subnet: updatable('String', 'Name or id of a subnet.'),
        fixed_ip: { ...updatable('String', 'Requested address.'), constraints: [{ custom_constraint: 'ip_addr' }] },
        floating_ip: updatable('String', 'Without effect: there is no network service.'),
        allocate_network: {
          ...updatable('String', 'Attach no network, or any available one.'),
          constraints: [{ allowed_values: ['none', 'auto'] }],
        },
        tag: updatable('String', 'Without effect: no program on the machine gets it.'),
        port_extra_properties: {
          ...updatable('Map', 'Without effect: there is no network service.'),
          schema: portProperties,
        },
      },
    },
  },
};

const blockDevices = (extra: Record<string, PropertySchema>): PropertySchema => ({
  type: 'List',
  description: 'Without effect: a machine has the disks that are in it.',
  schema: {
    '*': {
      type: 'Map',
      schema: {
        device_name: text('The name of the device, e.g. vda.'),
        volume_id: text('Id of a volume.'),
        snapshot_id: text('Id of a snapshot.'),
        delete_on_termination: { type: 'Boolean', description: 'Delete it with the server.' },
        ...extra,
      },
    },
  },
});

const server: ResourceType = {
  type: 'OS::Nova::Server',
  withdraws: true,
  actions: ['adopt', 'check', 'suspend', 'resume'],
  description:
    'A bare-metal machine that is claimed for the stack and deployed. The flavor is the resource class of the node.',
  properties: {
    name: {
      ...updatable(
        'String',
        'Name of the server, at most 255 characters; by default the physical name. The host gets a DNS label of it, by the rule of Nova.',
      ),
      constraints: [{ custom_constraint: 'anneal.server_name' }],
    },
    image: {
      ...updatable('String', 'Image of the machine.'),
      constraints: [{ custom_constraint: 'glance.image' }],
    },
    image_update_policy: {
      ...updatable('String', 'Without effect: a change of image always replaces the server.'),
      default: 'REBUILD',
      constraints: [{ allowed_values: ['REBUILD', 'REPLACE', 'REBUILD_PRESERVE_EPHEMERAL'] }],
    },
    flavor: {
      ...updatable('String', 'The resource class of the node.'),
      required: true,
      constraints: [{ custom_constraint: 'nova.flavor' }],
    },
    flavor_update_policy: {
      ...updatable(
        'String',
        'Without effect: a change of flavor replaces the server when its node does not fit the new one.',
      ),
      default: 'RESIZE',
      constraints: [{ allowed_values: ['RESIZE', 'REPLACE'] }],
    },
    key_name: {
      ...text(
        'Without effect: there are no key pairs. `metadata` has the keys of the machine: `{public_keys: {NAME: KEY}}`.',
      ),
      constraints: [{ custom_constraint: 'nova.keypair' }],
    },
    networks,
    availability_zone: {
      ...text('Zone of the node: its property `availability_zone`; `nova` has the nodes without this property.'),
      constraints: [{ length: { max: 255 } }],
    },
    scheduler_hints: {
      type: 'Map',
      description: `Requirements for the node: ${supportedHints}.`,
      constraints: [{ custom_constraint: 'anneal.scheduler_hints' }],
    },
    metadata: updatable('Map', 'Key-value pairs that are stored with the machine.'),
    // In Heat, a change of user_data replaces the server by default. Anneal keeps the machine, because a change of a
    // comment must not destroy it.
    user_data: { ...updatable('String', 'Data for the first boot of the machine.'), default: '' },
    user_data_format: {
      type: 'String',
      default: 'HEAT_CFNTOOLS',
      description: 'Without effect: the machine gets `user_data` unchanged.',
      constraints: [{ allowed_values: ['HEAT_CFNTOOLS', 'RAW', 'SOFTWARE_CONFIG'] }],
    },
    user_data_update_policy: {
      ...updatable(
        'String',
        'Effect of a change of `user_data`: `REPLACE` and `REBUILD` replace the server. With `IGNORE` the machine runs on, and reads the new data when it asks.',
      ),
      default: 'IGNORE',
      constraints: [{ allowed_values: ['REPLACE', 'IGNORE', 'REBUILD'] }],
    },
    software_config_transport: configTransport,
    deployment_swift_data: swiftData,
    config_drive: {
      type: 'Boolean',
      description: 'Without effect: a machine with an image always has a config drive.',
    },
    admin_user: text('Without effect: the image has its users, and `user_data` creates others.'),
    admin_pass: updatable('String', 'Without effect: `user_data` sets passwords.'),
    security_groups: {
      type: 'List',
      default: [],
      description: 'Without effect: there is no network service.',
      schema: { '*': { type: 'String' } },
    },
    block_device_mapping: blockDevices({
      volume_size: { type: 'Integer', description: 'Size in GB.' },
    }),
    block_device_mapping_v2: blockDevices({
      image: text('Image of the disk.'),
      image_id: text('Image of the disk; older name.'),
      swap_size: { type: 'Integer', description: 'Size of the swap, in MB.' },
      device_type: { ...text('Type of device.'), constraints: [{ allowed_values: ['cdrom', 'disk'] }] },
      disk_bus: {
        ...text('Bus of the device.'),
        constraints: [{ allowed_values: ['ide', 'lame_bus', 'scsi', 'usb', 'virtio'] }],
      },
      boot_index: { type: 'Integer', description: 'Position in the boot order.' },
      volume_size: { type: 'Integer', description: 'Size in GB.' },
      ephemeral_size: { type: 'Integer', description: 'Size in GB.', constraints: [{ range: { min: 1 } }] },
      ephemeral_format: {
        ...text('File system of the disk.'),
        constraints: [{ allowed_values: ['ext2', 'ext3', 'ext4', 'xfs', 'ntfs'] }],
      },
    }),
    tags: { ...updatable('List', 'Tags of the server.'), schema: { '*': { type: 'String' } } },
    reservation_id: {
      ...text('Without effect: there are no reservations, and only the empty text is accepted.'),
      constraints: [{ allowed_values: [''], description: 'Reservations are not supported: leave reservation_id out.' }],
    },
    diskConfig: {
      ...text('Without effect: the image has its partitions.'),
      constraints: [{ allowed_values: ['AUTO', 'MANUAL'] }],
    },
    personality: { type: 'Map', default: {}, description: 'Without effect: `user_data` or a config writes files.' },
  },
  attributes: {
    name: { type: 'String', description: 'The host name.' },
    addresses: { type: 'Map', description: 'Addresses by network of the template, each in the form of Nova.' },
    networks: { type: 'Map', description: 'Addresses by network of the template.' },
    first_address: { type: 'String', description: 'One address of the machine.' },
    instance_name: { type: 'String', description: 'Name of the instance on the node.' },
    accessIPv4: { type: 'String', description: 'IPv4 address of the machine.' },
    accessIPv6: { type: 'String', description: 'IPv6 address of the machine.' },
    console_urls: { type: 'Map', description: 'URLs of its consoles.' },
    tags: { type: 'List', description: 'Tags of the server.' },
    os_collect_config: { type: 'Map', description: 'Settings with which os-collect-config finds its configs.' },
    show: { type: 'Map', description: 'All data of the resource.' },
  },
  // Only an operator decides to recreate a machine.
  failed_update: 'repair',
  // Heat's max_server_name_length.
  name_limit: 53,
  // Time that a machine may take to boot.
  budget_seconds: 1800,
};

const deployedServer: ResourceType = {
  type: 'OS::Heat::DeployedServer',
  actions: ['adopt', 'check'],
  description: 'A machine that is already running: it gets a queue and credentials and is not changed otherwise.',
  properties: {
    name: {
      ...updatable(
        'String',
        'Name of the host as its machine has it, at most 253 characters; by default the physical name.',
      ),
      constraints: [{ custom_constraint: 'anneal.host_name' }],
    },
    software_config_transport: configTransport,
    deployment_swift_data: swiftData,
    metadata: updatable('Map', 'Without effect: the machine is deployed already.'),
  },
  attributes: {
    name: { type: 'String', description: 'The host name.' },
    os_collect_config: { type: 'Map', description: 'Settings with which os-collect-config finds its configs.' },
    show: { type: 'Map', description: 'All data of the resource.' },
  },
  // Only an operator decides to recreate a machine.
  failed_update: 'repair',
  // Heat's max_server_name_length.
  name_limit: 53,
  budget_seconds: 60,
};

const ironicPort: ResourceType = {
  type: 'OS::Ironic::Port',
  actions: ['check'],
  description:
    'A network interface of a node, which the node then declares. The node must be owned by, or leased to, the project of the stack.',
  properties: {
    node: { ...text('Name or id of the node.'), required: true },
    address: {
      ...updatable('String', 'The hardware address of the interface.'),
      required: true,
      constraints: [{ custom_constraint: 'anneal.interface_mac' }],
    },
    physical_network: updatable('String', 'The network that it is connected to, by the name that templates use.'),
    local_link_connection: updatable('Map', 'The port of the switch. Anneal keeps and shows it.'),
    pxe_enabled: {
      ...updatable('Boolean', 'Whether the machine may boot from it. Anneal keeps and shows it.'),
      default: true,
    },
    is_smartnic: { ...updatable('Boolean', 'Whether it is a smart NIC. Anneal keeps and shows it.'), default: false },
    extra: updatable('Map', 'Notes. Anneal keeps and shows them.'),
    portgroup: {
      ...text('Without effect: there are no port groups, and only the empty text is accepted.'),
      constraints: [{ allowed_values: [''], description: 'Port groups are not supported: leave portgroup out.' }],
    },
  },
  attributes: {
    address: { type: 'String', description: 'The hardware address.' },
    node_uuid: { type: 'String', description: 'The id of the node.' },
    portgroup_uuid: { type: 'String', description: 'Always empty.' },
    local_link_connection: { type: 'Map', description: 'The port of the switch.' },
    pxe_enabled: { type: 'Boolean', description: 'Whether the machine may boot from it.' },
    physical_network: { type: 'String', description: 'The network that it is connected to.' },
    internal_info: { type: 'Map', description: 'Always empty.' },
    extra: { type: 'Map', description: 'Notes.' },
    is_smartnic: { type: 'Boolean', description: 'Whether it is a smart NIC.' },
    show: { type: 'Map', description: 'All data of the resource.' },
  },
  budget_seconds: 60,
};

const serverGroup: ResourceType = {
  type: 'OS::Nova::ServerGroup',
  actions: ['adopt', 'check'],
  description:
    'A rule for the places of the servers that name it in `scheduler_hints: {group: …}`. A machine holds one server, so the rule counts racks, or what `rules.domain` names, where Nova counts hosts.',
  properties: {
    name: text('The name of the group.'),
    policies: {
      type: 'List',
      default: ['anti-affinity'],
      description: 'One policy. Servers wait for a fitting node; with a `soft-` policy they get another one instead.',
      schema: { '*': { type: 'String' } },
      constraints: [
        { length: { min: 1, max: 1 }, description: 'A server group has one policy.' },
        { allowed_values: [...groupPolicies] },
      ],
    },
    rules: {
      type: 'Map',
      description: 'Details of the policy.',
      schema: {
        max_server_per_host: {
          type: 'Integer',
          description: 'For `anti-affinity`: the most servers of the group in one rack or other domain. Default: 1.',
          constraints: [{ range: { min: 1 } }],
        },
        domain: {
          ...text('What the policy counts: the property of the nodes, or each node. Default: rack.'),
          constraints: [{ allowed_values: [...groupDomains] }],
        },
      },
    },
  },
  attributes: { show: { type: 'Map', description: 'All data of the resource.' } },
  budget_seconds: 60,
};

/** The types of the provisioning service. */
export const provisioningTypes: ResourceType[] = [server, deployedServer, serverGroup, ironicPort];

/** Restricts the types to the images of a server, so that compiling a template refuses other images. */
export function withImages(types: readonly ResourceType[], images: readonly string[]): ResourceType[] {
  return types.map((type) => {
    const { image } = type.properties;
    if (type !== server || !image) return type;
    const constrained: PropertySchema = { ...image, constraints: [{ allowed_values: ['', ...images] }] };
    return { ...type, properties: { ...type.properties, image: constrained } };
  });
}
