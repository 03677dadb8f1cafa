/** Security groups: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { checked, integer, listOf, mapOf, oneOf, resourceType, string } from '../schema.ts';

/** Protocols by number, or by a name that the network service knows. */
const protocols = [
  ...Array.from({ length: 256 }, (_, number) => number),
  'ah',
  'dccp',
  'egp',
  'esp',
  'gre',
  'icmp',
  'icmpv6',
  'igmp',
  'ipv6-encap',
  'ipv6-frag',
  'ipv6-icmp',
  'ipv6-nonxt',
  'ipv6-opts',
  'ipv6-route',
  'ospf',
  'pgm',
  'rsvp',
  'sctp',
  'tcp',
  'udp',
  'udplite',
  'vrrp',
];

/** Their schemas, which an offline check uses. */
export const neutronSecurityTypes: ResourceType[] = [
  resourceType(
    'OS::Neutron::SecurityGroup',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      rules: listOf(
        mapOf({
          direction: string({ default: 'ingress', constraints: oneOf('ingress', 'egress') }),
          ethertype: string({ default: 'IPv4', constraints: oneOf('IPv4', 'IPv6') }),
          port_range_min: integer({ constraints: [{ range: { min: 0, max: 65535 } }] }),
          port_range_max: integer({ constraints: [{ range: { min: 0, max: 65535 } }] }),
          protocol: string(),
          remote_mode: string({
            default: 'remote_ip_prefix',
            constraints: oneOf('remote_ip_prefix', 'remote_group_id'),
          }),
          remote_group_id: string({ constraints: checked('neutron.security_group') }),
          remote_ip_prefix: string({ constraints: checked('net_cidr') }),
        }),
        { default: [], update_allowed: true },
      ),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::SecurityGroupRule',
    {
      security_group: string({ required: true, constraints: checked('neutron.security_group') }),
      description: string(),
      direction: string({ default: 'ingress', constraints: oneOf('ingress', 'egress') }),
      ethertype: string({ default: 'IPv4', constraints: oneOf('IPv4', 'IPv6') }),
      port_range_min: integer({ constraints: [{ range: { min: 0, max: 65535 } }] }),
      port_range_max: integer({ constraints: [{ range: { min: 0, max: 65535 } }] }),
      protocol: string({
        default: 'tcp',
        constraints: oneOf(...protocols),
      }),
      remote_group: string({ constraints: checked('neutron.security_group') }),
      remote_ip_prefix: string({ constraints: checked('net_cidr') }),
    },
    {},
  ),
];
