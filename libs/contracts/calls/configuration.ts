/** Questions to the configuration service: hosts, their queues (in Zaqar's terms) and deployments. */
import { z } from 'zod';
import { pageCounts, pageSchema } from '../page.ts';
import { isPlainName, plainName } from '../plain-name.ts';
import { call, message } from '../define.ts';
import { failureSchema } from '../failure.ts';
import { json, jsonObject, type JsonObject } from '../json.ts';
import { occasionSchema, placeSchema } from '../origin.ts';
import { storedSizeSchema } from '../output.ts';
import { conditionSchema } from './scheduling.ts';
import { collectTransports } from '../transports.ts';

// ---- hosts

export const unexpectedAnswerSchema = z.object({
  kind: z.enum(['late', 'contradicting', 'foreign', 'replaced', 'unknown']).meta({
    description:
      '`late`: the run had already ended without an answer. `contradicting`: differs from the accepted answer. `foreign`: for the run of another host. `replaced`: a newer run replaced it. `unknown`: no run has the id.',
  }),
  alarm: z
    .boolean()
    .meta({ description: 'True where the host may be compromised, because it answers a question that it never got.' }),
  request_id: z.string().meta({ description: 'The text from the host, at most 100 characters.' }),
  deployment: z.string().nullable(),
  deployment_id: z.string().nullable(),
  reason: z.string(),
  first_at: z.iso.datetime(),
  last_at: z.iso.datetime(),
  count: z.number().int(),
});
export type UnexpectedAnswer = z.infer<typeof unexpectedAnswerSchema>;

/** The statuses of a host. */
export const hostStatuses = ['expected', 'up', 'silent', 'deleting'] as const;

export const hostViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  project: z.string(),
  status: z.enum(hostStatuses).meta({
    description: '`expected` until its agent first asks for work; `up` while it asks; `silent` past its deadline.',
  }),
  requests_queue: z.string(),
  responses_queue: z.string(),
  facts: jsonObject.meta({ description: 'Facts about the machine, reported by its agent and its configs.' }),
  facts_version: z.number().int().optional().meta({ description: 'The number of changes of the facts so far.' }),
  created_at: z.iso.datetime(),
  first_seen_at: z.iso.datetime().nullable(),
  last_seen_at: z.iso.datetime().nullable(),
  pending: z.number().int(),
  server: z
    .object({ stack_id: z.string(), stack_name: z.string(), resource_name: z.string() })
    .optional()
    .meta({ description: 'The server that the host is in a stack. Absent for a host outside every stack.' }),
  broker_access: z
    .object({
      issued_at: z.iso.datetime(),
      seen_at: z.iso.datetime().nullable().meta({ description: 'When the host was last heard over the broker.' }),
    })
    .optional()
    .meta({ description: 'The credentials with which the host uses the broker directly. Absent without them.' }),
  unexpected_answers: z
    .array(unexpectedAnswerSchema)
    .optional()
    .meta({ description: 'Answers that changed nothing, newest last: the last ten alarms and the last ten others.' }),
  unexpected_total: z.number().int().optional().meta({ description: 'The number of all unexpected answers so far.' }),
  version: z.number().int(),
  conditions: z.array(conditionSchema),
});
export type HostView = z.infer<typeof hostViewSchema>;

/** The server that a host is in its stack, under whose name its collector asks for its metadata. */
export const collectorSchema = z.object({
  transport: z.enum(collectTransports).nullable().meta({ description: 'Null: the template names none.' }),
  stack_id: z.string(),
  stack_name: z.string(),
  resource_name: z.string(),
});
export type HostCollector = z.infer<typeof collectorSchema>;

