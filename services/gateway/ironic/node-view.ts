/** A node in Ironic's form. Pure. */
import type { NodeView } from '@anneal/contracts/calls/nodes.ts';
import { driverInterfaces, interfaceKinds } from '@anneal/contracts/drivers.ts';
import { jsonObject } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import { consolesOf } from './consoles.ts';

export const ironicPrefix = '/baremetal';
/** The only conductor: the provisioning service, whatever the number of its replicas. */
export const conductor = 'anneal';
const part = encodeURIComponent;

export const ironicLinksSchema = z.array(z.object({ href: z.string(), rel: z.string() }));
const nullableText = z.string().nullable();
/** The fields of a node that clients read most; there are more. */
export const nodeFields = {
  name: nullableText,
  instance_uuid: nullableText,
  power_state: nullableText,
  target_power_state: nullableText,
  provision_state: nullableText,
  target_provision_state: nullableText,
  maintenance: z.boolean(),
  maintenance_reason: nullableText,
  driver: z.string(),
  driver_info: jsonObject,
  properties: jsonObject,
  instance_info: jsonObject,
  extra: jsonObject,
  resource_class: nullableText,
  traits: z.array(z.string()),
  fault: nullableText,
  reservation: nullableText,
  last_error: nullableText,
  console_enabled: z.boolean(),
  retired: z.boolean(),
  protected: z.boolean(),
  owner: nullableText,
  lessee: nullableText,
  description: nullableText,
  chassis_uuid: nullableText,
  allocation_uuid: nullableText,
  shard: nullableText,
  conductor: z.string(),
};

/** The links of an object, by its path below the version. */
export const ironicLinks = (base: string, path: string): object[] => [
  { href: `${base}${ironicPrefix}/v1/${path}`, rel: 'self' },
  { href: `${base}${ironicPrefix}/${path}`, rel: 'bookmark' },
];

/** Targets of nodes in transition, because waiting clients treat a node without a target as stopped. */
const onTheWayTo: Readonly<Record<string, string>> = {
  verifying: 'manageable',
  inspecting: 'manageable',
  cleaning: 'available',
  deploying: 'active',
  'wait call-back': 'active',
  deleting: 'available',
  adopting: 'active',
  'deploy hold': 'active',
  'clean hold': 'manageable',
  rescuing: 'rescue',
  unrescuing: 'active',
  servicing: 'active',
  'service hold': 'active',
};

/** The step in progress, for the family of states that it belongs to. */
const stepIn = ({ step, provision_state: state }: NodeView, family: string): object =>
  step && state.startsWith(family) ? step : {};

/** The fields of a node in a list without detail. */
export const nodeRowFields = [
  'uuid',
  'name',
  'instance_uuid',
  'power_state',
  'provision_state',
  'maintenance',
] as const;

/** A time as Ironic shows it, in whole seconds. */
export const ironicSeconds = (time: string | null): string | null =>
  time === null ? null : `${time.slice(0, 19)}+00:00`;

export const nodeBody = (base: string, node: NodeView): Record<string, unknown> & { readonly uuid: string } => ({
  uuid: node.id,
  name: node.name,
  instance_uuid: node.instance_id,
  power_state: node.power_state,
  provision_state: node.provision_state,
  maintenance: node.maintenance,
  links: ironicLinks(base, `nodes/${part(node.id)}`),
  driver: node.driver,
  driver_info: node.driver_info,
  driver_internal_info: {},
  properties: node.properties,
  instance_info: node.instance_info,
  resource_class: node.resource_class,
  traits: node.traits,
  target_power_state: node.target_power_state,
  target_provision_state: node.target_provision_state ?? onTheWayTo[node.provision_state] ?? null,
  maintenance_reason: node.maintenance_reason,
  fault: node.fault,
  reservation: node.reservation,
  last_error: node.last_error === null ? null : node.last_error.message,
  console_enabled: node.console_enabled ?? (consolesOf(node) ?? []).length > 0,
  retired: node.retired,
  retired_reason: node.retired_reason,
  protected: node.protected,
  protected_reason: node.protected_reason,
  owner: node.owner,
  lessee: node.lessee,
  description: node.description,
  clean_step: stepIn(node, 'clean'),
  deploy_step: stepIn(node, 'deploy'),
  service_step: stepIn(node, 'servic'),
  extra: node.extra,
  ...Object.fromEntries(
    interfaceKinds.map((kind) => [
      `${kind}_interface`,
      node.interfaces[kind] ?? driverInterfaces[node.driver][kind][0] ?? null,
    ]),
  ),
  chassis_uuid: node.chassis_id,
  allocation_uuid: node.allocation_id,
  shard: node.shard,
  conductor,
  conductor_group: '',
  automated_clean: null,
  network_data: {},
  parent_node: null,
  disable_power_off: false,
  boot_mode: null,
  secure_boot: null,
  raid_config: {},
  target_raid_config: node.target_raid,
  inspection_started_at: null,
  inspection_finished_at:
    typeof node.properties['inspected_at'] === 'string' ? ironicSeconds(node.properties['inspected_at']) : null,
  ports: ironicLinks(base, `nodes/${node.id}/ports`),
  portgroups: ironicLinks(base, `nodes/${node.id}/portgroups`),
  states: ironicLinks(base, `nodes/${node.id}/states`),
  volume: ironicLinks(base, `nodes/${node.id}/volume`),
  created_at: ironicSeconds(node.created_at),
  updated_at: ironicSeconds(node.updated_at),
  provision_updated_at: ironicSeconds(node.provision_updated_at),
  // Beyond Ironic: all consoles, the complete last error, why the node makes no progress, its BMC, and its progress.
  consoles: consolesOf(node),
  failure: node.last_error,
  conditions: node.conditions,
  bmc: node.bmc,
  progress: node.progress,
});

/** Keeps only the requested fields. */
export function pick(body: Record<string, unknown>, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field, body[field] ?? null]));
}
