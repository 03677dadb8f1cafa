import { defineSettings } from '@anneal/runtime/settings.ts';
import { z } from 'zod';

const whole = (fallback: number) => z.coerce.number().int().min(1).default(fallback);
const seconds = (fallback: number) => z.coerce.number().int().min(1).max(86_400).default(fallback);

export const configurationSettings = defineSettings({
  silentAfter: {
    env: 'ANNEAL_CONFIGURATION_SILENT_SECONDS',
    schema: seconds(90),
    meaning: 'Seconds without a word from a host after which it is called silent.',
    cost: 'Less finds dead hosts sooner; below twice the long poll of 30 s a healthy host is called silent.',
  },
  deploymentTimeout: {
    env: 'ANNEAL_CONFIGURATION_DEPLOYMENT_SECONDS',
    schema: seconds(3600),
    meaning:
      'Seconds that a config may run on its host, counted from its start there, where options.timeout names no other limit.',
    cost: 'More lets a script that never ends hold the queue of its host for longer.',
  },
  queueTimeout: {
    env: 'ANNEAL_CONFIGURATION_QUEUE_SECONDS',
    schema: seconds(3600),
    meaning:
      'Seconds within which a host must take the first request of its queue, where options.queue_timeout names no other limit. Waiting behind other requests does not count.',
    cost: 'More notices later that a host does not take its requests.',
  },
  popLease: {
    env: 'ANNEAL_CONFIGURATION_POP_LEASE_SECONDS',
    schema: seconds(60),
    meaning:
      'Seconds until a request that a client popped or deleted, and that no answer came to, is offered to the host again.',
    cost: 'Less lets a second client of the same host receive a request that the first one still works on.',
  },
  responseKeep: {
    env: 'ANNEAL_CONFIGURATION_RESPONSE_KEEP_SECONDS',
    schema: seconds(3600),
    meaning: 'Seconds for which a handled response stays readable in the responses queue of its host.',
    cost: 'More takes room in the store: up to 256 KiB for each response.',
  },
  projectQueues: {
    env: 'ANNEAL_CONFIGURATION_PROJECT_QUEUES',
    schema: whole(10_000),
    meaning: 'How many queues one project may have, without those of its hosts; one more is refused.',
    cost: 'More lets one project take more room in the store.',
  },
  queueMessages: {
    env: 'ANNEAL_CONFIGURATION_QUEUE_MESSAGES',
    schema: whole(100_000),
    meaning:
      'How many messages one queue of a project may hold; a post that would exceed it is refused. The queues of hosts have no limit.',
    cost: 'More takes room in the store until someone takes the messages, or their time is over.',
  },
  queueBytes: {
    env: 'ANNEAL_CONFIGURATION_QUEUE_BYTES',
    schema: whole(268_435_456),
    meaning:
      'How many bytes of messages one queue of a project may hold, counted from its oldest message on; a post that would exceed it is refused. The queues of hosts have no limit.',
    cost: 'As for the number of messages.',
  },
  postBytes: {
    env: 'ANNEAL_CONFIGURATION_POST_BYTES',
    // The agents split their answers to this size, so no limit may be smaller.
    schema: z.coerce.number().int().min(262_144).max(16_777_216).default(262_144),
    meaning: 'How many bytes all messages of one post to a queue may have together.',
    cost: 'A page of messages may take a hundred times as much memory.',
  },
  deadLetterSeconds: {
    env: 'ANNEAL_CONFIGURATION_DEAD_LETTER_SECONDS',
    schema: z.coerce.number().int().min(60).max(315_360_000).default(1_209_600),
    meaning: 'The longest time to live, in seconds, that a queue may give to the messages of its dead-letter queue.',
    cost: 'A message that no client takes stays in the store for as long.',
  },
  projectHosts: {
    env: 'ANNEAL_CONFIGURATION_PROJECT_HOSTS',
    schema: whole(100_000),
    meaning: 'How many hosts one project may have; one more is refused.',
    cost: 'Every host has two queues.',
  },
  concurrency: {
    env: 'ANNEAL_CONFIGURATION_CONCURRENCY',
    schema: z.coerce.number().int().min(1).max(1024).default(64),
    meaning: 'Messages that one process handles at the same time.',
  },
});
