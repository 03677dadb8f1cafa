/** Software configuration, beyond what is served here: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';

export const softwareConfigTypes: ResourceType[] = [
  {
    type: 'OS::Heat::SoftwareDeploymentGroup',
    properties: {
      servers: { type: 'Map', required: true, update_allowed: true },
      config: { type: 'String', update_allowed: true },
      input_values: { type: 'Map', update_allowed: true },
      actions: {
        type: 'List',
        default: ['CREATE', 'UPDATE'],
        update_allowed: true,
        constraints: [{ allowed_values: ['CREATE', 'UPDATE', 'DELETE', 'SUSPEND', 'RESUME'] }],
      },
      name: { type: 'String', update_allowed: true },
      signal_transport: {
        type: 'String',
        default: 'CFN_SIGNAL',
        constraints: [
          { allowed_values: ['CFN_SIGNAL', 'TEMP_URL_SIGNAL', 'HEAT_SIGNAL', 'NO_SIGNAL', 'ZAQAR_SIGNAL'] },
        ],
      },
    },
    attributes: {
      deploy_stdouts: { type: 'Map' },
      deploy_stderrs: { type: 'Map' },
      deploy_status_codes: { type: 'Map' },
    },
    open_attributes: true,
  },
  {
    type: 'OS::Heat::StructuredDeploymentGroup',
    properties: {
      servers: { type: 'Map', required: true, update_allowed: true },
      config: { type: 'String', update_allowed: true },
      input_values: { type: 'Map', update_allowed: true },
      actions: {
        type: 'List',
        default: ['CREATE', 'UPDATE'],
        update_allowed: true,
        constraints: [{ allowed_values: ['CREATE', 'UPDATE', 'DELETE', 'SUSPEND', 'RESUME'] }],
      },
      signal_transport: {
        type: 'String',
        default: 'CFN_SIGNAL',
        constraints: [
          { allowed_values: ['CFN_SIGNAL', 'TEMP_URL_SIGNAL', 'HEAT_SIGNAL', 'NO_SIGNAL', 'ZAQAR_SIGNAL'] },
        ],
      },
      name: { type: 'String', update_allowed: true },
      input_key: { type: 'String', default: 'get_input' },
      input_values_validate: { type: 'String', default: 'LAX', constraints: [{ allowed_values: ['LAX', 'STRICT'] }] },
    },
    attributes: {
      deploy_stdouts: { type: 'Map' },
      deploy_stderrs: { type: 'Map' },
      deploy_status_codes: { type: 'Map' },
    },
    open_attributes: true,
  },
  {
    type: 'OS::Heat::SoftwareDeployments',
    properties: {
      servers: { type: 'Map', required: true, update_allowed: true },
      config: { type: 'String', update_allowed: true },
      input_values: { type: 'Map', update_allowed: true },
      actions: {
        type: 'List',
        default: ['CREATE', 'UPDATE'],
        update_allowed: true,
        constraints: [{ allowed_values: ['CREATE', 'UPDATE', 'DELETE', 'SUSPEND', 'RESUME'] }],
      },
      name: { type: 'String', update_allowed: true },
      signal_transport: {
        type: 'String',
        default: 'CFN_SIGNAL',
        constraints: [
          { allowed_values: ['CFN_SIGNAL', 'TEMP_URL_SIGNAL', 'HEAT_SIGNAL', 'NO_SIGNAL', 'ZAQAR_SIGNAL'] },
        ],
      },
    },
    attributes: {
      deploy_stdouts: { type: 'Map' },
      deploy_stderrs: { type: 'Map' },
      deploy_status_codes: { type: 'Map' },
    },
    open_attributes: true,
  },
  {
    type: 'OS::Heat::StructuredDeployments',
    properties: {
      servers: { type: 'Map', required: true, update_allowed: true },
      config: { type: 'String', update_allowed: true },
      input_values: { type: 'Map', update_allowed: true },
      actions: {
        type: 'List',
        default: ['CREATE', 'UPDATE'],
        update_allowed: true,
        constraints: [{ allowed_values: ['CREATE', 'UPDATE', 'DELETE', 'SUSPEND', 'RESUME'] }],
      },
      signal_transport: {
        type: 'String',
        default: 'CFN_SIGNAL',
        constraints: [
          { allowed_values: ['CFN_SIGNAL', 'TEMP_URL_SIGNAL', 'HEAT_SIGNAL', 'NO_SIGNAL', 'ZAQAR_SIGNAL'] },
        ],
      },
      name: { type: 'String', update_allowed: true },
      input_key: { type: 'String', default: 'get_input' },
      input_values_validate: { type: 'String', default: 'LAX', constraints: [{ allowed_values: ['LAX', 'STRICT'] }] },
    },
    attributes: {
      deploy_stdouts: { type: 'Map' },
      deploy_stderrs: { type: 'Map' },
      deploy_status_codes: { type: 'Map' },
    },
    open_attributes: true,
  },
];
