/** Queues of Zaqar: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { checked, integer, list, listOf, map, oneOf, resourceType, string } from '../schema.ts';

/** A trigger that starts a workflow for each message of a queue. */
export const zaqarTrigger = resourceType(
  'OS::Zaqar::MistralTrigger',
  {
    queue_name: string({
      required: true,
      constraints: checked('zaqar.queue'),
      description: 'Name of the queue. It is created when it does not exist.',
    }),
    ttl: integer({
      default: 220367260800,
      update_allowed: true,
      constraints: [{ range: { min: 60 } }],
      description: 'Seconds after which messages start no workflow any more. A change begins the time again.',
    }),
    workflow_id: string({
      required: true,
      update_allowed: true,
      constraints: checked('mistral.workflow'),
      description: 'Name or id of the workflow.',
    }),
    params: map({
      default: {},
      update_allowed: true,
      description: '`env` and `task_name` of the execution. `env().notification` is the message.',
    }),
    input: map({
      default: {},
      update_allowed: true,
      description: 'Input of the workflow. In expressions, `$` is the message: <% $.body %>, <% $.id %>.',
    }),
  },
  {},
  {
    description: 'Starts a workflow for each message that is posted to a queue, once for each message.',
    failed_update: 'repair',
  },
);

/** Their schemas, which an offline check uses. */
export const zaqarTypes: ResourceType[] = [
  zaqarTrigger,
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