export const hostCreate = call('host.create', 'Create a host, its two queues and its credentials. Idempotent.', {
  question: z.object({
    id: z.string(),
    name: z.string(),
    project: z.string(),
    take_joined: z.boolean().optional().meta({
      description: 'Use a joined host with this name, when no other server uses it, instead of a new one.',
    }),
    take: z.string().optional().meta({
      description: 'The id of the joined host to use. Refused when there is none or another server uses it.',
    }),
    collector: collectorSchema.optional().meta({ description: 'Replaces the one that the host has.' }),
    place: placeSchema.optional().meta({ description: 'Where its server is. Replaces the place that the host has.' }),
  }),
  answer: z
    .object({
      host: hostViewSchema,
      token: z.string(),
      os_collect_config: jsonObject.optional().meta({
        description: 'Settings of os-collect-config on the host; its secrets are sealed. Absent in older answers.',
      }),
    })
    .meta({ description: "The token allows only reading the host's requests and writing its responses." }),
});
export const hostTokenRenew = call('host.token.renew', 'Replace the token of a host, to set it up by hand.', {
  question: z.object({ project: z.string().optional(), host: z.string() }),
  answer: z.object({ host: hostViewSchema, token: z.string() }),
});
export const hostBrokerAccessSchema = z.object({
  broker: z.enum(['rabbitmq', 'nats']),
  url: z.string().meta({ description: 'The address of the broker, without credentials.' }),
  user: z.string(),
  password: z.string(),
  requests: z.string().meta({ description: 'Where the host reads: a queue (RabbitMQ) or a subject (NATS).' }),
  responses: z.string().meta({ description: 'Where the host writes: an exchange (RabbitMQ) or a subject (NATS).' }),
  inbox: z.string().optional().meta({ description: 'NATS only: the prefix of the subjects for replies to the host.' }),
});
export type HostBrokerAccess = z.infer<typeof hostBrokerAccessSchema>;

export const hostBrokerGrant = call(
  'host.broker.grant',
  'Issue credentials with which a host uses the broker directly. The earlier ones stop working.',
  {
    question: z.object({ project: z.string().optional(), host: z.string() }),
    answer: z.object({ host: hostViewSchema, access: hostBrokerAccessSchema }),
  },
);
export const hostBrokerRevoke = call('host.broker.revoke', 'Revoke the credentials of a host for the broker.', {
  question: z.object({ project: z.string().optional(), host: z.string() }),
  answer: z.object({ host: hostViewSchema }),
});
export const hostDelete = call('host.delete', 'Delete a host, its queues and its credentials.', {
  question: z.object({ id: z.string(), occasion: occasionSchema.optional() }),
  answer: z.object({}),
});
export const hostList = call('host.list', 'List the hosts of a project.', {
  question: z.object({
    project: z.string().optional(),
    where: z.string().optional().meta({
      description: 'Only hosts for which this YAQL expression is true: `facts.rack == "a" and status = up`.',
    }),
    page: pageSchema.optional(),
  }),
  answer: z.object({ hosts: z.array(hostViewSchema), ...pageCounts }),
});
export const hostOverview = call('host.overview', 'Count the hosts of a project by status, and show the silent ones.', {
  question: z.object({
    project: z.string(),
    most: z.number().int().positive().max(100),
    stacks: z.array(z.string()).optional().meta({ description: 'Show only the silent hosts of these stacks.' }),
    resource: z.string().optional().meta({ description: 'With stacks: only the host of the server of this name.' }),
  }),
  answer: z.object({
    counts: z.record(z.string(), z.number().int()).meta({
      description: 'By status. Silent hosts of suspended servers count as `suspended`.',
    }),
    silent: z.array(hostViewSchema).meta({
      description: 'At most `most` of them, without those of suspended servers, whose machines are off on purpose.',
    }),
  }),
});
export const hostShow = call('host.show', 'Read a host by id or name.', {
  question: z.object({ project: z.string().optional(), host: z.string() }),
  answer: hostViewSchema,
});
export const hostAuthenticate = call('host.authenticate', 'Find the owner of a token.', {
  question: z.object({ token: z.string() }),
  answer: z.object({
    host_id: z.string(),
    name: z.string(),
    project: z.string(),
    requests_queue: z.string(),
    responses_queue: z.string(),
  }),
});

export const hostsPresent = call(
  'hosts.present',
  'Report hosts whose connections are open while they wait for work. Each counts as a contact of the host.',
  {
    question: z.object({
      host_ids: z.array(z.string()).max(1000),
      within_ms: z.number().int().nonnegative().meta({
        description: 'How long a connection may stay open after its host has lost its power or its network.',
      }),
      look_in: z.string().optional().meta({
        description: 'The project of the hosts: answer those that wait although they have requests.',
      }),
    }),
    answer: z.object({
      waiting: z.array(z.string()).optional().meta({
        description: 'Only with `look_in`: hosts whose first request is free. The event that wakes them may be lost.',
      }),
    }),
  },
);

