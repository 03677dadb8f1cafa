/** Questions about queues, in Zaqar's terms. */
import { z } from 'zod';
import { call } from '../define.ts';
import { json, jsonObject } from '../json.ts';
import { pageCounts, pageSchema } from '../page.ts';
import { collectorSchema } from './hosts.ts';

const inQueue = z.object({ project: z.string(), queue: z.string().min(1).max(255) });

/** A message of a queue, as in Zaqar. */
export const queueMessageSchema = z.object({
  id: z.string(),
  body: json,
  ttl: z.number().int().meta({ description: 'In seconds.' }),
  age: z.number().int(),
  created_at: z.iso.datetime(),
  claim_id: z.string().nullable(),
  claim_count: z.number().int(),
});
export type QueueMessage = z.infer<typeof queueMessageSchema>;

/** A queue with its statistics. */
export const queueViewSchema = z.object({
  name: z.string(),
  metadata: jsonObject,
  total: z.number().int(),
  claimed: z.number().int(),
  free: z.number().int(),
  oldest_age: z.number().int().nullable(),
  host_id: z.string().nullable().meta({ description: "The host that owns it, when it is a host's queue." }),
  post_bytes: z.number().int().optional().meta({
    description: 'Maximum size, in bytes, of all messages of one post; absent in answers of older versions.',
  }),
  notifies: z.boolean().optional().meta({ description: 'True when it has, or had, subscriptions.' }),
  received: z.number().int().optional().meta({ description: 'The number of messages that it ever received.' }),
});
export type QueueView = z.infer<typeof queueViewSchema>;

const limit = z.number().int().min(1).max(1000);

/** The most requests that a host may take at once. */
export const mostInBatch = 20;

/** A call by a host. The service refuses it with Unauthorized when the host is gone or has another token by now. */
export const hostCaller = z
  .object({ host_id: z.string(), token_hash: z.string() })
  .optional()
  .meta({ description: 'The host that calls, with the SHA-256 of its token in hex. Absent for other clients.' });

export const queueCreate = call('queue.create', 'Create a queue, or replace its metadata.', {
  question: inQueue.extend({
    metadata: jsonObject.optional(),
    notifies: z.boolean().optional().meta({
      description: 'True to publish each message from now on as a `queue.message.posted` event, for subscriptions.',
    }),
  }),
  answer: z.object({ created: z.boolean() }),
});

export const queueShow = call('queue.show', 'Read the metadata and statistics of a queue.', {
  question: inQueue.extend({
    or_empty: z.boolean().optional().meta({
      description: 'Answer an empty queue instead of NotFound, because the first message creates the queue.',
    }),
  }),
  answer: queueViewSchema,
});

export const queueList = call('queue.list', 'List the queues of a project by name.', {
  question: z.object({
    project: z.string(),
    limit: limit.optional(),
    marker: z.string().optional(),
    page: pageSchema
      .optional()
      .meta({ description: 'A page by name, depth, in_flight or oldest, instead of the conditions above.' }),
  }),
  answer: z.object({ queues: z.array(queueViewSchema), ...pageCounts }),
});

export const queueDelete = call('queue.delete', 'Delete a queue with its messages.', {
  question: inQueue,
  answer: z.object({}),
});

/** Zaqar's limit of the delay of a message, in seconds. */
export const mostMessageDelay = 900;

export const queuePost = call('queue.post', 'Put messages at the end of a queue.', {
  question: inQueue.extend({
    caller: hostCaller,
    client_id: z.string(),
    run: z.string().optional().meta({
      description:
        'The run that the messages answer, when the address or the grant of the sender names it. Only for the responses of a host.',
    }),
    most_default_ttl: z.number().int().positive().optional().meta({
      description: 'The most seconds that a default may give; a longer one is cut.',
    }),
    messages: z
      .array(
        z.object({
          body: json,
          ttl: z.number().int().positive().optional().meta({
            description: 'Seconds. Absent: the `_default_message_ttl` of the queue, or else 3600.',
          }),
          delay: z.number().int().min(0).max(mostMessageDelay).optional().meta({
            description:
              'Seconds from its post during which it can be neither claimed nor popped nor listed. Absent: the `_default_message_delay` of the queue.',
          }),
        }),
      )
      .min(1)
      .max(100),
  }),
  answer: z.object({ ids: z.array(z.string()) }),
  quotesSecrets: true,
});

