/** Deployments on several servers at once: schemas; the engine makes a deployment for each server. */
import { autoTransport, deploymentSignalTransports } from '@anneal/contracts/transports.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { list, map, oneOf, string } from './schema.ts';

const deployment = {
  servers: map({
    required: true,
    update_allowed: true,
    description: 'The ids of the servers by name. The group has a deployment for each.',
  }),
  config: string({ update_allowed: true, description: 'The id of the config.' }),
  input_values: map({
    update_allowed: true,
    description: 'Values of the inputs of the config, the same for each server.',
  }),
  actions: list({
    default: ['CREATE', 'UPDATE'],
    update_allowed: true,
    constraints: oneOf('CREATE', 'UPDATE', 'DELETE', 'SUSPEND', 'RESUME'),
    description: 'The actions of the group that run the config.',
  }),
  name: string({ update_allowed: true, description: 'Name of the deployments on the hosts.' }),
  signal_transport: string({
    default: 'CFN_SIGNAL',
    constraints: oneOf(...deploymentSignalTransports, autoTransport),
    description: "How heat-config-notify answers; Anneal's agent always answers through its queue.",
  }),
};
const structured = {
  ...deployment,
  input_key: string({
    default: 'get_input',
    description: 'The key that marks an input in the config: `{get_input: NAME}`.',
  }),
  input_values_validate: string({
    default: 'LAX',
    constraints: oneOf('LAX', 'STRICT'),
    description: 'A missing value becomes null, or with STRICT is refused.',
  }),
};
const attributes = {
  deploy_stdouts: { type: 'Map', description: 'Standard output of the config, by the names of the servers.' },
  deploy_stderrs: { type: 'Map', description: 'Standard error of the config, by the names of the servers.' },
  deploy_status_codes: {
    type: 'Map',
    description: 'Exit status of the config, by the names of the servers; 0 is success.',
  },
};
/** Every output of a deployment can be read for all servers. */
const open = { open_attributes: true };

/** The types of deployments on several servers. */
export const softwareConfigTypes: ResourceType[] = [
  {
    type: 'OS::Heat::SoftwareDeploymentGroup',
    description: 'Runs one config on several servers: a deployment for each of them.',
    properties: deployment,
    attributes: attributes,
    ...open,
  },
  {
    type: 'OS::Heat::StructuredDeploymentGroup',
    description: 'Runs one config on several servers: a deployment for each of them.',
    properties: structured,
    attributes: attributes,
    ...open,
  },
  // The former names of these types.
  {
    type: 'OS::Heat::SoftwareDeployments',
    description: 'Runs one config on several servers: a deployment for each of them.',
    properties: deployment,
    attributes: attributes,
    ...open,
  },
  {
    type: 'OS::Heat::StructuredDeployments',
    description: 'Runs one config on several servers: a deployment for each of them.',
    properties: structured,
    attributes: attributes,
    ...open,
  },
];