export const hostKeys = call('host.keys', 'Read the token of a host, from which the keys of its signatures derive.', {
  question: z.object({ host_id: z.string() }),
  answer: z.object({ project: z.string(), token: z.object({ $sealed: z.string() }) }),
});
export const hostCollect = call(
  'host.collect',
  'Hand out the metadata of a host, as os-collect-config polls it: the deployments so far and the next one, in order.',
  {
    question: z.object({
      host_id: z.string(),
      as: z.object({ stack: z.string(), resource: z.string() }).optional().meta({
        description: 'The stack, by id or name, and the resource that the host names. Another server is refused.',
      }),
    }),
    answer: z.object({
      metadata: jsonObject,
      collector: collectorSchema.nullable().meta({ description: 'Null for a host without a stack.' }),
      project: z.string(),
    }),
  },
);

export const hostJoin = call(
  'host.join',
  'Issue a token with which a machine joins as a host, once. Creates the host unless one has this id or name.',
  {
    question: z.object({
      project: z.string(),
      host: z
        .string()
        .min(1)
        .max(255)
        .refine(isPlainName, plainName)
        .refine((name) => !name.includes('/'), 'must not contain /, because the name is part of addresses'),
    }),
    answer: z.object({
      host: hostViewSchema,
      join_token: z.string().meta({ description: 'Replaces the join token that the host had before.' }),
      expires_at: z.iso.datetime(),
    }),
  },
);
export const hostJoinExchange = call(
  'host.join.exchange',
  'Exchange a join token for a new token of the host; works once. Only the same key may repeat it, for a lost answer.',
  {
    question: z.object({ join_token: z.string(), key: z.string().min(16).max(256) }),
    answer: z.object({
      host_id: z.string(),
      name: z.string(),
      project: z.string(),
      token: z.string(),
      requests_queue: z.string(),
      responses_queue: z.string(),
    }),
  },
);
export const hostRemove = call('host.remove', 'Delete a joined host by id or name. Hosts of stacks are refused.', {
  question: z.object({ project: z.string(), host: z.string() }),
  answer: z.object({}),
});

// ---- contexts

export { contextList, contextShow } from './context.ts';

// ---- streams and large outputs of runs

export { outputRead, runReport } from '../output.ts';

// ---- queues, as in Zaqar

const inQueue = z.object({ project: z.string(), queue: z.string().min(1).max(255) });

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
const byHost = z
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
    caller: byHost,
    client_id: z.string(),
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
      caller: byHost,
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
      caller: byHost,
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

/** Where a host finds a long config, or the long value of an input, that its request only names. */
export const configReferenceSchema = z.object({
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .meta({ description: 'Of the bytes, in hexadecimal digits.' }),
  size: z.number().int().positive().meta({ description: 'In bytes.' }),
  url: z.string().meta({
    description:
      'Relative to the address of the server. The host posts a form with the field `id`, the id of the request, its token, and for an input the field `input`, its name.',
  }),
});
export type ConfigReference = z.infer<typeof configReferenceSchema>;
export const runConfig = call(
  'run.config',
  'Find the stored config of a run, or the value of an input, for its host.',
  {
    question: z.object({
      caller: byHost,
      run: z.string(),
      input: z.string().optional().meta({ description: 'The name of an input. Absent: the config.' }),
    }),
    answer: z.object({
      blob: z.string().meta({ description: 'The blob that has the value, after its first line, as JSON.' }),
    }),
  },
);
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
    caller: byHost,
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

// ---- requests to a host and its responses (the bodies of the messages in its two queues)

