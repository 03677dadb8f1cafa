/** Wait conditions and their handles. */
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';

const timeoutRange = [{ range: { min: 1, max: 43200 } }];
const transports = ['CFN_SIGNAL', 'TEMP_URL_SIGNAL', 'HEAT_SIGNAL', 'NO_SIGNAL', 'ZAQAR_SIGNAL', 'TOKEN_SIGNAL'];

const handle: PropertySchema = { type: 'String', required: true, description: 'Handle that receives the signals.' };
const timeout: PropertySchema = {
  type: 'Number',
  required: true,
  constraints: timeoutRange,
  description: 'Maximum wait, in seconds.',
};
const count: PropertySchema = {
  type: 'Integer',
  default: 1,
  update_allowed: true,
  constraints: [{ range: { min: 1 } }],
  description: 'Number of signals with different ids that complete the wait.',
};
const data = { type: 'String', description: 'Data of the signals by id, as JSON text.' };

/** Types that the scheduling service runs. */
export const waitConditionTypes: ResourceType[] = [
  {
    type: 'OS::Heat::WaitCondition',
    withdraws: true,
    description: 'Waits until its handle has received enough signals. A FAILURE signal or a timeout fails it.',
    properties: { handle, timeout, count },
    attributes: { data },
    budget_seconds: 43200,
  },
  {
    type: 'OS::Heat::WaitConditionHandle',
    actions: ['adopt', 'signal'],
    description: 'Address that other programs signal to complete a wait condition.',
    properties: {
      signal_transport: {
        type: 'String',
        default: 'TOKEN_SIGNAL',
        description: 'Transport of the signals.',
        constraints: [{ allowed_values: transports }],
      },
    },
    attributes: {
      token: { type: 'String', description: 'For TOKEN_SIGNAL: value of the header X-Auth-Token.' },
      endpoint: { type: 'String', description: 'URL for signals.' },
      curl_cli: { type: 'String', description: 'For TOKEN_SIGNAL: a curl command; add the body with --data-binary.' },
      signal: { type: 'String', description: 'All values that the transport needs, as JSON text.' },
    },
  },
  {
    type: 'OS::Heat::UpdateWaitConditionHandle',
    actions: ['adopt', 'signal'],
    renewed: true,
    description: 'A handle that each update of the stack replaces, so that old signals no longer count.',
    properties: {},
    attributes: {},
    reference: 'url',
  },
  {
    type: 'AWS::CloudFormation::WaitCondition',
    withdraws: true,
    description: 'Waits until its handle has received enough signals.',
    properties: {
      Handle: handle,
      Timeout: { ...timeout, type: 'Integer' },
      Count: count,
    },
    attributes: { Data: data },
    budget_seconds: 43200,
  },
  {
    type: 'AWS::CloudFormation::WaitConditionHandle',
    actions: ['adopt', 'signal'],
    description: 'Its reference is a URL that accepts signals by PUT.',
    properties: {},
    attributes: {},
    reference: 'url',
  },
];
