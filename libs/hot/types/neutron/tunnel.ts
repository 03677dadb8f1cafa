/** Tunnels and gateways: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, list, listOf, mapOf, oneOf, resourceType, string } from '../schema.ts';

/** Their schemas, which an offline check uses. */
export const neutronTunnelTypes: ResourceType[] = [
  resourceType(
    'OS::Neutron::IKEPolicy',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      auth_algorithm: string({
        default: 'sha1',
        update_allowed: true,
        constraints: oneOf('sha1', 'sha256', 'sha384', 'sha512'),
      }),
      encryption_algorithm: string({
        default: 'aes-128',
        update_allowed: true,
        constraints: oneOf('3des', 'aes-128', 'aes-192', 'aes-256'),
      }),
      phase1_negotiation_mode: string({ default: 'main', constraints: oneOf('main') }),
      lifetime: mapOf(
        {
          units: string({ default: 'seconds', constraints: oneOf('seconds', 'kilobytes') }),
          value: integer({ default: 3600 }),
        },
        { update_allowed: true },
      ),
      pfs: string({ default: 'group5', update_allowed: true, constraints: oneOf('group2', 'group5', 'group14') }),
      ike_version: string({ default: 'v1', update_allowed: true, constraints: oneOf('v1', 'v2') }),
    },
    {
      auth_algorithm: 'String',
      description: 'String',
      encryption_algorithm: 'String',
      ike_version: 'String',
      lifetime: 'Map',
      name: 'String',
      pfs: 'String',
      phase1_negotiation_mode: 'String',
      tenant_id: 'String',
    },
  ),
  resourceType(
    'OS::Neutron::IPsecPolicy',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      transform_protocol: string({ default: 'esp', constraints: oneOf('esp', 'ah', 'ah-esp') }),
      encapsulation_mode: string({ default: 'tunnel', constraints: oneOf('tunnel', 'transport') }),
      auth_algorithm: string({ default: 'sha1', constraints: oneOf('sha1') }),
      encryption_algorithm: string({ default: 'aes-128', constraints: oneOf('3des', 'aes-128', 'aes-192', 'aes-256') }),
      lifetime: mapOf({
        units: string({ default: 'seconds', constraints: oneOf('seconds', 'kilobytes') }),
        value: integer({ default: 3600 }),
      }),
      pfs: string({ default: 'group5', constraints: oneOf('group2', 'group5', 'group14') }),
    },
    {
      auth_algorithm: 'String',
      description: 'String',
      encapsulation_mode: 'String',
      encryption_algorithm: 'String',
      lifetime: 'Map',
      name: 'String',
      pfs: 'String',
      tenant_id: 'String',
      transform_protocol: 'String',
    },
  ),
  resourceType(
    'OS::Neutron::IPsecSiteConnection',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      peer_address: string({ required: true }),
      peer_id: string({ required: true }),
      peer_cidrs: listOf(string({ constraints: checked('net_cidr') }), { required: true }),
      mtu: integer({ default: 1500 }),
      dpd: mapOf({
        actions: string({
          default: 'hold',
          constraints: oneOf('clear', 'disabled', 'hold', 'restart', 'restart-by-peer'),
        }),
        interval: integer({ default: 30 }),
        timeout: integer({ default: 120 }),
      }),
      psk: string({ required: true }),
      initiator: string({ default: 'bi-directional', constraints: oneOf('bi-directional', 'response-only') }),
      admin_state_up: boolean({ default: true, update_allowed: true }),
      ikepolicy_id: string({ required: true }),
      ipsecpolicy_id: string({ required: true }),
      vpnservice_id: string({ required: true }),
    },
    {
      admin_state_up: 'String',
      auth_mode: 'String',
      description: 'String',
      dpd: 'Map',
      ikepolicy_id: 'String',
      initiator: 'String',
      ipsecpolicy_id: 'String',
      mtu: 'String',
      name: 'String',
      peer_address: 'String',
      peer_cidrs: 'List',
      peer_id: 'String',
      psk: 'String',
      route_mode: 'String',
      status: 'String',
      tenant_id: 'String',
      vpnservice_id: 'String',
    },
  ),
  resourceType(
    'OS::Neutron::L2Gateway',
    {
      name: string({ required: true, update_allowed: true }),
      devices: listOf(
        mapOf({
          device_name: string({ required: true }),
          interfaces: listOf(mapOf({ name: string({ required: true }), segmentation_id: list() }), { required: true }),
        }),
        { required: true, update_allowed: true },
      ),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::L2GatewayConnection',
    {
      l2_gateway_id: string({ required: true }),
      network_id: string({ required: true, constraints: checked('neutron.network') }),
      segmentation_id: string(),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::NetworkGateway',
    {
      name: string({ update_allowed: true }),
      devices: listOf(mapOf({ id: string({ required: true }), interface_name: string({ required: true }) }), {
        required: true,
        update_allowed: true,
        constraints: [{ length: { min: 1 } }],
      }),
      connections: listOf(
        mapOf({
          network_id: string({ constraints: checked('neutron.network') }),
          network: string({ constraints: checked('neutron.network') }),
          segmentation_type: string({ default: 'flat', constraints: oneOf('flat', 'vlan') }),
          segmentation_id: integer({ constraints: [{ range: { min: 0, max: 4094 } }] }),
        }),
        { default: {}, update_allowed: true },
      ),
    },
    { default: 'String' },
  ),
  resourceType(
    'OS::Neutron::VPNService',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      admin_state_up: boolean({ default: true, update_allowed: true }),
      subnet_id: string({ constraints: checked('neutron.subnet') }),
      subnet: string({ constraints: checked('neutron.subnet') }),
      router_id: string({ constraints: checked('neutron.router') }),
      router: string({ constraints: checked('neutron.router') }),
    },
    {
      admin_state_up: 'String',
      description: 'String',
      name: 'String',
      router_id: 'String',
      status: 'String',
      subnet_id: 'String',
      tenant_id: 'String',
    },
  ),
];