/** One config to apply: heat-agents' deployment document, so that its hooks can use it unchanged. */
export const hostRequestSchema = z.object({
  id: z.string().meta({ description: 'New for every intended run; a host never runs the same id twice.' }),
  deployment_id: z.string(),
  name: z.string(),
  group: z.string().meta({ description: 'The tool that applies it: `script`, `ansible`, …' }),
  config: json,
  config_ref: configReferenceSchema.optional().meta({
    description:
      'Only for hosts that ask for references: the config is a long text, which the host fetches. `config` is empty.',
  }),
  action: z.string().min(1).max(255).meta({
    description: 'CREATE, UPDATE, DELETE, SUSPEND or RESUME; a deployment made over the API may name its own.',
  }),
  inputs: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      value: json,
      value_ref: configReferenceSchema.optional().meta({
        description: 'Only for hosts that ask for references: the value is long, and the host fetches its JSON text.',
      }),
    }),
  ),
  outputs: z.array(z.object({ name: z.string(), type: z.string(), error_output: z.boolean().optional() })),
  options: jsonObject,
  timeout: z.number().positive().optional().meta({
    description: 'Time limit in seconds, counted from its start on the host. Absent in requests of older services.',
  }),
  deadline: z.iso.datetime().meta({
    description: 'The latest time for the host to end it. Computed again whenever the request is handed out.',
  }),
  creation_time: z.iso.datetime(),
});
export type HostRequest = z.infer<typeof hostRequestSchema>;

/** The last message to a host on a broker, before its credentials end. A host over HTTP gets the status 410 instead. */
export const hostFarewellSchema = z.strictObject({ deleted: z.literal(true), host_id: z.string() });
export type HostFarewell = z.infer<typeof hostFarewellSchema>;

/** The largest part of a stream in a response, in bytes; the end of the stream is kept. */
export const outputLimit = 64 * 1024;

/** The error of a run that its host ended because the server withdrew it. */
export const stoppedReason =
  'stopped: the server withdrew it, because a newer request replaced it or its deployment has ended';

/** `options.grace`: milliseconds between SIGTERM and SIGKILL when a host ends a run. */
export const graceMs = ({ grace }: JsonObject): number => {
  const seconds = Number(grace ?? 5);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, 3600) * 1000 : 5000;
};

export const hostResponseSchema = z.object({
  id: z.string().meta({ description: 'The id of the request that this answers.' }),
  status_code: z.number().int(),
  stdout: z.string().default(''),
  stderr: z.string().default(''),
  truncated: z.boolean().default(false).meta({ description: 'True where the stream was longer than this text.' }),
  outputs: jsonObject.default({}),
  facts: jsonObject.optional(),
  started_at: z.iso.datetime().optional(),
  finished_at: z.iso.datetime().optional(),
  error: z.string().optional().meta({ description: 'The reason when the run did not complete.' }),
  stored: z.array(z.string()).max(1000).optional().meta({
    description:
      'Names of outputs that the host sent as bytes before (`run.report`), because they are long or no text.',
  }),
});
export type HostResponse = z.infer<typeof hostResponseSchema>;

/** A host's message without a request: it is up, with its facts. */
export const hostHelloSchema = z.object({ hello: z.literal(true), facts: jsonObject.default({}) });
export type HostHello = z.infer<typeof hostHelloSchema>;

/** The progress of a running request. */
export const hostProgressSchema = z.object({
  id: z.string(),
  progress: z.enum(['accepted', 'started']),
  at: z.iso.datetime().optional().meta({ description: 'Absent: the time when the service received it.' }),
});
export type HostProgress = z.infer<typeof hostProgressSchema>;

/**
 * Sent by the configuration service to itself, so that a wrong message of a host becomes a dead letter that can be
 * replayed.
 */
export const hostMessageRefused = message(
  'host.message.refused',
  'A message in the responses queue of a host that is not a response, progress or hello.',
  z.object({ host_id: z.string(), host_name: z.string(), queue: z.string(), message_id: z.string(), body: json }),
);

// ---- configs

export const configViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  project: z.string(),
  stack_id: z.string(),
  group: z.string(),
  config: json,
  inputs: z.array(jsonObject),
  outputs: z.array(jsonObject),
  options: jsonObject,
  created_at: z.iso.datetime().nullable(),
});
export type ConfigView = z.infer<typeof configViewSchema>;

