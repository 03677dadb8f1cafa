/** Deployments on several servers at once: schemas; the engine makes a deployment for each server. */
import { autoTransport, deploymentSignalTransports } from '@anneal/contracts/transports.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { explained } from './texts/texts.ts';
import { list, map, oneOf, resourceType, string } from './schema.ts';

const deployment = {
  servers: map({ required: true, update_allowed: true }),
  config: string({ update_allowed: true }),
  input_values: map({ update_allowed: true }),
  actions: list({
    default: ['CREATE', 'UPDATE'],
    update_allowed: true,
    constraints: oneOf('CREATE', 'UPDATE', 'DELETE', 'SUSPEND', 'RESUME'),
  }),
  name: string({ update_allowed: true }),
  signal_transport: string({
    default: 'CFN_SIGNAL',
    constraints: oneOf(...deploymentSignalTransports, autoTransport),
  }),
};
const structured = {
  ...deployment,
  input_key: string({ default: 'get_input' }),
  input_values_validate: string({ default: 'LAX', constraints: oneOf('LAX', 'STRICT') }),
};
const attributes = { deploy_stdouts: 'Map', deploy_stderrs: 'Map', deploy_status_codes: 'Map' };
/** Every output of a deployment can be read for all servers. */
const open = { open_attributes: true };

/** The types of deployments on several servers. */
export const softwareConfigTypes: ResourceType[] = explained([
  resourceType('OS::Heat::SoftwareDeploymentGroup', deployment, attributes, open),
  resourceType('OS::Heat::StructuredDeploymentGroup', structured, attributes, open),
  // The former names of these types.
  resourceType('OS::Heat::SoftwareDeployments', deployment, attributes, open),
  resourceType('OS::Heat::StructuredDeployments', structured, attributes, open),
]);
