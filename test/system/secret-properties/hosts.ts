/** Servers, configs and deployments. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { TypeEntry } from './twins.ts';

const host: JsonObject = { get_param: 'host' };
const ref = (name: string): JsonObject => ({ get_resource: name });
const inputs: Json = [{ name: 'a', type: 'String', default: '@', replace_on_change: true }];
const outputs: Json = [{ name: 'b', type: 'String', error_output: true }];
const options: Json = { timeout: 30, 'tool-option': '@' };
const config = { group: 'script', inputs, outputs, options };
/** The texts of the names of inputs, outputs and options are read by everybody who sees the config. */
const deployed = { config: ref('config'), server: host };
const deployment = {
  config: ref('other'),
  server: host,
  input_values: { a: '@', m: { deep: ['@'] } },
  actions: ['CREATE', 'DELETE'],
  name: '@',
  signal_transport: 'NO_SIGNAL',
};
const strict = { input_key: 'get_value', input_values_validate: 'STRICT' };
const structured = {
  base: { config: ref('structure'), input_values: { a: 'v' } },
  values: { ...strict, config: ref('structure') },
};
const { server: _server, ...ofGroup } = deployment;
const servers = {
  base: { config: ref('config'), servers: { one: host } },
  values: { ...ofGroup, servers: { one: host } },
};
const groupOfStructured = {
  base: { ...servers.base, ...structured.base },
  values: { ...servers.values, ...structured.values },
  names: ['name'],
};

/** The configs that the deployments refer to. */
export const configs: JsonObject = {
  config: { type: 'OS::Heat::SoftwareConfig', properties: { group: 'script', config: 'one', inputs: [{ name: 'a' }] } },
  other: { type: 'OS::Heat::SoftwareConfig', properties: { group: 'script', config: 'two', inputs: [{ name: 'a' }] } },
  structure: {
    type: 'OS::Heat::StructuredConfig',
    properties: { group: 'script', config: { k: { get_input: 'a' } }, inputs: [{ name: 'a' }] },
  },
};

const boot = {
  name: '@',
  image: 'debian',
  image_update_policy: 'REPLACE',
  flavor: 'm1.large',
  flavor_update_policy: 'REPLACE',
  key_name: '@',
  networks: [{ network: '@' }],
  availability_zone: '@',
  scheduler_hints: { traits: 'CUSTOM_ABSENT' },
  metadata: { a: '@' },
  user_data: '@',
  user_data_format: 'RAW',
  user_data_update_policy: 'REPLACE',
  software_config_transport: 'POLL_SERVER_HEAT',
  deployment_swift_data: { container: '@', object: '@' },
  config_drive: true,
  admin_user: '@',
  admin_pass: '@',
  security_groups: ['@'],
  block_device_mapping: [],
  block_device_mapping_v2: [],
  tags: ['@'],
  reservation_id: '',
  diskConfig: 'MANUAL',
  personality: { '/a': '@' },
};

export const hostEntries: Readonly<Record<string, TypeEntry>> = {
  'OS::Heat::SoftwareConfig': { values: { ...config, config: '@' } },
  'OS::Heat::StructuredConfig': { values: { ...config, config: { k: '@', i: { get_input: 'a' } } } },
  'OS::Heat::SoftwareComponent': {
    base: { configs: [{ actions: ['CREATE'], config: 'x', tool: 'script' }] },
    values: { inputs, outputs, options, configs: [{ actions: ['CREATE', 'DELETE'], config: '@', tool: 'script' }] },
  },
  'OS::Heat::CloudConfig': { values: { cloud_config: { runcmd: ['@'] } } },
  'OS::Heat::MultipartMime': {
    values: { group: 'script', parts: [{ config: ref('config') }, { config: '@', filename: '@', subtype: 'x' }] },
  },
  'OS::Heat::SoftwareDeployment': { base: deployed, values: deployment, names: ['name'] },
  'OS::Heat::StructuredDeployment': {
    base: { ...deployed, ...structured.base },
    values: { ...deployment, ...structured.values },
    with: { input_key: { config: ref('structure') } },
    names: ['name'],
  },
  'OS::Heat::OrderedConfig': {
    base: { hosted_on: host, script: 'x' },
    values: {
      ...config,
      hosted_on: host,
      script: '@',
      config: '@',
      input_values: { a: '@', m: { deep: ['@'] } },
      depends_on: ref('first'),
      marconi_server: '@',
      actions: ['CREATE', 'DELETE'],
      name: '@',
    },
    names: ['name'],
  },
  'OS::Heat::SoftwareDeploymentGroup': { ...servers, names: ['name'] },
  'OS::Heat::SoftwareDeployments': { ...servers, names: ['name'] },
  'OS::Heat::StructuredDeploymentGroup': groupOfStructured,
  'OS::Heat::StructuredDeployments': groupOfStructured,
  'OS::Marconi::QueueServer': { values: { image: '@', flavor: '@', key_name: '@', name: '@' } },
  'Anneal::Context': {
    base: { members: { all: host } },
    values: {
      members: { role: host },
      facts: ['rack'],
      configs: [{ config: ref('config'), name: 'n', input_values: { a: '@' }, roles: ['role'] }],
    },
    with: { configs: { members: { role: host } } },
  },
  'OS::Nova::Server': { base: { flavor: 'm1.small' }, values: boot, names: ['name'], waits: true },
  'OS::Heat::DeployedServer': {
    values: {
      name: '@',
      software_config_transport: 'POLL_SERVER_HEAT',
      deployment_swift_data: { container: '@', object: '@' },
      metadata: { a: '@' },
    },
    names: ['name'],
  },
  'OS::Nova::ServerGroup': {
    values: { name: '@', policies: ['affinity'], rules: { max_server_per_host: 2, domain: 'rack' } },
    names: ['name'],
  },
  'OS::Ironic::Port': {
    base: { node: 'rack-one', address: '52:54:00:00:00:##' },
    values: {
      node: 'rack-one',
      address: '52:54:00:00:00:##',
      physical_network: '@',
      local_link_connection: { switch_info: '@' },
      pxe_enabled: false,
      is_smartnic: true,
      extra: { a: '@' },
      portgroup: '',
    },
    names: ['physical_network', 'local_link_connection', 'extra'],
  },
};
