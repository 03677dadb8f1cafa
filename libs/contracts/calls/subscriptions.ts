/** Questions about subscriptions to events. */
import { z } from 'zod';
import { call } from '../define.ts';
import { jsonObject, secretText } from '../json.ts';

/** Events that the log removed before a subscription could deliver them. */
export const droppedSchema = z.object({
  count: z.number().int().positive(),
  since: z.iso.datetime().meta({ description: 'Time of the first one.' }),
  last: z.iso.datetime().meta({ description: 'Time of the last one.' }),
});
export type Dropped = z.infer<typeof droppedSchema>;

/** The form of the messages of a subscription. */
const eventFormat = z.enum(['cloudevents', 'heat', 'zaqar']).meta({
  description:
    '`heat`: the messages of the event sinks of Heat, type `os.heat.event`. `zaqar`: the notifications of a queue.',
});

const contentMode = z.enum(['structured', 'binary']).meta({
  description: 'The content mode of CloudEvents: one JSON object, or the data with the attributes as headers.',
});

const refusalRule = z.enum(['block', 'skip']).meta({
  description:
    'What follows a refused event. `block`: the events of its subject wait during its retries. `skip`: it is dead at once and they continue.',
});

const condensing = z.enum(['latest', 'digest']).meta({
  description:
    'How the events of a window become fewer messages. `latest`: of each subject the latest event. `digest`: one event `subscription.digest` with all of them and their counts.',
});

/** The longest window of a subscription that condenses: a day. */
export const mostWindowSeconds = 86_400;

const windowSeconds = z.number().int().min(1).max(mostWindowSeconds).meta({
  description: 'Length of the window, which begins with its first event. It ends early with 1,000 events.',
});

/** A subscription with its progress, as readers see it. */
export const subscriptionViewSchema = z.object({
  id: z.string(),
  project: z.string(),
  name: z.string(),
  url: z.url().meta({ description: 'Where the events go; without credentials.' }),
  format: eventFormat.optional(),
  mode: contentMode.optional(),
  types: z
    .array(z.string())
    .meta({ description: 'Patterns of event types: `stack.create.completed`, `stack.*.failed`, `deployment.#`.' }),
  subject_prefix: z.string().meta({ description: 'Only events whose subject starts with this.' }),
  status: z.enum(['active', 'paused', 'disabled', 'unconfirmed']).meta({
    description: '`unconfirmed`: the listener has not agreed to receive events; they wait in the log.',
  }),
  condense: condensing.nullable().optional(),
  window_seconds: windowSeconds.nullable().optional(),
  on_refusal: refusalRule.optional(),
  dead_letter: z
    .string()
    .nullable()
    .optional()
    .meta({ description: 'Where events go that the listener refused for good.' }),
  created_at: z.iso.datetime(),
  last_success_at: z.iso.datetime().nullable(),
  last_failure_at: z.iso.datetime().nullable(),
  last_error: z.string().nullable(),
  reason: z.string().nullable().optional().meta({ description: 'Why it is disabled.' }),
  filters: z.array(jsonObject).optional().meta({
    description: 'Filters in the dialects of the CloudEvents Subscriptions API; an event must pass all.',
  }),
  batch_size: z.number().int().optional().meta({
    description:
      'The most events of one request. Above 1, the body is a JSON array: application/cloudevents-batch+json.',
  }),
  next_attempt_at: z.iso.datetime().nullable().optional().meta({
    description: 'While the listener is away: the time of the next attempt.',
  }),
  outage: z
    .object({
      since: z.iso.datetime().meta({ description: 'The first failed attempt.' }),
      attempts: z.number().int().meta({ description: 'Attempts that found it away.' }),
    })
    .nullable()
    .optional()
    .meta({ description: 'Present while the listener is away.' }),
  backlog: z.number().int().meta({ description: 'Events that wait to be delivered.' }),
  dropped: droppedSchema.nullable().optional().meta({
    description: 'Null when this subscription has lost no event; absent in answers of older versions.',
  }),
  events_project: z.string().optional().meta({
    description: 'The project whose events it gets, which an operator chose. Absent: its own.',
  }),
  stack_id: z.string().optional().meta({
    description: 'An event sink: the stack whose environment names it. The stack creates, changes and deletes it.',
  }),
  allowed_rate: z.number().int().nullable().optional().meta({
    description: 'The requests per minute that the listener has allowed (`WebHook-Allowed-Rate`); null for any number.',
  }),
  version: z.number().int(),
});
export type SubscriptionView = z.infer<typeof subscriptionViewSchema>;

/** Events that the log had removed before the reader saw them. */
export const eventGapSchema = z
  .object({
    after: z.string().meta({ description: 'The event that is not in the log any more.' }),
    oldest: z.iso.datetime().nullable().meta({
      description: 'Time of the oldest event of the project in the log; null when the log has none.',
    }),
  })
  .meta({ description: 'Events between the two may be lost: the log has removed them.' });
export type EventGap = z.infer<typeof eventGapSchema>;

