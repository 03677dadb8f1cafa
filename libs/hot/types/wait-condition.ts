/** Wait conditions and their handles: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';

export const waitConditionTypes: ResourceType[] = [
  {
    type: 'OS::Heat::WaitCondition',
    properties: {
      handle: { type: 'String', required: true },
      timeout: { type: 'Number', required: true, constraints: [{ range: { min: 1, max: 43200 } }] },
      count: { type: 'Integer', default: 1, update_allowed: true, constraints: [{ range: { min: 1 } }] },
    },
    attributes: { data: { type: 'String' } },
  },
  {
    type: 'OS::Heat::WaitConditionHandle',
    properties: {
      signal_transport: {
        type: 'String',
        default: 'TOKEN_SIGNAL',
        constraints: [
          {
            allowed_values: [
              'CFN_SIGNAL',
              'TEMP_URL_SIGNAL',
              'HEAT_SIGNAL',
              'NO_SIGNAL',
              'ZAQAR_SIGNAL',
              'TOKEN_SIGNAL',
            ],
          },
        ],
      },
    },
    attributes: {
      token: { type: 'String' },
      endpoint: { type: 'String' },
      curl_cli: { type: 'String' },
      signal: { type: 'String' },
    },
  },
  { type: 'OS::Heat::UpdateWaitConditionHandle', properties: {}, attributes: {} },
  {
    type: 'OS::Heat::SwiftSignal',
    properties: {
      handle: { type: 'String', required: true },
      timeout: { type: 'Number', required: true, constraints: [{ range: { min: 1, max: 43200 } }] },
      count: { type: 'Integer', default: 1, constraints: [{ range: { min: 1, max: 1000 } }] },
    },
    attributes: { data: { type: 'String' } },
  },
  {
    type: 'OS::Heat::SwiftSignalHandle',
    properties: {},
    attributes: { token: { type: 'String' }, endpoint: { type: 'String' }, curl_cli: { type: 'String' } },
  },
];
