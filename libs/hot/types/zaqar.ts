/** Queues: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';

export const zaqarTypes: ResourceType[] = [
  {
    type: 'OS::Zaqar::MistralTrigger',
    properties: {
      queue_name: { type: 'String', required: true, constraints: [{ custom_constraint: 'zaqar.queue' }] },
      ttl: { type: 'Integer', default: 220367260800, update_allowed: true, constraints: [{ range: { min: 60 } }] },
      workflow_id: {
        type: 'String',
        required: true,
        update_allowed: true,
        constraints: [{ custom_constraint: 'mistral.workflow' }],
      },
      params: { type: 'Map', default: {}, update_allowed: true },
      input: { type: 'Map', default: {}, update_allowed: true },
    },
    attributes: {},
  },
  {
    type: 'OS::Zaqar::Queue',
    properties: {
      name: { type: 'String', constraints: [{ length: { max: 64 } }] },
      metadata: { type: 'Map', update_allowed: true },
    },
    attributes: { href: {} },
  },
  {
    type: 'OS::Zaqar::SignedQueueURL',
    properties: {
      queue: { type: 'String', required: true },
      paths: { type: 'List' },
      ttl: { type: 'Integer' },
      methods: {
        type: 'List',
        schema: {
          '*': { type: 'String', constraints: [{ allowed_values: ['GET', 'DELETE', 'PATCH', 'POST', 'PUT'] }] },
        },
      },
    },
    attributes: { signature: {}, expires: {}, paths: {}, methods: {}, project: {}, query_str: {} },
  },
  {
    type: 'OS::Zaqar::Subscription',
    properties: {
      queue_name: { type: 'String', required: true, constraints: [{ custom_constraint: 'zaqar.queue' }] },
      subscriber: { type: 'String', required: true, update_allowed: true },
      ttl: { type: 'Integer', default: 220367260800, update_allowed: true, constraints: [{ range: { min: 60 } }] },
      options: { type: 'Map', update_allowed: true },
    },
    attributes: {},
  },
];