export const subscriptionCreate = call('subscription.create', 'Create a subscription: events are sent to a listener.', {
  question: z.object({
    id: z.string(),
    project: z.string(),
    name: z.string().max(255),
    url: z.url().meta({
      description:
        'A webhook `http[s]://…`, a queue `queue:NAME?ttl=3600`, `amqp[s]://HOST/VHOST?exchange=NAME&key={type}`, `nats://HOST?subject=NAME.{type}&ack=stream`, mail `mailto:ADDRESS`, or a config `config:ID?host=NAME`.',
    }),
    credentials: secretText.optional().meta({ description: '`user:password` for a broker, encoded as in a URL.' }),
    format: eventFormat.optional(),
    mode: contentMode.optional(),
    confirm: z.boolean().optional().meta({
      description: 'Send no event until the webhook has agreed, as the validation of CloudEvents webhooks defines.',
    }),
    condense: condensing.optional(),
    window_seconds: windowSeconds.optional(),
    on_refusal: refusalRule.optional(),
    dead_letter: z.url().optional().meta({
      description:
        'A webhook or a queue for events that the listener refused for good, with the reason and the attempts.',
    }),
    types: z.array(z.string()).min(1),
    events_project: z.string().optional().meta({
      description: 'The project whose events it gets. Absent: its own.',
    }),
    subject_prefix: z.string().default(''),
    batch_size: z.number().int().min(1).max(1000).optional().meta({ description: 'The most events of one request.' }),
    filters: z.array(jsonObject).max(100).optional().meta({
      description: 'In the dialects exact, prefix, suffix, all, any and not; an event must pass all.',
    }),
    secret: secretText.optional().meta({ description: '`whsec_…`; made when absent.' }),
    after: z
      .string()
      .optional()
      .meta({ description: 'Also deliver events after this one; `beginning` for all stored events.' }),
  }),
  answer: z
    .object({ subscription: subscriptionViewSchema, secret: z.string(), gap: eventGapSchema.optional() })
    .meta({ description: 'The secret is shown here and never again.' }),
});

export const subscriptionList = call('subscription.list', 'List the subscriptions of a project.', {
  question: z.object({ project: z.string() }),
  answer: z.object({ subscriptions: z.array(subscriptionViewSchema) }),
});

/** A subscription whose listener gets nothing until a person does something. */
export const stuckSubscriptionSchema = z.object({
  id: z.string(),
  name: z.string(),
  status: subscriptionViewSchema.shape.status,
  reason: z.string().meta({ description: 'Why it delivers nothing, in one sentence.' }),
  since: z.iso.datetime(),
});
export type StuckSubscription = z.infer<typeof stuckSubscriptionSchema>;

export const subscriptionOverview = call(
  'subscription.overview',
  'Find the subscriptions of a project that are disabled, or whose listeners have been away or have not agreed for long.',
  {
    question: z.object({
      project: z.string(),
      since: z.iso.datetime().meta({ description: 'Listeners that fail since a later time may come back soon.' }),
      most: z.number().int().positive().max(100).meta({ description: 'The most subscriptions of the answer.' }),
    }),
    answer: z.object({
      stuck: z.array(stuckSubscriptionSchema).meta({ description: 'The longest first.' }),
      stuck_count: z.number().int(),
    }),
  },
);

export const subscriptionShow = call('subscription.show', 'Read a subscription.', {
  question: z.object({ project: z.string(), id: z.string() }),
  answer: subscriptionViewSchema,
});

export const subscriptionDelete = call('subscription.delete', 'Delete a subscription.', {
  question: z.object({ project: z.string(), id: z.string() }),
  answer: z.object({}),
});

export const subscriptionAct = call(
  'subscription.act',
  'Pause or resume a subscription, or attempt all that waits for its listener now.',
  {
    question: z.object({ project: z.string(), id: z.string(), verb: z.enum(['pause', 'resume', 'retry']) }),
    answer: subscriptionViewSchema,
  },
);

export const subscriptionTest = call(
  'subscription.test',
  'Send a test event to a listener, and ask a webhook that has not agreed to receive events.',
  {
    question: z.object({ project: z.string(), id: z.string() }),
    answer: z.object({
      status: z.number().nullable().meta({ description: 'The HTTP status; null without an answer.' }),
      error: z.string().nullable(),
      ms: z.number().meta({ description: 'Duration of the request.' }),
      subscription: subscriptionViewSchema,
    }),
  },
);

export const subscriptionConfirm = call(
  'subscription.confirm',
  'Confirm a subscription with the signature that its listener has received.',
  {
    question: z.object({
      id: z.string(),
      expires: z.number().int().meta({ description: 'In seconds since the epoch.' }),
      signature: z.string(),
      rate: z.number().int().positive().optional().meta({
        description: 'The requests per minute that the listener allows. Absent: any number.',
      }),
    }),
    answer: z.object({ project: z.string() }),
  },
);

export const subscriptionRotate = call('subscription.rotate', 'Replace the secret of a subscription.', {
  question: z.object({
    project: z.string(),
    id: z.string(),
    secret: secretText.optional().meta({ description: '`whsec_…`; made when absent.' }),
    keep_seconds: z
      .number()
      .int()
      .min(0)
      .max(30 * 86_400)
      .default(86_400)
      .meta({ description: 'So long the previous secret signs too.' }),
  }),
  answer: z
    .object({ subscription: subscriptionViewSchema, secret: z.string() })
    .meta({ description: 'The secret is shown here and never again.' }),
});

export const subscriptionReplay = call(
  'subscription.replay',
  'Send the stored events of a range again, as far as the subscription wants them.',
  {
    question: z.object({
      project: z.string(),
      id: z.string(),
      from: z.string().meta({ description: 'The first event: its id, or the earliest time (ISO 8601).' }),
      to: z
        .string()
        .optional()
        .meta({ description: 'The last event: its id, or the latest time. Absent: the newest.' }),
    }),
    answer: z.object({ events: z.number().int().meta({ description: 'The number of events that are sent again.' }) }),
  },
);
