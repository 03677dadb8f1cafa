/** Servers, configs and deployments. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { seenIn, type TypeEntry } from './entry.ts';

const runs = 'services/configuration/deployments/deployment.service.test.ts';
const groupsOfHosts = 'test/e2e/deployment-groups.test.ts';
const provisioning = 'test/system/provisioning/provisioning.test.ts';
const placement = 'test/system/provisioning/placement.test.ts';
const addresses = 'services/provisioning/servers/addresses.test.ts';
const contexts = 'services/configuration/contexts/contexts.service.test.ts';

const host: JsonObject = { get_param: 'host' };
const ref = (name: string): JsonObject => ({ get_resource: name });
const inputs: Json = [{ name: 'a', description: '@', type: 'Json', default: '@', replace_on_change: true }];
const outputs: Json = [{ name: 'b', description: '@', type: 'Json', error_output: true }];
const options: Json = { timeout: 30, 'tool-option': '@' };
const config = { group: 'ansible', inputs, outputs, options };
const ofConfig = {
  ...seenIn('test/e2e/blue-green.test.ts', 'inputs[].name inputs[].replace_on_change'),
  ...seenIn('services/agent/batch.service.test.ts', 'outputs[].name outputs[].error_output'),
};
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
const seenOfStructured = seenIn(runs, 'input_values_validate');
const structured = {
  base: { config: ref('structure'), input_values: { a: 'v' } },
  values: { ...strict, config: ref('structure') },
};
const { server: _server, ...ofGroup } = deployment;
const servers = {
  base: { config: ref('config'), servers: { one: host } },
  values: { ...ofGroup, servers: { two: host } },
};
const groupOfStructured = {
  base: { ...servers.base, ...structured.base },
  values: { ...servers.values, ...structured.values },
  names: ['name'],
  seen: seenIn(groupsOfHosts, 'config'),
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
  networks: [{ network: '@', tag: '@', floating_ip: '@', port_extra_properties: { value_specs: { a: '@' } } }],
  availability_zone: '@',
  scheduler_hints: { traits: '@' },
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

/** The records of a server that waits for a node show its name alone. */
const ofServer = {
  ...seenIn(provisioning, 'image flavor metadata user_data user_data_update_policy'),
  ...seenIn(
    addresses,
    'networks networks[].network networks[].uuid networks[].port networks[].subnet networks[].fixed_ip networks[].allocate_network',
  ),
  ...seenIn('services/provisioning/servers/placement.test.ts', 'availability_zone'),
  ...seenIn(placement, 'scheduler_hints'),
  ...seenIn('test/programs/collectors/collect.test.ts', 'software_config_transport'),
  ...seenIn('test/e2e/imports/import.test.ts', 'tags'),
};

export const hostEntries: Readonly<Record<string, TypeEntry>> = {
  'OS::Heat::SoftwareConfig': { values: { ...config, config: '@' }, seen: ofConfig },
  'OS::Heat::StructuredConfig': {
    values: { ...config, config: { k: '@', i: { get_input: 'a' } } },
    seen: ofConfig,
  },
  'OS::Heat::SoftwareComponent': {
    base: { configs: [{ actions: ['CREATE'], config: 'x', tool: 'script' }] },
    values: { inputs, outputs, options, configs: [{ actions: ['CREATE', 'DELETE'], config: '@', tool: 'script' }] },
    seen: { ...ofConfig, ...seenIn('test/e2e/blue-green.test.ts', 'configs[].tool') },
  },
  'OS::Heat::CloudConfig': { values: { cloud_config: { runcmd: ['@'] } } },
  'OS::Heat::MultipartMime': {
    values: {
      group: 'script',
      parts: [
        { config: '@', filename: '@', subtype: 'x' },
        { config: '@', type: 'multipart' },
      ],
    },
  },
  'OS::Heat::SoftwareDeployment': {
    base: deployed,
    values: deployment,
    names: ['name'],
    seen: seenIn(groupsOfHosts, 'server'),
  },
  'OS::Heat::StructuredDeployment': {
    base: { ...deployed, ...structured.base },
    values: { ...deployment, ...structured.values },
    with: { input_key: { config: ref('structure') } },
    names: ['name'],
    seen: { ...seenOfStructured, ...seenIn(groupsOfHosts, 'server config') },
  },
  'OS::Heat::OrderedConfig': {
    base: { hosted_on: host },
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
    with: { group: { config: 'x' } },
    names: ['name'],
    seen: { ...ofConfig, ...seenIn('test/agents/overtaken.test.ts', 'hosted_on') },
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
    seen: seenIn(contexts, 'configs[].config'),
    keeps: seenIn(contexts, 'members facts configs configs[].name configs[].roles configs[].input_values'),
  },
  'OS::Nova::Server': {
    base: { flavor: 'm1.small' },
    values: boot,
    names: ['name'],
    waits: true,
    seen: ofServer,
    keeps: seenIn(provisioning, 'name'),
  },
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
    values: { name: '@', policies: ['affinity'], rules: { max_server_per_host: 2, domain: 'power_domain' } },
    names: ['name'],
    keeps: seenIn(placement, 'name policies rules rules.max_server_per_host rules.domain'),
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
    seen: seenIn(placement, 'node address'),
    keeps: seenIn(placement, 'physical_network local_link_connection pxe_enabled is_smartnic extra'),
  },
};