export type QueuePost = z.infer<typeof queuePost.data>;

export const queueMessages = call('queue.messages', 'Read messages without claiming them.', {
  question: inQueue.extend({
    ids: z.array(z.string()).optional(),
    limit: limit.optional(),
    marker: z.string().optional(),
    include_claimed: z.boolean(),
    include_delayed: z.boolean().optional(),
    echo: z.boolean().meta({ description: 'False leaves out the messages that `client_id` itself posted.' }),
    client_id: z.string(),
    host_id: z.string().optional().meta({
      description:
        'The host that reads. Absent for other clients: their reading is no sign of life, and they see masked secrets.',
    }),
  }),
  answer: z.object({ messages: z.array(queueMessageSchema), marker: z.string().nullable() }),
});

export const queueMessageDelete = call(
  'queue.message.delete',
  'Delete or pop messages. A request of a host stays until it is answered; until then it is only hidden for a time.',
  {
    question: inQueue.extend({
      caller: hostCaller,
      ids: z.array(z.string()).optional(),
      pop: z.number().int().min(1).max(20).optional(),
      purge: z.boolean().optional().meta({ description: 'Every message of the queue.' }),
      claim_id: z.string().optional(),
      host_id: z.string().optional().meta({ description: 'The host that deletes; absent for every other client.' }),
    }),
    answer: z.object({
      messages: z.array(queueMessageSchema),
      collector: collectorSchema.optional().meta({
        description: 'The server in its stack of a host that popped a request. Absent for a host without a stack.',
      }),
    }),
  },
);

export const queueClaim = call(
  'queue.claim',
  'Claim messages for a time. The queue of a host hands out its first requests, in order; one unless `batch` is given.',
  {
    question: inQueue.extend({
      caller: hostCaller,
      ttl: z.number().int(),
      grace: z.number().int(),
      limit: limit.optional(),
      batch: z.number().int().min(1).max(mostInBatch).optional().meta({
        description: 'The most requests of a host to hand out at once. The host runs them in their order.',
      }),
      answers: z
        .array(z.object({ body: json, ttl: z.number().int().positive() }))
        .min(1)
        .max(100)
        .optional()
        .meta({ description: 'Messages for the responses queue of the host, which are taken before the claim.' }),
      by_reference: z.boolean().optional().meta({
        description: 'True for a host that fetches long configs by itself (`config_ref`).',
      }),
      inputs_by_reference: z.boolean().optional().meta({
        description: 'True for a host that fetches long values of inputs by itself (`value_ref`).',
      }),
      client_id: z.string().optional().meta({
        description:
          'The claiming client. A host that claims again under the same id has lost its first claim, and gets the message again.',
      }),
    }),
    answer: z.object({
      claim_id: z.string().nullable(),
      messages: z.array(queueMessageSchema),
      answered: z.boolean().optional().meta({ description: 'True when the answers were taken.' }),
    }),
    quotesSecrets: true,
  },
);
export type QueueClaim = z.infer<typeof queueClaim.data>;
export type QueueClaimed = z.infer<typeof queueClaim.answer>;

export const queueClaimShow = call('queue.claim.show', 'Read a claim and its messages.', {
  question: inQueue.extend({
    claim_id: z.string(),
    host_id: z
      .string()
      .optional()
      .meta({ description: 'The host that asks: only this host sees the secrets in its requests.' }),
  }),
  answer: z.object({ claim_id: z.string(), age: z.number(), ttl: z.number(), messages: z.array(queueMessageSchema) }),
});

export const queueClaimRenew = call('queue.claim.renew', 'Renew a claim; its time starts again now.', {
  question: inQueue.extend({
    caller: hostCaller,
    claim_id: z.string(),
    ttl: z.number().int(),
    grace: z.number().int().optional(),
  }),
  answer: z.object({}),
});

export const queueClaimRelease = call('queue.claim.release', 'Release a claim and its messages.', {
  question: inQueue.extend({ claim_id: z.string() }),
  answer: z.object({}),
});
