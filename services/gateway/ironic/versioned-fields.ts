/**
 * The fields of Ironic's objects, and since which version of the API each exists. Pure.
 *
 * V1 A request may not name a field, a filter or a key that is younger than its version: 406, as in Ironic.
 * V2 An answer does not show a field that is younger than the version of the request.
 */
import { interfaceKinds } from '@anneal/contracts/drivers.ts';

/** By name, the minor version since which it exists. Absent: 1. */
type Since = Readonly<Record<string, number>>;

const interfaces: Since = {
  ...Object.fromEntries(interfaceKinds.map((kind) => [`${kind}_interface`, 31])),
  network_interface: 20,
  storage_interface: 33,
  rescue_interface: 38,
  bios_interface: 40,
  firmware_interface: 86,
};
const node: Since = {
  driver_internal_info: 3,
  name: 5,
  inspection_finished_at: 6,
  inspection_started_at: 6,
  clean_step: 7,
  raid_config: 12,
  target_raid_config: 12,
  ...interfaces,
  resource_class: 21,
  traits: 37,
  fault: 42,
  deploy_step: 44,
  conductor_group: 46,
  automated_clean: 47,
  protected: 48,
  protected_reason: 48,
  conductor: 49,
  owner: 50,
  description: 51,
  allocation_uuid: 52,
  retired: 61,
  retired_reason: 61,
  lessee: 65,
  network_data: 66,
  boot_mode: 75,
  secure_boot: 75,
  shard: 82,
  parent_node: 83,
  service_step: 87,
  disable_power_off: 95,
};
const port: Since = {
  internal_info: 18,
  local_link_connection: 19,
  pxe_enabled: 19,
  portgroup_uuid: 24,
  physical_network: 34,
  is_smartnic: 53,
  name: 88,
};
const portGroup: Since = { mode: 26, properties: 26, physical_network: 34 };
const allocation: Since = { node: 58, owner: 60 };

const paging: Since = { fields: 8 };
const nodeFilters: Since = {
  ...paging,
  provision_state: 9,
  driver: 16,
  resource_class: 21,
  fault: 42,
  conductor_group: 46,
  conductor: 49,
  owner: 50,
  description_contains: 51,
  retired: 61,
  lessee: 65,
  project: 65,
  shard: 82,
  sharded: 82,
  parent_node: 83,
  include_children: 83,
};

interface Versioned {
  readonly fields: Since;
  readonly filters: Since;
  /** The key of a list. */
  readonly list: string;
}

const kinds: readonly (readonly [route: RegExp, versioned: Versioned])[] = [
  [/^\/v1\/(?:chassis\/[^/]+\/)?nodes(?:\/[^/]+)?$/, { fields: node, filters: nodeFilters, list: 'nodes' }],
  [/^\/v1\/nodes\/[^/]+\/states$/, { fields: node, filters: {}, list: '' }],
  [
    /^\/v1\/(?:(?:nodes|portgroups)\/[^/]+\/)?ports(?:\/[^/]+)?$/,
    { fields: port, filters: { ...paging, portgroup: 24 }, list: 'ports' },
  ],
  [/^\/v1\/(?:nodes\/[^/]+\/)?portgroups(?:\/[^/]+)?$/, { fields: portGroup, filters: paging, list: 'portgroups' }],
  [
    /^\/v1\/(?:allocations(?:\/[^/]+)?|nodes\/[^/]+\/allocation)$/,
    { fields: allocation, filters: {}, list: 'allocations' },
  ],
];

/** @param path the address below the prefix of the API, without the query. */
const versionedAt = (path: string): Versioned | undefined =>
  kinds.find(([route]) => route.test(path.replace(/(?<=.)\/$/, '')))?.[1];

interface Asked {
  readonly path: string;
  readonly minor: number;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/** V1. What the request names too early. Undefined: nothing. */
export function tooNewIn({ path, minor, query, body }: Asked): { name: string; since: number } | undefined {
  const versioned = versionedAt(path);
  if (!versioned) return undefined;
  const { fields, filters } = versioned;
  const named = typeof query['fields'] === 'string' ? query['fields'].split(',') : [];
  const inBody = Array.isArray(body) ? body.flatMap(fieldOfOperation) : isPlain(body) ? Object.keys(body) : [];
  const all = [
    ...Object.keys(query).map((name) => ({ name, since: sinceOf(filters, name) })),
    ...[...named, ...inBody].map((name) => ({ name, since: sinceOf(fields, name) })),
  ];
  return all.find(({ since }) => since > minor);
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The field that an operation of a patch names. */
function fieldOfOperation(operation: unknown): string[] {
  const path = isPlain(operation) ? operation['path'] : undefined;
  return typeof path === 'string' ? [path.split('/')[1] ?? ''] : [];
}

const sinceOf = (since: Since, name: string): number => (Object.hasOwn(since, name) ? (since[name] ?? 1) : 1);

/** V2. The answer without younger fields. Before 1.2, the state `available` has no name. */
export function answerAt(answer: unknown, { path, minor }: { path: string; minor: number }): unknown {
  const versioned = versionedAt(path);
  if (!versioned || !isPlain(answer)) return answer;
  const { fields, list } = versioned;
  const visible = (item: unknown): unknown => {
    if (!isPlain(item)) return item;
    const shown = Object.fromEntries(Object.entries(item).filter(([name]) => sinceOf(fields, name) <= minor));
    return minor < 2 && shown['provision_state'] === 'available' ? { ...shown, provision_state: null } : shown;
  };
  const items = answer[list];
  return Array.isArray(items) ? { ...answer, [list]: items.map(visible) } : visible(answer);
}
