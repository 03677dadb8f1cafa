/** The types that put configs on hosts. */
import { autoTransport, deploymentSignalTransports } from '@anneal/contracts/transports.ts';
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { contextType } from './context.ts';
import { checked } from './schema.ts';

const ioTypes = { allowed_values: ['String', 'Number', 'CommaDelimitedList', 'Json', 'Boolean'] };
const hostActions = ['CREATE', 'UPDATE', 'DELETE', 'SUSPEND', 'RESUME'];

const inputs = (update: boolean): PropertySchema => ({
  type: 'List',
  description: 'Inputs of the config.',
  update_allowed: update,
  schema: {
    '*': {
      type: 'Map',
      schema: {
        name: { type: 'String', required: true, description: 'Name under which the config reads the input.' },
        description: { type: 'String', description: 'What the input is for.' },
        type: { type: 'String', default: 'String', constraints: [ioTypes], description: 'The type of the value.' },
        default: { type: 'Any', description: 'Default value.' },
        replace_on_change: {
          type: 'Boolean',
          default: false,
          description: 'A new value replaces the deployment instead of updating it.',
        },
      },
    },
  },
});
const outputs = (update: boolean): PropertySchema => ({
  type: 'List',
  description: 'Outputs of the config.',
  update_allowed: update,
  schema: {
    '*': {
      type: 'Map',
      schema: {
        name: { type: 'String', required: true, description: 'Name under which templates read the output.' },
        description: { type: 'String', description: 'What the output is for.' },
        type: { type: 'String', default: 'String', constraints: [ioTypes], description: 'The type of the value.' },
        error_output: {
          type: 'Boolean',
          default: false,
          description: 'True when a value of this output means failure.',
        },
      },
    },
  },
});
const actions = (values: string[]): PropertySchema => ({
  type: 'List',
  default: ['CREATE', 'UPDATE'],
  update_allowed: true,
  description: 'Actions of the resource that run the config.',
  schema: { '*': { type: 'String', constraints: [{ allowed_values: values }] } },
});
const show = { type: 'Map', description: 'All data of the resource.' };

const deploymentAttributes = {
  deploy_stdout: { type: 'String', description: 'Standard output of the config.' },
  deploy_stderr: { type: 'String', description: 'Standard error of the config.' },
  deploy_status_code: { type: 'Integer', description: 'Exit status of the config; 0 is success.' },
  show,
};

/** An entry that the service does not know is for the tool. */
const options = {
  description:
    'Options of the run (timeout, queue_timeout, grace, on_interrupt, reboot, reboot_timeout), and of the tool.',
  constraints: checked('anneal.config_options'),
};

const softwareConfig: ResourceType = {
  type: 'OS::Heat::SoftwareConfig',
  actions: ['adopt', 'check'],
  description: 'A config with inputs and outputs, for use in deployments. It is immutable: a change replaces it.',
  properties: {
    group: { type: 'String', default: 'Heat::Ungrouped', description: 'Tool that applies the config.' },
    config: { type: 'String', description: 'The config itself.' },
    options: { type: 'Map', ...options },
    inputs: inputs(false),
    outputs: outputs(false),
  },
  attributes: { config: { type: 'String', description: 'The config itself.' }, show },
  budget_seconds: 60,
};

const softwareComponent: ResourceType = {
  type: 'OS::Heat::SoftwareComponent',
  actions: ['adopt', 'check'],
  description: 'Configs for the life-cycle actions of a piece of software.',
  properties: {
    configs: {
      type: 'List',
      required: true,
      description: 'One entry per set of actions; an action may be in only one entry.',
      constraints: [{ length: { min: 1 } }],
      schema: {
        '*': {
          type: 'Map',
          schema: {
            actions: {
              type: 'List',
              default: ['CREATE', 'UPDATE'],
              constraints: [{ length: { min: 1 } }],
              description: 'The actions of the deployment that run the config.',
              schema: { '*': { type: 'String', constraints: [{ allowed_values: hostActions }] } },
            },
            config: { type: 'String', description: 'The config itself.' },
            tool: { type: 'String', required: true, description: 'Tool that applies the config.' },
          },
        },
      },
    },
    inputs: inputs(false),
    outputs: outputs(false),
    options: { type: 'Map', ...options },
  },
  attributes: { configs: { type: 'List', description: 'The configs.' }, show },
  budget_seconds: 60,
};

const softwareDeployment: ResourceType = {
  type: 'OS::Heat::SoftwareDeployment',
  actions: ['adopt', 'check', 'suspend', 'resume', 'signal'],
  supersedes: true,
  cancels: true,
  withdraws: true,
  queue: { kind: 'anneal.host', property: 'server' },
  description: 'One config, with values for its inputs, on one host.',
  properties: {
    config: { type: 'String', update_allowed: true, description: 'Id of the config.' },
    server: { type: 'String', required: true, description: 'Id of the host.' },
    input_values: { type: 'Map', update_allowed: true, description: 'Values of the inputs.' },
    actions: actions(hostActions),
    name: { type: 'String', update_allowed: true, description: 'Name of the deployment on the host.' },
    signal_transport: {
      type: 'String',
      default: 'ZAQAR_SIGNAL',
      description:
        "How heat-config-notify answers; Anneal's agent always answers through its queue. AUTO follows the server's `software_config_transport`. With NO_SIGNAL the deployment does not wait for the answer.",
      constraints: [{ allowed_values: [...deploymentSignalTransports, autoTransport] }],
    },
  },
  attributes: deploymentAttributes,
  open_attributes: true,
};

