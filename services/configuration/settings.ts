import { defineSettings } from '@anneal/runtime/service/settings.ts';
import { z } from 'zod';

const whole = (fallback: number) => z.coerce.number().int().min(1).default(fallback);
const seconds = (fallback: number) => z.coerce.number().int().min(1).max(86_400).default(fallback);

export const configurationSettings = defineSettings({
  silentAfter: {
    env: 'ANNEAL_CONFIGURATION_SILENT_SECONDS',
    schema: seconds(90),
    meaning: 'Seconds without a request or an open connection from a host until it is marked as silent.',
    cost: 'A lower value finds dead hosts sooner; below 60 s (the report of waiting hosts, the long poll over a proxy, and a margin) healthy hosts are marked as silent.',
  },
  joinSeconds: {
    env: 'ANNEAL_CONFIGURATION_JOIN_SECONDS',
    schema: z.coerce.number().int().min(60).max(2_592_000).default(3600),
    meaning: 'Seconds within which a machine must use the line of `anneal host join`.',
    cost: 'A line that another person reads works for this time, until it is used.',
  },
  deploymentTimeout: {
    env: 'ANNEAL_CONFIGURATION_DEPLOYMENT_SECONDS',
    schema: seconds(3600),
    meaning:
      'Seconds that a config may run on its host, from its start there, unless options.timeout sets another limit.',
    cost: 'A higher value lets a script that never ends block the queue of its host for longer.',
  },
  queueTimeout: {
    env: 'ANNEAL_CONFIGURATION_QUEUE_SECONDS',
    schema: seconds(3600),
    meaning:
      'Seconds within which a host must take the first request of its queue, unless options.queue_timeout sets another limit. The wait behind other requests does not count.',
    cost: 'A higher value detects later that a host does not take its requests.',
  },
  popLease: {
    env: 'ANNEAL_CONFIGURATION_POP_LEASE_SECONDS',
    schema: seconds(60),
    meaning: 'Seconds until a request that a client popped or deleted without an answer is offered to the host again.',
    cost: 'A lower value may give a second client of the same host a request that the first one still works on.',
  },
  contextSettle: {
    env: 'ANNEAL_CONFIGURATION_CONTEXT_SETTLE_SECONDS',
    schema: seconds(2),
    meaning: 'Seconds after the change of a host until its contexts follow, so that several changes cause one version.',
    cost: 'A higher value updates the members later; a lower value runs their configs more often.',
  },
  contextDeleted: {
    env: 'ANNEAL_CONFIGURATION_CONTEXT_DELETED_SECONDS',
    schema: seconds(120),
    meaning:
      'Seconds after the deletion of a host until its contexts leave it out by themselves. The stack that deletes a host normally updates the context sooner.',
    cost: 'A lower value may run the configs twice when a stack deletes several hosts.',
  },
  responseKeep: {
    env: 'ANNEAL_CONFIGURATION_RESPONSE_KEEP_SECONDS',
    schema: seconds(3600),
    meaning: 'Seconds that a handled response stays readable in the responses queue of its host.',
    cost: 'A higher value takes more of the store: up to 256 KiB per response.',
  },
  outputBytes: {
    env: 'ANNEAL_CONFIGURATION_OUTPUT_BYTES',
    schema: z.coerce.number().int().min(65_536).max(1_073_741_824).default(4_194_304),
    meaning:
      'Maximum size, in bytes, of what is stored of each stream of a run, and of all its outputs that are longer than 64 KiB or no text. Later bytes of a stream are dropped; its last 64 KiB arrive with the answer. A larger output fails its deployment.',
    cost: 'Each run may take three times as much of the store.',
  },
  outputKeep: {
    env: 'ANNEAL_CONFIGURATION_OUTPUT_KEEP_SECONDS',
    schema: z.coerce.number().int().min(60).max(315_360_000).default(604_800),
    meaning:
      'Seconds that the stored streams of a run stay readable, from their last byte. Outputs stay as long as their deployment.',
    cost: 'A higher value takes more of the store.',
  },
  hostBrokerUrl: {
    env: 'ANNEAL_CONFIGURATION_HOST_BROKER_URL',
    schema: z.string().optional(),
    meaning:
      'URL of the broker that hosts may use directly, with the credentials of Anneal: `amqp[s]://user:password@host/vhost` or `nats://user:password@host`. Use a virtual host or an account that serves nothing else. Default: hosts use only HTTP.',
    secret: true,
  },
  hostBrokerAdminUrl: {
    env: 'ANNEAL_CONFIGURATION_HOST_BROKER_ADMIN_URL',
    schema: z.string().optional(),
    meaning:
      'URL with which Anneal manages the users of that broker: the management API of RabbitMQ (`http[s]://user:password@host:15672`, a user with the tag `administrator`), or a user of the system account of NATS (`nats://user:password@host`).',
    secret: true,
  },
  hostBrokerKey: {
    env: 'ANNEAL_CONFIGURATION_HOST_BROKER_KEY',
    schema: z.string().optional(),
    meaning:
      'With NATS: the seed (`SA…`) of the key that the server trusts as the issuer of its authorization callout. It signs the permissions of hosts.',
    secret: true,
  },
  hostBrokerAddress: {
    env: 'ANNEAL_CONFIGURATION_HOST_BROKER_ADDRESS',
    schema: z
      .string()
      .refine((text) => !/\/\/[^/]*@/.test(text), 'must not contain a user or password')
      .optional(),
    meaning: 'URL at which hosts reach that broker, without a user. Default: the URL that Anneal uses.',
  },
  runKeep: {
    env: 'ANNEAL_CONFIGURATION_RUN_KEEP_SECONDS',
    schema: z.coerce.number().int().min(60).max(315_360_000).default(604_800),
    meaning:
      'Seconds that the deployments of `anneal run` (POST /api/v1/deployments) and their configs stay readable after their time limit. Deployments of stacks and of the API of Heat stay until they are deleted.',
    cost: 'A higher value takes more of the store, and makes the list of deployments longer.',
  },
  projectQueues: {
    env: 'ANNEAL_CONFIGURATION_PROJECT_QUEUES',
    schema: whole(10_000),
    meaning: 'Maximum number of queues of one project, without those of its hosts.',
    cost: 'A higher value lets one project take more of the store.',
  },
  queueMessages: {
    env: 'ANNEAL_CONFIGURATION_QUEUE_MESSAGES',
    schema: whole(100_000),
    meaning:
      'Maximum number of messages in one queue. A post that would exceed it is refused. The queues of hosts have no limit.',
    cost: 'A higher value takes more of the store until clients take the messages or the messages expire.',
  },
  queueBytes: {
    env: 'ANNEAL_CONFIGURATION_QUEUE_BYTES',
    schema: whole(268_435_456),
    meaning:
      'Maximum size, in bytes, of the messages in one queue, counted from the oldest message on. A post that would exceed it is refused. The queues of hosts have no limit.',
    cost: 'The same as for the number of messages.',
  },
  postBytes: {
    env: 'ANNEAL_CONFIGURATION_POST_BYTES',
    // The agents split their answers to this size, so no limit may be smaller.
    schema: z.coerce.number().int().min(262_144).max(16_777_216).default(262_144),
    meaning: 'Maximum size, in bytes, of all messages of one post to a queue.',
    cost: 'A page of messages may take a hundred times as much memory.',
  },
  deadLetterSeconds: {
    env: 'ANNEAL_CONFIGURATION_DEAD_LETTER_SECONDS',
    schema: z.coerce.number().int().min(60).max(315_360_000).default(1_209_600),
    meaning: 'Maximum time to live, in seconds, of the messages of a dead-letter queue.',
    cost: 'A message that no client takes stays in the store for this time.',
  },
  projectHosts: {
    env: 'ANNEAL_CONFIGURATION_PROJECT_HOSTS',
    schema: whole(100_000),
    meaning: 'Maximum number of hosts of one project.',
    cost: 'Every host has two queues.',
  },
  concurrency: {
    env: 'ANNEAL_CONFIGURATION_CONCURRENCY',
    schema: z.coerce.number().int().min(1).max(1024).default(64),
    meaning: 'Maximum number of messages of each queue that one process handles at the same time.',
  },
});
