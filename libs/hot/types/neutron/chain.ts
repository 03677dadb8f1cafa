/** Firewalls, taps and chains of services: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, list, listOf, map, oneOf, resourceType, string } from '../schema.ts';

/** Their schemas, which an offline check uses. */
export const neutronChainTypes: ResourceType[] = [
  resourceType(
    'OS::Neutron::Firewall',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      admin_state_up: boolean({ default: true, update_allowed: true }),
      firewall_policy_id: string({ required: true, update_allowed: true }),
      value_specs: map({ default: {}, update_allowed: true }),
      shared: boolean({ update_allowed: true }),
    },
    {
      name: 'String',
      description: 'String',
      admin_state_up: 'String',
      firewall_policy_id: 'String',
      shared: 'String',
      status: 'String',
      tenant_id: 'String',
    },
  ),
  resourceType(
    'OS::Neutron::FirewallPolicy',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      shared: boolean({ default: false, update_allowed: true }),
      audited: boolean({ default: false, update_allowed: true }),
      firewall_rules: list({ update_allowed: true }),
    },
    {
      name: 'String',
      description: 'String',
      firewall_rules: 'List',
      shared: 'String',
      audited: 'String',
      tenant_id: 'String',
    },
  ),
  resourceType(
    'OS::Neutron::FirewallRule',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      shared: boolean({ default: false, update_allowed: true }),
      protocol: string({ default: 'any', update_allowed: true, constraints: oneOf('tcp', 'udp', 'icmp', 'any') }),
      ip_version: string({ default: '4', update_allowed: true, constraints: oneOf('4', '6') }),
      source_ip_address: string({ update_allowed: true, constraints: checked('net_cidr') }),
      destination_ip_address: string({ update_allowed: true, constraints: checked('net_cidr') }),
      source_port: string({ update_allowed: true }),
      destination_port: string({ update_allowed: true }),
      action: string({ default: 'deny', update_allowed: true, constraints: oneOf('allow', 'deny') }),
      enabled: boolean({ default: true, update_allowed: true }),
    },
    {
      name: 'String',
      description: 'String',
      firewall_policy_id: 'String',
      shared: 'String',
      protocol: 'String',
      ip_version: 'String',
      source_ip_address: 'String',
      destination_ip_address: 'String',
      source_port: 'String',
      destination_port: 'String',
      action: 'String',
      enabled: 'String',
      position: 'String',
      tenant_id: 'String',
    },
  ),
  resourceType(
    'OS::Neutron::FlowClassifier',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      protocol: string({ constraints: oneOf('tcp', 'udp', 'icmp') }),
      ethertype: string({ default: 'IPv4', constraints: oneOf('IPv4', 'IPv6') }),
      source_ip_prefix: string({ constraints: checked('net_cidr') }),
      destination_ip_prefix: string({ constraints: checked('net_cidr') }),
      source_port_range_min: integer({ constraints: [{ range: { min: 1, max: 65535 } }] }),
      source_port_range_max: integer({ constraints: [{ range: { min: 1, max: 65535 } }] }),
      destination_port_range_min: integer({ constraints: [{ range: { min: 1, max: 65535 } }] }),
      destination_port_range_max: integer({ constraints: [{ range: { min: 1, max: 65535 } }] }),
      logical_source_port: string({ constraints: checked('neutron.port') }),
      logical_destination_port: string({ constraints: checked('neutron.port') }),
      l7_parameters: map(),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::PortChain',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      port_pair_groups: listOf(string({ constraints: checked('neutron.port_pair_group') }), {
        required: true,
        update_allowed: true,
      }),
      flow_classifiers: listOf(string({ constraints: checked('neutron.flow_classifier') }), {
        default: [],
        update_allowed: true,
      }),
      chain_parameters: map({ default: { correlation: 'mpls' } }),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::PortPair',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      ingress: string({ required: true, constraints: checked('neutron.port') }),
      egress: string({ required: true, constraints: checked('neutron.port') }),
      service_function_parameters: map({ default: { correlation: null } }),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::PortPairGroup',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      port_pairs: listOf(string({ constraints: checked('neutron.port_pair') }), {
        required: true,
        update_allowed: true,
      }),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::TaaS::TapFlow',
    {
      name: string({ default: '', update_allowed: true }),
      description: string({ default: '', update_allowed: true }),
      port: string({ required: true, constraints: checked('neutron.port') }),
      tap_service: string({ required: true, constraints: checked('neutron.taas.tap_service') }),
      direction: string({ default: 'BOTH', constraints: oneOf('IN', 'OUT', 'BOTH') }),
      vlan_filter: string({ constraints: [{ allowed_pattern: '^([0-9]+(-[0-9]+)?)(,([0-9]+(-[0-9]+)?))*$' }] }),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::TaaS::TapService',
    {
      name: string({ default: '', update_allowed: true }),
      description: string({ default: '', update_allowed: true }),
      port: string({ required: true, constraints: checked('neutron.port') }),
    },
    {},
  ),
];