const orderedConfig: ResourceType = {
  type: 'OS::Heat::OrderedConfig',
  actions: ['adopt', 'check', 'suspend', 'resume', 'signal'],
  supersedes: true,
  cancels: true,
  withdraws: true,
  queue: { kind: 'anneal.host', property: 'hosted_on' },
  description:
    'A config on a host that runs after the configs that it depends on. A change of the script runs it again.',
  properties: {
    hosted_on: { type: 'String', required: true, description: 'Id of the host.' },
    script: { type: 'String', update_allowed: true, description: 'A script; its first line names the interpreter.' },
    config: { type: 'String', update_allowed: true, description: 'The config of another tool, instead of a script.' },
    group: { type: 'String', update_allowed: true, description: 'Tool that applies `config`.' },
    inputs: inputs(true),
    input_values: { type: 'Map', update_allowed: true, description: 'Values of the inputs.' },
    outputs: outputs(true),
    depends_on: {
      type: 'Any',
      update_allowed: true,
      description: 'Id or list of ids of configs that must complete first.',
    },
    marconi_server: {
      type: 'String',
      update_allowed: true,
      description: 'Without effect: hosts always use the queues of this system.',
    },
    actions: actions(hostActions),
    options: { type: 'Map', update_allowed: true, ...options },
    name: { type: 'String', update_allowed: true, description: 'Name of the deployment on the host.' },
  },
  attributes: deploymentAttributes,
  open_attributes: true,
};

const structuredConfig: ResourceType = {
  type: 'OS::Heat::StructuredConfig',
  actions: ['adopt', 'check'],
  description: 'A config that is a map, with its inputs and outputs, for deployments to use.',
  properties: {
    group: { type: 'String', default: 'Heat::Ungrouped', description: 'Tool that applies the config.' },
    config: { type: 'Map', description: 'The config itself.' },
    options: { type: 'Map', ...options },
    inputs: inputs(false),
    outputs: outputs(false),
  },
  attributes: { config: { type: 'String', description: 'The config itself.' }, show },
  budget_seconds: 60,
};

const cloudConfig: ResourceType = {
  type: 'OS::Heat::CloudConfig',
  actions: ['adopt', 'check'],
  description: 'A config for cloud-init, from a map.',
  properties: { cloud_config: { type: 'Map', description: 'Configuration for cloud-init.' } },
  attributes: { config: { type: 'String', description: 'The config itself.' }, show },
  budget_seconds: 60,
};

const multipartMime: ResourceType = {
  type: 'OS::Heat::MultipartMime',
  actions: ['adopt', 'check'],
  description: 'Several configs as one message, for cloud-init.',
  properties: {
    group: { type: 'String', default: 'Heat::Ungrouped', description: 'Tool that applies the config.' },
    parts: {
      type: 'List',
      default: [],
      description: 'The configs, in order.',
      schema: {
        '*': {
          type: 'Map',
          schema: {
            config: { type: 'String', required: true, description: 'The text, or the id of a config.' },
            filename: { type: 'String', description: 'Name of the part.' },
            type: {
              type: 'String',
              default: 'text',
              description: 'Type of the part. The parts of a `multipart` config are included.',
              constraints: [{ allowed_values: ['text', 'multipart'] }],
            },
            subtype: { type: 'String', description: 'Subtype of the text; by default derived from the name.' },
          },
        },
      },
    },
  },
  attributes: { config: { type: 'String', description: 'The message.' }, show },
  budget_seconds: 60,
};

const structuredDeployment: ResourceType = {
  ...softwareDeployment,
  type: 'OS::Heat::StructuredDeployment',
  description: 'One config that is a map, filled with values, on one host.',
  properties: {
    ...softwareDeployment.properties,
    input_key: {
      type: 'String',
      default: 'get_input',
      description: 'A map with only this key is replaced by the input that it names.',
    },
    input_values_validate: {
      type: 'String',
      default: 'LAX',
      description: 'A missing value becomes null, or with STRICT is refused.',
      constraints: [{ allowed_values: ['LAX', 'STRICT'] }],
    },
  },
};

const queueServer: ResourceType = {
  type: 'OS::Marconi::QueueServer',
  description:
    'The server of the host queues. The system already has one, so this creates nothing and only gives its address.',
  properties: {
    image: {
      type: 'String',
      update_allowed: true,
      description: 'Without effect: the system has a queue server already.',
    },
    flavor: {
      type: 'String',
      update_allowed: true,
      description: 'Without effect: the system has a queue server already.',
    },
    key_name: {
      type: 'String',
      update_allowed: true,
      description: 'Without effect: the system has a queue server already.',
    },
    name: { type: 'String', update_allowed: true, description: 'Name of the server.' },
  },
  attributes: {
    url: { type: 'String', description: 'URL at which hosts reach their queues.' },
    name: { type: 'String', description: 'Name of the server.' },
    show,
  },
  failed_update: 'repair',
  budget_seconds: 60,
};

/** The types of the configuration service. */
export const configurationTypes: ResourceType[] = [
  softwareConfig,
  softwareComponent,
  softwareDeployment,
  structuredConfig,
  structuredDeployment,
  cloudConfig,
  multipartMime,
  orderedConfig,
  queueServer,
  contextType,
];
