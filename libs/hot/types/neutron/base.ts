/** Foundations of networks: pools, segments, security groups. Schemas only. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, list, listOf, mapOf, oneOf, resourceType, string } from '../schema.ts';

/** Their schemas, which an offline check uses. */
export const neutronBaseTypes: ResourceType[] = [
  resourceType(
    'OS::Neutron::AddressScope',
    {
      name: string({ update_allowed: true }),
      shared: boolean({ default: false, update_allowed: true }),
      tenant_id: string({ constraints: checked('keystone.project') }),
      ip_version: integer({ default: 4, constraints: oneOf(4, 6) }),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::ProviderNet',
    {
      name: string({ update_allowed: true }),
      network_type: string({
        required: true,
        update_allowed: true,
        constraints: oneOf('local', 'vlan', 'vxlan', 'gre', 'geneve', 'flat'),
      }),
      physical_network: string({ update_allowed: true }),
      segmentation_id: string({ update_allowed: true }),
      admin_state_up: boolean({ default: true, update_allowed: true }),
      shared: boolean({ default: true, update_allowed: true }),
      port_security_enabled: boolean({ update_allowed: true }),
      router_external: boolean({ default: false, update_allowed: true }),
      tags: listOf(string(), { update_allowed: true }),
      dns_domain: string({ update_allowed: true, constraints: checked('dns_domain') }),
      availability_zone_hints: list({ update_allowed: true }),
    },
    { status: 'String', subnets: 'List', segments: 'List' },
  ),
  resourceType(
    'OS::Neutron::Segment',
    {
      network: string({ required: true, constraints: checked('neutron.network') }),
      network_type: string({ required: true, constraints: oneOf('local', 'vlan', 'vxlan', 'gre', 'geneve', 'flat') }),
      physical_network: string(),
      segmentation_id: integer({ constraints: [{ range: { min: 1 } }] }),
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::SubnetPool',
    {
      name: string({ update_allowed: true }),
      prefixes: listOf(string({ constraints: checked('net_cidr') }), {
        required: true,
        update_allowed: true,
        constraints: [{ length: { min: 1 } }],
      }),
      address_scope: string({ update_allowed: true, constraints: checked('neutron.address_scope') }),
      default_quota: integer({ update_allowed: true, constraints: [{ range: { min: 0 } }] }),
      default_prefixlen: integer({ update_allowed: true, constraints: [{ range: { min: 0 } }] }),
      min_prefixlen: integer({ update_allowed: true, constraints: [{ range: { min: 0 } }] }),
      max_prefixlen: integer({ update_allowed: true, constraints: [{ range: { min: 0 } }] }),
      is_default: boolean({ default: false, update_allowed: true }),
      tenant_id: string(),
      shared: boolean({ default: false }),
      tags: listOf(string(), { update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::Trunk',
    {
      name: string({ update_allowed: true }),
      port: string({ required: true, immutable: true, constraints: checked('neutron.port') }),
      sub_ports: listOf(
        mapOf({
          port: string({ required: true, constraints: checked('neutron.port') }),
          segmentation_type: string({ required: true, constraints: oneOf('vlan') }),
          segmentation_id: integer({ required: true, constraints: [{ range: { min: 1, max: 4094 } }] }),
        }),
        { update_allowed: true },
      ),
      description: string({ update_allowed: true }),
      admin_state_up: boolean({ update_allowed: true }),
    },
    { port_id: 'String' },
  ),
];
