/** Data processing: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, listOf, map, mapOf, oneOf, resourceType, string } from '../schema.ts';

const shares = listOf(
  mapOf({
    id: string({ required: true }),
    path: string(),
    access_level: string({ default: 'rw', constraints: oneOf('rw', 'ro') }),
  }),
  { update_allowed: true },
);

const credentials = mapOf(
  { user: string({ required: true }), password: string({ required: true }) },
  { update_allowed: true },
);
/** Properties of all templates: names are host names. */
const templateProperties = {
  name: string({
    update_allowed: true,
    constraints: [
      { length: { min: 1, max: 50 } },
      {
        allowed_pattern:
          '^(([a-zA-Z]|[a-zA-Z][a-zA-Z0-9\\-]*[a-zA-Z0-9])\\.)*([A-Za-z]|[A-Za-z][A-Za-z0-9\\-]*[A-Za-z0-9])$',
      },
    ],
  }),
  description: string({ default: '', update_allowed: true }),
  plugin_name: string({ required: true, update_allowed: true, constraints: checked('sahara.plugin') }),
  hadoop_version: string({ required: true, update_allowed: true }),
};

/** Their schemas, which an offline check uses. */
export const saharaTypes: ResourceType[] = [
  resourceType(
    'OS::Sahara::Cluster',
    {
      name: string({
        constraints: [
          { length: { min: 1, max: 80 } },
          {
            allowed_pattern:
              '^(([a-zA-Z]|[a-zA-Z][a-zA-Z0-9\\-]*[a-zA-Z0-9])\\.)*([A-Za-z]|[A-Za-z][A-Za-z0-9\\-]*[A-Za-z0-9])$',
          },
        ],
      }),
      plugin_name: string({ required: true, constraints: checked('sahara.plugin') }),
      hadoop_version: string({ required: true }),
      cluster_template_id: string({ required: true, constraints: checked('sahara.cluster_template') }),
      key_name: string({ constraints: checked('nova.keypair') }),
      image: string({ constraints: checked('glance.image') }),
      default_image_id: string({ constraints: checked('sahara.image') }),
      neutron_management_network: string({ required: true, constraints: checked('neutron.network') }),
      use_autoconfig: boolean(),
      shares: listOf(
        mapOf({
          id: string({ required: true }),
          path: string(),
          access_level: string({ default: 'rw', constraints: oneOf('rw', 'ro') }),
        }),
      ),
    },
    { status: 'String', info: 'Map' },
  ),
  resourceType(
    'OS::Sahara::ClusterTemplate',
    {
      ...templateProperties,
      default_image_id: string({ update_allowed: true, constraints: checked('sahara.image') }),
      neutron_management_network: string({ update_allowed: true, constraints: checked('neutron.network') }),
      anti_affinity: listOf(string(), { update_allowed: true }),
      cluster_configs: map({ update_allowed: true }),
      node_groups: listOf(
        mapOf({
          name: string({ required: true }),
          count: integer({ required: true, constraints: [{ range: { min: 1 } }] }),
          node_group_template_id: string({ required: true }),
        }),
        { update_allowed: true },
      ),
      use_autoconfig: boolean(),
      shares,
    },
    {},
  ),
  resourceType(
    'OS::Sahara::DataSource',
    {
      name: string({ update_allowed: true }),
      type: string({ required: true, update_allowed: true, constraints: oneOf('swift', 'hdfs', 'maprfs', 'manila') }),
      url: string({ required: true, update_allowed: true }),
      description: string({ default: '', update_allowed: true }),
      credentials,
    },
    {},
  ),
  resourceType(
    'OS::Sahara::ImageRegistry',
    {
      image: string({ required: true, constraints: checked('glance.image') }),
      username: string({ required: true, update_allowed: true }),
      description: string({ default: '', update_allowed: true }),
      tags: listOf(string(), { default: [], update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Sahara::Job',
    {
      name: string({
        update_allowed: true,
        constraints: [{ length: { min: 1, max: 50 } }, { allowed_pattern: '^[a-zA-Z0-9][a-zA-Z0-9\\-_\\.]*$' }],
      }),
      type: string({ required: true, constraints: checked('sahara.job_type') }),
      mains: listOf(string({ constraints: checked('sahara.job_binary') }), {
        default: [],
        constraints: [{ length: { max: 1 } }],
      }),
      libs: listOf(string({ constraints: checked('sahara.job_binary') }), { default: [] }),
      description: string({ update_allowed: true }),
      is_public: boolean({ default: false, update_allowed: true }),
      is_protected: boolean({ default: false, update_allowed: true }),
      default_execution_data: mapOf(
        {
          cluster: string({ required: true, constraints: checked('sahara.cluster') }),
          input: string({ constraints: checked('sahara.data_source') }),
          output: string({ constraints: checked('sahara.data_source') }),
          configs: map({ default: {} }),
          params: map({ default: {} }),
          args: listOf(string(), { default: [] }),
          is_public: boolean({ default: false }),
          interface: map({ default: {} }),
        },
        { update_allowed: true },
      ),
    },
    { default_execution_url: 'String', executions: 'List' },
  ),
  resourceType(
    'OS::Sahara::JobBinary',
    {
      name: string({ update_allowed: true }),
      url: string({ required: true, update_allowed: true }),
      description: string({ default: '', update_allowed: true }),
      credentials,
    },
    {},
  ),
  resourceType(
    'OS::Sahara::NodeGroupTemplate',
    {
      ...templateProperties,
      flavor: string({ required: true, update_allowed: true, constraints: checked('nova.flavor') }),
      volumes_per_node: integer({ default: 0, update_allowed: true, constraints: [{ range: { min: 0 } }] }),
      volumes_size: integer({ update_allowed: true, constraints: [{ range: { min: 1 } }] }),
      volume_type: string({ update_allowed: true, constraints: checked('cinder.vtype') }),
      security_groups: listOf(string(), { update_allowed: true }),
      auto_security_group: boolean({ update_allowed: true }),
      availability_zone: string({ update_allowed: true }),
      volumes_availability_zone: string({ update_allowed: true }),
      node_processes: listOf(string(), { required: true, update_allowed: true, constraints: [{ length: { min: 1 } }] }),
      floating_ip_pool: string({ update_allowed: true }),
      node_configs: map({ update_allowed: true }),
      image_id: string({ update_allowed: true, constraints: checked('sahara.image') }),
      is_proxy_gateway: boolean({ update_allowed: true }),
      volume_local_to_instance: boolean({ update_allowed: true }),
      use_autoconfig: boolean({ update_allowed: true }),
      shares,
    },
    {},
  ),
];
