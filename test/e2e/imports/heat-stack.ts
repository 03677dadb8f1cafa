/** The data of a stack in the form in which Heat abandons it, with the keys that Heat writes and no others. */
import type { JsonObject } from '@anneal/contracts/json.ts';

const ids = {
  server: '6f2a3c51-8a0e-4f5b-9d43-0b7f1c2d3e4f',
  first: '11de4f0a-7c1b-4c55-8a56-3f0d2f3a9c01',
  second: '22de4f0a-7c1b-4c55-8a56-3f0d2f3a9c02',
  runFirst: '33de4f0a-7c1b-4c55-8a56-3f0d2f3a9c03',
  runFleet: '55de4f0a-7c1b-4c55-8a56-3f0d2f3a9c05',
  runSecond: '44de4f0a-7c1b-4c55-8a56-3f0d2f3a9c04',
};
/** The ids of the objects. */
export const heatIds = ids;

/** A script that leaves a line in a trace when it runs. */
const script = (trace: string, word: string): string =>
  `#!/bin/sh\necho ${word} >> ${trace}\nprintf %s "$word" > $heat_outputs_path.said\n`;

const config = (trace: string, word: string): JsonObject => ({
  type: 'OS::Heat::SoftwareConfig',
  properties: {
    group: 'script',
    inputs: [{ name: 'word' }],
    outputs: [{ name: 'said' }],
    config: script(trace, word),
  },
});

const deployment = (of: string, word: JsonObject | string): JsonObject => ({
  type: 'OS::Heat::SoftwareDeployment',
  properties: {
    config: { get_resource: of },
    server: { get_resource: 'server' },
    input_values: { word },
    signal_transport: 'CFN_SIGNAL',
  },
});

/** The template of the stack. `words` are what its two configs write. */
export const heatTemplate = (trace: string, words: readonly [string, string] = ['one', 'two']): JsonObject => ({
  heat_template_version: '2018-08-31',
  parameters: { password: { type: 'string', hidden: true } },
  resources: {
    server: {
      type: 'OS::Nova::Server',
      properties: { image: 'centos', flavor: 'baremetal', user_data_format: 'SOFTWARE_CONFIG' },
    },
    first: config(trace, words[0]),
    second: config(trace, words[1]),
    run_first: deployment('first', { get_param: 'password' }),
    run_second: deployment('second', { get_attr: ['run_first', 'said'] }),
    fleet: {
      type: 'OS::Heat::SoftwareDeploymentGroup',
      properties: { config: { get_resource: 'first' }, servers: { web: { get_resource: 'server' } } },
    },
    token: { type: 'OS::Heat::RandomString', properties: { length: 12 } },
    names: { type: 'names.yaml', properties: { count: 2 } },
  },
  outputs: {
    said: { value: { get_attr: ['run_first', 'said'] } },
    token: { value: { get_attr: ['token', 'value'] } },
    names: { value: { get_attr: ['names', 'values'] } },
  },
});

const namesTemplate = {
  heat_template_version: '2018-08-31',
  parameters: { count: { type: 'number' } },
  resources: {
    group: {
      type: 'OS::Heat::AutoScalingGroup',
      properties: {
        min_size: 1,
        max_size: 3,
        desired_capacity: { get_param: 'count' },
        resource: { type: 'OS::Heat::RandomString' },
      },
    },
  },
  outputs: { values: { value: { get_attr: ['group', 'outputs_list', 'value'] } } },
};
/** The file that the template names. */
export const heatFiles = { 'names.yaml': JSON.stringify(namesTemplate) };

const plain = (name: string, type: string, id: string, more: JsonObject = {}): JsonObject => ({
  name,
  resource_id: id,
  type,
  action: 'CREATE',
  status: 'COMPLETE',
  metadata: {},
  resource_data: {},
  ...more,
});
const random = (name: string, value: string): JsonObject =>
  plain(name, 'OS::Heat::RandomString', `web-${name}-k3hw2`, { resource_data: { value } });

const stackOf = (name: string, template: JsonObject, more: JsonObject): JsonObject => ({
  name,
  id: '456a8a8e-15bb-4f4e-8e49-c1b7065ca0c4',
  action: 'CREATE',
  environment: {
    resource_registry: { resources: {} },
    parameters: {},
    parameter_defaults: {},
    event_sinks: [],
    encrypted_param_names: [],
  },
  files: heatFiles,
  status: 'COMPLETE',
  template,
  project_id: '5f5a1d3b6f0f4d5e9f0a1b2c3d4e5f60',
  stack_user_project_id: 'eea272bc0fdf4fad914a88b59f4f91c1',
  tags: [],
  ...more,
});

const groupTemplate = {
  heat_template_version: '2018-08-31',
  resources: { dkqe5dl5vqzn: { type: 'OS::Heat::RandomString' }, w7gqm3sdlp2c: { type: 'OS::Heat::RandomString' } },
};

const fleetTemplate = {
  heat_template_version: '2018-08-31',
  resources: {
    web: { type: 'OS::Heat::SoftwareDeployment', properties: { config: ids.first, server: ids.server } },
  },
};

/** The file that `openstack stack abandon` writes. A nested stack has no `resource_id` and no `type`, and secrets are in it. */
export const heatData = (trace: string): JsonObject =>
  stackOf('web', heatTemplate(trace), {
    environment: {
      resource_registry: { resources: {} },
      parameters: { password: 'hush-hush' },
      parameter_defaults: {},
      event_sinks: [],
      encrypted_param_names: ['password'],
    },
    tags: ['moved', 'rack-7'],
    resources: {
      server: plain('server', 'OS::Nova::Server', ids.server, {
        metadata: { 'os-collect-config': { cfn: { secret_access_key: 'old-secret' } }, deployments: [] },
        resource_data: { user_id: 'u1', secret_key: 'old-secret' },
      }),
      first: plain('first', 'OS::Heat::SoftwareConfig', ids.first),
      second: plain('second', 'OS::Heat::SoftwareConfig', ids.second),
      run_first: plain('run_first', 'OS::Heat::SoftwareDeployment', ids.runFirst, {
        resource_data: { ec2_signed_url: 'http://old/?Signature=old-secret', secret_key: 'old-secret' },
      }),
      run_second: plain('run_second', 'OS::Heat::SoftwareDeployment', ids.runSecond),
      fleet: stackOf('web-fleet-abc', fleetTemplate, {
        resources: { web: plain('web', 'OS::Heat::SoftwareDeployment', ids.runFleet) },
      }),
      token: random('token', 'drawn-by-heat'),
      names: stackOf('web-names-abc', namesTemplate, {
        resources: {
          group: stackOf('web-names-abc-group-def', groupTemplate, {
            resources: { dkqe5dl5vqzn: random('dkqe5dl5vqzn', 'ann'), w7gqm3sdlp2c: random('w7gqm3sdlp2c', 'bob') },
          }),
        },
      }),
    },
  });

/** Heat's list of deployments. */
export const heatDeployments = {
  software_deployments: [
    {
      id: ids.runFirst,
      config_id: ids.first,
      status: 'COMPLETE',
      output_values: { said: 'hush-hush', deploy_stdout: 'x', deploy_stderr: '', deploy_status_code: 0 },
    },
    {
      id: ids.runSecond,
      config_id: ids.second,
      status: 'COMPLETE',
      output_values: { said: 'hush-hush', deploy_status_code: 0 },
    },
  ],
};