export const configList = call(
  'config.list',
  'List the configs of a project: those of templates, and those derived for deployments.',
  {
    question: z.object({ project: z.string() }),
    answer: z.object({ configs: z.array(configViewSchema) }),
  },
);
export const configShow = call('config.show', 'Read a config: text, inputs, outputs, options.', {
  question: z.object({ project: z.string(), config: z.string() }),
  answer: configViewSchema,
});

const ioType = z.enum(['String', 'Number', 'CommaDelimitedList', 'Json', 'Boolean']);
const ioSchema = z.object({ name: z.string().min(1), description: z.string().nullish(), type: ioType.nullish() });
/** The parts of a config that a client chooses. */
export const configFieldsSchema = z.object({
  name: z.string().max(255),
  group: z.string().min(1).max(255),
  config: json,
  inputs: z.array(
    ioSchema.extend({ default: json.optional(), replace_on_change: z.boolean().nullish(), value: json.optional() }),
  ),
  outputs: z.array(ioSchema.extend({ error_output: z.boolean().nullish() })),
  options: jsonObject,
});
export const configCreate = call('config.create', 'Store a config. A config never changes. Idempotent by id.', {
  question: z.object({
    id: z.uuid(),
    project: z.string(),
    ...configFieldsSchema.shape,
    forget: z.boolean().optional().meta({
      description: 'Delete it by itself some time after the last deployment that runs it.',
    }),
  }),
  answer: configViewSchema,
});
export type ConfigCreate = z.infer<typeof configCreate.data>;
export const configDelete = call('config.delete', 'Delete a config that was stored by `config.create`.', {
  question: z.object({ project: z.string(), config: z.string() }),
  answer: z.object({}),
});

// ---- deployments

export const deploymentViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  project: z.string(),
  stack_id: z.string(),
  resource_name: z.string(),
  host_id: z.string(),
  host_name: z.string(),
  group: z.string(),
  action: z.string(),
  status: z.enum(['IN_PROGRESS', 'COMPLETE', 'FAILED', 'SKIPPED']),
  reason: z.string(),
  config: json.meta({ description: 'Null in a list of the deployments of one config.' }),
  input_values: jsonObject,
  output_values: jsonObject,
  status_code: z.number().int().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  created_at: z.iso.datetime(),
  queued_at: z.iso.datetime().nullable(),
  started_at: z.iso.datetime().nullable(),
  finished_at: z.iso.datetime().nullable(),
  deadline: z.iso.datetime().nullable(),
  failure: failureSchema.nullable(),
  version: z.number().int(),
  conditions: z.array(conditionSchema),
  config_id: z.string().optional().meta({
    description: 'The stored config that it runs. Absent for a deployment of a stack, whose config has its own id.',
  }),
  answer_state: z
    .enum(['answered', 'failed', 'refused', 'started', 'not taken', 'polled before', 'never polled', 'none'])
    .optional()
    .meta({
      description:
        'How far the host came. `answered`: exit status 0. `failed`: another one. `refused`: its report was not valid. `started`: it took or started the config and has not answered. `not taken`: it asks for work and has not taken this config. `polled before`: it has not asked since the config was queued. `never polled`: it never asked. `none`: nothing was sent.',
    }),
  given_values: jsonObject.optional().meta({
    description: 'The values that its creator gave; `input_values` also holds defaults and the `deploy_*` inputs.',
  }),
  accepted_at: z.iso.datetime().nullable().optional().meta({
    description: 'When the host took the request; null before. A list has it only for deployments whose host took it.',
  }),
  streams: z.array(storedSizeSchema).optional().meta({
    description:
      'What is stored of the streams and large outputs of its latest run. Only where one deployment is shown.',
  }),
});
export type DeploymentView = z.infer<typeof deploymentViewSchema>;

export const deploymentList = call('deployment.list', 'List deployments by host or stack.', {
  question: z.object({
    project: z.string(),
    host: z.string().optional(),
    stack_id: z.string().optional(),
    config: z.string().optional().meta({ description: 'Only deployments that clients made of this config.' }),
    ended_after: z.iso.datetime().optional().meta({
      description: 'Only deployments that ended after this time, to read the news of a long list.',
    }),
  }),
  answer: z.object({ deployments: z.array(deploymentViewSchema) }),
});
export const deploymentShow = call(
  'deployment.show',
  'Read a deployment: config, inputs, outputs, output of its script.',
  {
    question: z.object({ project: z.string(), deployment: z.string() }),
    answer: deploymentViewSchema,
  },
);

