/** Questions about hosts: their life, their credentials, how they join. */
import { z } from 'zod';
import { call } from '../define.ts';
import { jsonObject } from '../json.ts';
import { occasionSchema, placeSchema } from '../origin.ts';
import { pageCounts, pageSchema } from '../page.ts';
import { isPlainName, plainName } from '../plain-name.ts';
import { collectTransports } from '../transports.ts';
import { conditionSchema } from './stacks.ts';

/** An answer of a host that changed nothing, and why. */
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

/** A host as readers see it. */
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
  reboot: z
    .object({
      deployment_id: z.string(),
      deployment: z.string().meta({ description: 'The name of the deployment that asked for it.' }),
      number: z.number().int(),
      most: z.number().int(),
      since: z.iso.datetime(),
      until: z.iso.datetime().meta({ description: 'When it counts as not back.' }),
      reset_at: z.iso.datetime().optional().meta({ description: 'When its BMC was asked to reset it.' }),
    })
    .optional()
    .meta({ description: 'The reboot that it does for a config. Its status stays `up`. Absent when it does none.' }),
  unexpected_answers: z
    .array(unexpectedAnswerSchema)
    .optional()
    .meta({ description: 'Answers that changed nothing, newest last: the last ten alarms and the last ten others.' }),
  unexpected_total: z.number().int().optional().meta({ description: 'The number of all unexpected answers so far.' }),
  version: z.number().int(),
  conditions: z.array(conditionSchema),
});
export type HostView = z.infer<typeof hostViewSchema>;

/** The word for the status of a host: one that reboots for a config is up, and asks for no work. */
export const hostStatusWord = ({ status, reboot }: Pick<HostView, 'status' | 'reboot'>): string =>
  reboot && status === 'up' ? 'rebooting' : status;

/** The number of a reboot: `1 of 3`, and the reset by its BMC. */
export const rebootCount = ({
  number,
  most,
  reset_at: reset,
}: {
  readonly number: number;
  readonly most: number;
  readonly reset_at?: string | undefined;
}): string => `${number} of ${most}${reset === undefined ? '' : ', reset by its BMC'}`;

/** The part of a sentence about a host that reboots. Undefined for any other. */
export const rebootSentence = ({ reboot }: Pick<HostView, 'reboot'>): string | undefined =>
  reboot && `reboots for config ${reboot.deployment} (${rebootCount(reboot)}) since ${reboot.since}`;

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
      description: 'Use a joined host that this name means, when no other server uses it, instead of a new one.',
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

/** The credentials with which a host uses the broker directly. */
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
  question: z.object({
    project: z.string().optional(),
    host: z.string(),
    similar: z.boolean().optional().meta({ description: 'Add the joined hosts with a similar name.' }),
  }),
  answer: hostViewSchema.and(
    z.object({
      similar: z.array(z.string()).optional().meta({
        description: 'Names of joined hosts that resemble the name and that no server uses. Absent unless asked for.',
      }),
    }),
  ),
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
