/** Software configuration, beyond what is served here: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';

export const softwareConfigTypes: ResourceType[] = [
  {
    type: 'OS::Heat::StructuredConfig',
    properties: {
      group: { type: 'String', default: 'Heat::Ungrouped' },
      options: { type: 'Map' },
      inputs: {
        type: 'List',
        schema: {
          '*': {
            type: 'Map',
            schema: {
              name: { type: 'String', required: true },
              description: { type: 'String' },
              type: {
                type: 'String',
                default: 'String',
                constraints: [{ allowed_values: ['String', 'Number', 'CommaDelimitedList', 'Json', 'Boolean'] }],
              },
              default: { type: 'Any' },
              replace_on_change: { type: 'Boolean', default: false },
            },
          },
        },
      },
      outputs: {
        type: 'List',
        schema: {
          '*': {
            type: 'Map',
            schema: {
              name: { type: 'String', required: true },
              description: { type: 'String' },
              type: {
                type: 'String',
                default: 'String',
                constraints: [{ allowed_values: ['String', 'Number', 'CommaDelimitedList', 'Json', 'Boolean'] }],
              },
              error_output: { type: 'Boolean', default: false },
            },
          },
        },
      },
      config: { type: 'Map' },
    },
    attributes: { config: { type: 'String' } },
  },
  {
    type: 'OS::Heat::CloudConfig',
    properties: { cloud_config: { type: 'Map' } },
    attributes: { config: { type: 'String' } },
  },
  {
    type: 'OS::Heat::MultipartMime',
    properties: {
      group: { type: 'String', default: 'Heat::Ungrouped' },
      parts: {
        type: 'List',
        default: [],
        schema: {
          '*': {
            type: 'Map',
            schema: {
              config: { type: 'String', required: true },
              filename: { type: 'String' },
              type: { type: 'String', default: 'text', constraints: [{ allowed_values: ['text', 'multipart'] }] },
              subtype: { type: 'String' },
            },
          },
        },
      },
    },
    attributes: { config: { type: 'String' } },
  },
  {
    type: 'OS::Heat::StructuredDeployment',
    properties: {
      config: { type: 'String', update_allowed: true },
      server: { type: 'String', required: true },
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
      deploy_stdout: { type: 'String' },
      deploy_stderr: { type: 'String' },
      deploy_status_code: { type: 'String' },
    },
    open_attributes: true,
  },
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