export const hostMetadata = call('host.metadata', "Read the deployments of a host as the metadata of Heat's server.", {
  question: z.object({ project: z.string(), host: z.string() }),
  answer: z.object({
    deployments: z
      .array(
        hostRequestSchema
          .pick({ id: true, name: true, group: true, config: true, options: true, creation_time: true })
          .extend({ inputs: z.array(jsonObject), outputs: z.array(jsonObject) }),
      )
      .meta({ description: 'In the order of their names. Secrets are masked.' }),
  }),
});
export type HostMetadata = z.infer<typeof hostMetadata.answer>;

export const hostActionSchema = hostRequestSchema.shape.action;
const endedStatus = z.enum(['COMPLETE', 'FAILED']);
const endOfDeployment = {
  seconds: z.number().int().positive().max(2_592_000).optional().meta({
    description: 'Time limit of the whole deployment, waiting included. Absent: one day.',
  }),
  forget: z.boolean().optional().meta({
    description: 'Delete it by itself some time after its end (ANNEAL_CONFIGURATION_RUN_KEEP_SECONDS).',
  }),
};
export const deploymentCreate = call('deployment.create', 'Run a stored config on a host. Idempotent by id.', {
  question: z.object({
    id: z.uuid(),
    project: z.string(),
    host: z.string().min(1).max(255).meta({ description: 'Its id or name.' }),
    config: z.string(),
    input_values: jsonObject,
    action: hostActionSchema,
    ...endOfDeployment,
    elsewhere: z.boolean().optional().meta({
      description:
        'Accept a host that does not exist, as Heat does: it receives nothing, and a client reports the result.',
    }),
    ended: z.object({ status: endedStatus, reason: z.string() }).optional().meta({
      description: 'Records a deployment that ran elsewhere; the host need not exist and receives nothing.',
    }),
  }),
  answer: deploymentViewSchema,
});
export type DeploymentCreate = z.infer<typeof deploymentCreate.data>;
/** Without what all deployments of one config share, and what the client gave. */
export const startedDeploymentSchema = deploymentViewSchema.omit({
  config: true,
  input_values: true,
  given_values: true,
});
export type StartedDeployment = z.infer<typeof startedDeploymentSchema>;
export const deploymentRun = call('deployment.run', 'Run a stored config on many hosts. Idempotent by the ids.', {
  question: z.object({
    project: z.string(),
    config: z.string(),
    deployments: z
      .array(
        z.object({
          id: z.uuid(),
          host: z.string().min(1).max(255).meta({ description: 'Its id or name.' }),
        }),
      )
      .min(1)
      .max(100),
    ...endOfDeployment,
  }),
  answer: z.object({ deployments: z.array(startedDeploymentSchema) }),
});
export type DeploymentRun = z.infer<typeof deploymentRun.data>;
export const deploymentUpdate = call(
  'deployment.update',
  'Run a deployment again with another config or other values, or record its result.',
  {
    question: z.object({
      project: z.string(),
      deployment: z.string(),
      config: z.string().optional(),
      input_values: jsonObject.optional(),
      action: hostActionSchema.optional(),
      again: z.boolean().optional().meta({ description: 'Also run it again if it failed and nothing else changes.' }),
      result: z
        .object({ status: endedStatus.optional(), reason: z.string().optional(), output_values: jsonObject.optional() })
        .optional()
        .meta({ description: 'Ends a run in progress, as an answer of its host does.' }),
    }),
    answer: deploymentViewSchema,
    quotesSecrets: true,
  },
);
export type DeploymentUpdate = z.infer<typeof deploymentUpdate.data>;
export const deploymentDelete = call(
  'deployment.delete',
  'Delete a deployment that was made by `deployment.create`; a request that the host has not taken is withdrawn.',
  { question: z.object({ project: z.string(), deployment: z.string() }), answer: z.object({}) },
);
