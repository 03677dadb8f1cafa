/** Shared file systems and names: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import {
  boolean,
  checked,
  integer,
  list,
  listOf,
  map,
  mapOf,
  oneOf,
  placeholder,
  resourceType,
  string,
} from '../schema.ts';

/** Their schemas, which an offline check uses. */
export const shareTypes: ResourceType[] = [
  resourceType(
    'OS::Manila::SecurityService',
    {
      name: string({ update_allowed: true }),
      type: string({ required: true, constraints: oneOf('ldap', 'kerberos', 'active_directory') }),
      dns_ip: string({ update_allowed: true }),
      server: string({ update_allowed: true }),
      domain: string({ update_allowed: true }),
      user: string({ update_allowed: true }),
      password: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Manila::Share',
    {
      share_protocol: string({ required: true, constraints: oneOf('NFS', 'CIFS', 'GlusterFS', 'HDFS', 'CEPHFS') }),
      size: integer({ required: true }),
      snapshot: string({ constraints: checked('manila.share_snapshot') }),
      name: string({ update_allowed: true }),
      metadata: map({ update_allowed: true }),
      share_network: string({ constraints: checked('manila.share_network') }),
      description: string({ update_allowed: true }),
      share_type: string({ constraints: checked('manila.share_type') }),
      is_public: boolean({ default: false, update_allowed: true }),
      access_rules: listOf(
        mapOf({
          access_to: string({ required: true }),
          access_type: string({ required: true, constraints: oneOf('ip', 'user', 'cert', 'cephx') }),
          access_level: string({ constraints: oneOf('ro', 'rw') }),
        }),
        { default: [], update_allowed: true },
      ),
    },
    {
      availability_zone: 'String',
      host: 'String',
      export_locations: 'List',
      share_server_id: 'String',
      created_at: 'String',
      status: 'String',
      project_id: 'String',
    },
  ),
  resourceType(
    'OS::Manila::ShareNetwork',
    {
      name: string({ update_allowed: true }),
      neutron_network: string({ update_allowed: true, constraints: checked('neutron.network') }),
      neutron_subnet: string({ update_allowed: true, constraints: checked('neutron.subnet') }),
      nova_network: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      security_services: listOf(string(), { default: [], update_allowed: true }),
    },
    { segmentation_id: 'String', cidr: 'String', ip_version: 'String', network_type: 'String' },
  ),
  resourceType(
    'OS::Manila::ShareType',
    {
      name: string({ required: true }),
      is_public: boolean({ default: true }),
      driver_handles_share_servers: boolean({ required: true }),
      extra_specs: map({ update_allowed: true }),
      snapshot_support: boolean({ default: true }),
    },
    {},
  ),
  placeholder('OS::Designate::Domain'),
  placeholder('OS::Designate::Record'),
  resourceType(
    'OS::Designate::RecordSet',
    {
      name: string({ constraints: [{ length: { max: 255 } }] }),
      ttl: integer({ update_allowed: true, constraints: [{ range: { min: 1, max: 2147483647 } }] }),
      description: string({ update_allowed: true, constraints: [{ length: { max: 160 } }] }),
      type: string({
        required: true,
        constraints: oneOf('A', 'AAAA', 'CNAME', 'MX', 'SRV', 'TXT', 'SPF', 'NS', 'PTR', 'SSHFP', 'SOA'),
      }),
      records: list({ required: true, update_allowed: true }),
      zone: string({ required: true, constraints: checked('designate.zone') }),
    },
    {},
  ),
  resourceType(
    'OS::Designate::Zone',
    {
      name: string({ required: true, constraints: [{ length: { max: 255 } }] }),
      ttl: integer({ update_allowed: true, constraints: [{ range: { min: 1, max: 2147483647 } }] }),
      description: string({ update_allowed: true, constraints: [{ length: { max: 160 } }] }),
      email: string({ update_allowed: true }),
      type: string({ default: 'PRIMARY', constraints: oneOf('PRIMARY', 'SECONDARY') }),
      masters: list({ update_allowed: true }),
      primaries: list({ update_allowed: true }),
    },
    { serial: 'String' },
  ),
];
