/** Load balancers: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, list, listOf, mapOf, number, oneOf, resourceType, string } from '../schema.ts';

/** Their schemas, which an offline check uses. */
export const octaviaTypes: ResourceType[] = [
  resourceType(
    'OS::Octavia::Flavor',
    {
      description: string({ default: '', update_allowed: true }),
      enabled: boolean({ default: true, update_allowed: true }),
      name: string({ update_allowed: true }),
      flavor_profile: string({ required: true, constraints: checked('octavia.flavorprofile') }),
    },
    { flavor_profile_id: 'String' },
  ),
  resourceType(
    'OS::Octavia::FlavorProfile',
    {
      name: string({ update_allowed: true }),
      flavor_data: string({ required: true, update_allowed: true }),
      provider_name: string({ update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Octavia::HealthMonitor',
    {
      admin_state_up: boolean({ default: true, update_allowed: true }),
      delay: integer({ required: true, update_allowed: true, constraints: [{ range: { min: 0 } }] }),
      expected_codes: string({ update_allowed: true }),
      http_method: string({
        update_allowed: true,
        constraints: oneOf('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'OPTIONS', 'CONNECT', 'PATCH'),
      }),
      max_retries: integer({ required: true, update_allowed: true, constraints: [{ range: { min: 1, max: 10 } }] }),
      pool: string({ required: true, constraints: checked('octavia.pool') }),
      timeout: integer({ required: true, update_allowed: true, constraints: [{ range: { min: 0 } }] }),
      type: string({ required: true, constraints: oneOf('PING', 'TCP', 'HTTP', 'HTTPS', 'UDP-CONNECT') }),
      url_path: string({ update_allowed: true }),
      tenant_id: string(),
    },
    { pools: 'List' },
  ),
  resourceType(
    'OS::Octavia::L7Policy',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      admin_state_up: boolean({ default: true, update_allowed: true }),
      action: string({
        required: true,
        update_allowed: true,
        constraints: oneOf('REJECT', 'REDIRECT_TO_POOL', 'REDIRECT_TO_URL'),
      }),
      redirect_pool: string({ update_allowed: true, constraints: checked('octavia.pool') }),
      redirect_url: string({ update_allowed: true }),
      position: number({ update_allowed: true, constraints: [{ range: { min: 1 } }] }),
      listener: string({ required: true, constraints: checked('octavia.listener') }),
    },
    { rules: 'List' },
  ),
  resourceType(
    'OS::Octavia::L7Rule',
    {
      admin_state_up: boolean({ default: true, update_allowed: true }),
      l7policy: string({ required: true, constraints: checked('octavia.l7policy') }),
      type: string({
        required: true,
        update_allowed: true,
        constraints: oneOf('HOST_NAME', 'PATH', 'FILE_TYPE', 'HEADER', 'COOKIE'),
      }),
      compare_type: string({
        required: true,
        update_allowed: true,
        constraints: oneOf('REGEX', 'STARTS_WITH', 'ENDS_WITH', 'CONTAINS', 'EQUAL_TO'),
      }),
      invert: boolean({ default: false, update_allowed: true }),
      key: string({ update_allowed: true }),
      value: string({ required: true, update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Octavia::Listener',
    {
      protocol_port: integer({ required: true, constraints: [{ range: { min: 1, max: 65535 } }] }),
      protocol: string({
        required: true,
        constraints: oneOf('TCP', 'HTTP', 'HTTPS', 'TERMINATED_HTTPS', 'PROXY', 'UDP'),
      }),
      loadbalancer: string({ constraints: checked('octavia.loadbalancer') }),
      default_pool: string({ update_allowed: true, constraints: checked('octavia.pool') }),
      name: string({ update_allowed: true }),
      admin_state_up: boolean({ default: true, update_allowed: true }),
      description: string({ default: '', update_allowed: true }),
      default_tls_container_ref: string({ update_allowed: true }),
      sni_container_refs: list({ update_allowed: true }),
      connection_limit: integer({ default: -1, update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      tenant_id: string(),
      allowed_cidrs: listOf(string({ constraints: checked('net_cidr') }), { update_allowed: true }),
    },
    { loadbalancers: 'List', default_pool_id: 'String' },
  ),
  resourceType(
    'OS::Octavia::LoadBalancer',
    {
      description: string({ default: '', update_allowed: true }),
      name: string({ update_allowed: true }),
      provider: string(),
      vip_address: string({ constraints: checked('ip_addr') }),
      vip_subnet: string({ required: true, constraints: checked('neutron.subnet') }),
      admin_state_up: boolean({ default: true, update_allowed: true }),
      tenant_id: string({ constraints: checked('keystone.project') }),
      flavor: string({ constraints: checked('octavia.flavor') }),
      availability_zone: string(),
    },
    { vip_address: 'String', vip_port_id: 'String', vip_subnet_id: 'String', pools: 'List', flavor_id: 'String' },
  ),
  resourceType(
    'OS::Octavia::Pool',
    {
      admin_state_up: boolean({ default: true, update_allowed: true }),
      description: string({ default: '', update_allowed: true }),
      session_persistence: mapOf(
        {
          type: string({ required: true, constraints: oneOf('SOURCE_IP', 'HTTP_COOKIE', 'APP_COOKIE') }),
          cookie_name: string(),
        },
        { update_allowed: true },
      ),
      name: string({ update_allowed: true }),
      lb_algorithm: string({
        required: true,
        update_allowed: true,
        constraints: oneOf('ROUND_ROBIN', 'LEAST_CONNECTIONS', 'SOURCE_IP', 'SOURCE_IP_PORT'),
      }),
      listener: string({ constraints: checked('octavia.listener') }),
      loadbalancer: string({ constraints: checked('octavia.loadbalancer') }),
      protocol: string({
        required: true,
        constraints: oneOf('TCP', 'HTTP', 'HTTPS', 'TERMINATED_HTTPS', 'PROXY', 'UDP'),
      }),
      tls_enabled: boolean({ default: false, update_allowed: true }),
    },
    { healthmonitor_id: 'String', listeners: 'String', members: 'List' },
  ),
  resourceType(
    'OS::Octavia::PoolMember',
    {
      pool: string({ required: true, constraints: checked('octavia.pool') }),
      address: string({ required: true, constraints: checked('ip_addr') }),
      protocol_port: integer({ required: true, constraints: [{ range: { min: 1, max: 65535 } }] }),
      monitor_address: string({ constraints: checked('ip_addr') }),
      monitor_port: integer({ constraints: [{ range: { min: 1, max: 65535 } }] }),
      weight: integer({ default: 1, update_allowed: true, constraints: [{ range: { min: 0, max: 256 } }] }),
      admin_state_up: boolean({ default: true, update_allowed: true }),
      subnet: string({ constraints: checked('neutron.subnet') }),
      tags: list({ update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Octavia::Quota',
    {
      project: string({ required: true, constraints: checked('keystone.project') }),
      healthmonitor: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      listener: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      loadbalancer: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      pool: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      member: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
    },
    {},
  ),
];
