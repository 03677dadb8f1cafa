/** Queues of Zaqar: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { checked, integer, list, listOf, map, oneOf, resourceType, string } from '../schema.ts';

/** Their schemas, which an offline check uses. */
export const zaqarTypes: ResourceType[] = [
  resourceType(
    'OS::Zaqar::MistralTrigger',
    {
      queue_name: string({ required: true, constraints: checked('zaqar.queue') }),
      ttl: integer({ default: 220367260800, update_allowed: true, constraints: [{ range: { min: 60 } }] }),
      workflow_id: string({ required: true, update_allowed: true, constraints: checked('mistral.workflow') }),
      params: map({ default: {}, update_allowed: true }),
      input: map({ default: {}, update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Zaqar::Queue',
    { name: string({ constraints: [{ length: { max: 64 } }] }), metadata: map({ update_allowed: true }) },
    { queue_id: null, href: null },
  ),
  resourceType(
    'OS::Zaqar::SignedQueueURL',
    {
      queue: string({ required: true }),
      paths: list(),
      ttl: integer(),
      methods: listOf(string({ constraints: oneOf('GET', 'DELETE', 'PATCH', 'POST', 'PUT') })),
    },
    { signature: null, expires: null, paths: null, methods: null, project: null, query_str: null },
  ),
  resourceType(
    'OS::Zaqar::Subscription',
    {
      queue_name: string({ required: true, constraints: checked('zaqar.queue') }),
      subscriber: string({ required: true, update_allowed: true }),
      ttl: integer({ default: 220367260800, update_allowed: true, constraints: [{ range: { min: 60 } }] }),
      options: map({ update_allowed: true }),
    },
    {},
  ),
];
