/** Network policies: quality, quotas, metering, sharing. Schemas only. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, oneOf, resourceType, string } from '../schema.ts';

/** Their schemas, which an offline check uses. */
export const neutronPolicyTypes: ResourceType[] = [
  resourceType(
    'OS::Neutron::MeteringLabel',
    { name: string(), description: string(), shared: boolean({ default: false }) },
    { name: 'String', description: 'String', shared: 'String' },
  ),
  resourceType(
    'OS::Neutron::MeteringRule',
    {
      metering_label_id: string({ required: true }),
      remote_ip_prefix: string({ required: true }),
      direction: string({ default: 'ingress', constraints: oneOf('ingress', 'egress') }),
      excluded: boolean({ default: 'False' }),
    },
    { direction: 'String', excluded: 'String', metering_label_id: 'String', remote_ip_prefix: 'String' },
  ),
  resourceType(
    'OS::Neutron::QoSBandwidthLimitRule',
    {
      max_kbps: integer({ required: true, update_allowed: true, constraints: [{ range: { min: 0 } }] }),
      max_burst_kbps: integer({ default: 0, update_allowed: true, constraints: [{ range: { min: 0 } }] }),
      direction: string({ default: 'egress', update_allowed: true, constraints: oneOf('egress', 'ingress') }),
      policy: string({ required: true, constraints: checked('neutron.qos_policy') }),
      tenant_id: string(),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::QoSDscpMarkingRule',
    {
      dscp_mark: integer({
        required: true,
        update_allowed: true,
        constraints: oneOf(0, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 46, 48, 56),
      }),
      policy: string({ required: true, constraints: checked('neutron.qos_policy') }),
      tenant_id: string(),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::QoSMinimumBandwidthRule',
    {
      min_kbps: integer({ required: true, update_allowed: true, constraints: [{ range: { min: 0 } }] }),
      direction: string({ default: 'egress', update_allowed: true, constraints: oneOf('egress', 'ingress') }),
      policy: string({ required: true, constraints: checked('neutron.qos_policy') }),
      tenant_id: string(),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::QoSMinimumPacketRateRule',
    {
      min_kpps: integer({ required: true, update_allowed: true, constraints: [{ range: { min: 0 } }] }),
      direction: string({ default: 'egress', update_allowed: true, constraints: oneOf('any', 'egress', 'ingress') }),
      policy: string({ required: true, constraints: checked('neutron.qos_policy') }),
      tenant_id: string(),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::QoSPolicy',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      shared: boolean({ default: false, update_allowed: true }),
      tenant_id: string(),
    },
    { rules: 'List' },
  ),
  resourceType(
    'OS::Neutron::Quota',
    {
      project: string({ required: true, constraints: checked('keystone.project') }),
      subnet: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      network: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      floatingip: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      security_group_rule: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      security_group: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      router: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      port: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      subnetpool: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      rbac_policy: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
    },
    {},
  ),
  resourceType(
    'OS::Neutron::RBACPolicy',
    {
      object_type: string({ required: true, constraints: oneOf('network', 'qos_policy') }),
      target_tenant: string({ required: true, update_allowed: true }),
      action: string({ required: true, constraints: oneOf('access_as_shared', 'access_as_external') }),
      object_id: string({ required: true }),
      tenant_id: string(),
    },
    {},
  ),
];
