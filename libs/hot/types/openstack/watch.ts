/** Reservations and monitoring of a cloud: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, list, listOf, map, mapOf, oneOf, resourceType, string } from '../schema.ts';

const okActions = listOf(string({ constraints: checked('monasca.notification') }), {
  default: [],
  update_allowed: true,
});

/** Their schemas, which an offline check uses. */
export const watchTypes: ResourceType[] = [
  resourceType(
    'OS::Blazar::Host',
    { name: string({ required: true }), extra_capability: map() },
    {
      hypervisor_hostname: 'String',
      hypervisor_type: 'String',
      hypervisor_version: 'Integer',
      vcpus: 'Integer',
      cpu_info: 'Map',
      memory_mb: 'Integer',
      local_gb: 'Integer',
      service_name: 'String',
      reservable: 'Boolean',
      status: 'String',
      trust_id: 'String',
      extra_capability: 'Map',
      created_at: 'String',
      updated_at: 'String',
    },
  ),
  resourceType(
    'OS::Blazar::Lease',
    {
      name: string({ required: true }),
      start_date: string({
        required: true,
        constraints: [{ allowed_pattern: '\\d{4}-\\d{2}-\\d{2}\\s\\d{2}:\\d{2}' }],
      }),
      end_date: string({ required: true, constraints: [{ allowed_pattern: '\\d{4}-\\d{2}-\\d{2}\\s\\d{2}:\\d{2}' }] }),
      before_end_date: string({ constraints: [{ allowed_pattern: '\\d{4}-\\d{2}-\\d{2}\\s\\d{2}:\\d{2}' }] }),
      reservations: listOf(
        mapOf({
          resource_type: string({ required: true, constraints: oneOf('virtual:instance', 'physical:host') }),
          min: integer({ constraints: [{ range: { min: 1 } }] }),
          max: integer({ constraints: [{ range: { min: 1 } }] }),
          hypervisor_properties: string(),
          resource_properties: string(),
          before_end: string({ default: 'default', constraints: oneOf('default', 'snapshot') }),
          amount: integer({ constraints: [{ range: { min: 0, max: 2147483647 } }] }),
          vcpus: integer({ constraints: [{ range: { min: 0, max: 2147483647 } }] }),
          memory_mb: integer({ constraints: [{ range: { min: 0, max: 2147483647 } }] }),
          disk_gb: integer({ constraints: [{ range: { min: 0, max: 2147483647 } }] }),
          affinity: boolean({ default: false }),
        }),
        { required: true },
      ),
      events: listOf(mapOf({ event_type: string({ required: true }), time: string({ required: true }) }), {
        default: [],
      }),
    },
    {
      name: 'String',
      start_date: 'String',
      end_date: 'String',
      created_at: 'String',
      updated_at: 'String',
      status: 'String',
      degraded: 'Boolean',
      user_id: 'String',
      project_id: 'String',
      trust_id: 'String',
      reservations: 'List',
      events: 'List',
    },
  ),
  resourceType(
    'OS::Monasca::AlarmDefinition',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      expression: string({ required: true }),
      match_by: list({ default: [] }),
      severity: string({
        default: 'low',
        update_allowed: true,
        constraints: oneOf('low', 'medium', 'high', 'critical'),
      }),
      ok_actions: okActions,
      alarm_actions: okActions,
      undetermined_actions: okActions,
      actions_enabled: boolean({ default: true, update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Monasca::Notification',
    {
      name: string({ update_allowed: true }),
      type: string({ required: true, update_allowed: true, constraints: oneOf('email', 'webhook', 'pagerduty') }),
      address: string({ required: true, update_allowed: true, constraints: [{ length: { max: 512 } }] }),
      period: integer({ update_allowed: true, constraints: oneOf(0, 60) }),
    },
    {},
  ),
  resourceType(
    'OS::Vitrage::Template',
    { template_file: string({ required: true }), template_params: map({ required: true }) },
    {},
  ),
];
