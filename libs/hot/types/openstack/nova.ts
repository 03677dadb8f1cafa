/** Types related to servers: flavors, keys, quotas. Schemas only; Anneal serves servers and server groups itself. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, listOf, map, number, oneOf, resourceType, string } from '../schema.ts';

/** Their schemas, which an offline check uses. */
export const novaTypes: ResourceType[] = [
  resourceType(
    'OS::Nova::Flavor',
    {
      tenants: listOf(string({ constraints: checked('keystone.project') }), { default: [], update_allowed: true }),
      flavorid: string(),
      name: string(),
      ram: integer({ required: true }),
      vcpus: integer({ required: true }),
      disk: integer({ default: 0 }),
      swap: integer({ default: 0 }),
      ephemeral: integer({ default: 0 }),
      rxtx_factor: number({ default: 1 }),
      extra_specs: map({ update_allowed: true }),
      is_public: boolean({ default: true }),
    },
    { is_public: 'Boolean', extra_specs: 'Map' },
  ),
  resourceType('OS::Nova::FloatingIP', { pool: string() }, { pool: 'String', ip: 'String' }),
  resourceType(
    'OS::Nova::FloatingIPAssociation',
    {
      server_id: string({ required: true, update_allowed: true, constraints: checked('nova.server') }),
      floating_ip: string({ required: true, update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Nova::HostAggregate',
    {
      name: string({ required: true, update_allowed: true }),
      availability_zone: string({ update_allowed: true }),
      hosts: listOf(string({ constraints: checked('nova.host') }), { update_allowed: true }),
      metadata: map({ default: {}, update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Nova::KeyPair',
    {
      name: string({ required: true, constraints: [{ length: { min: 1, max: 255 } }] }),
      save_private_key: boolean({ default: false }),
      public_key: string(),
      type: string({ constraints: oneOf('ssh', 'x509') }),
      user: string({ constraints: checked('keystone.user') }),
    },
    { public_key: 'String', private_key: 'String' },
  ),
  resourceType(
    'OS::Nova::Quota',
    {
      project: string({ required: true, constraints: checked('keystone.project') }),
      cores: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      fixed_ips: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      floating_ips: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      instances: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      injected_files: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      injected_file_content_bytes: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      injected_file_path_bytes: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      key_pairs: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      metadata_items: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      ram: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      security_groups: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      security_group_rules: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      server_groups: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      server_group_members: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
    },
    {},
  ),
];
