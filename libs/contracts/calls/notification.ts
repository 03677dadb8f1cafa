/** Questions to the notification service: subscriptions, deliveries and the log of events. */
import { z } from 'zod';
import { call } from '../define.ts';
import { envelopeSchema } from '../envelope.ts';
import { failureSchema } from '../failure.ts';
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

/** A subscription to a queue, as in Zaqar. */
export const queueSubscriptionSchema = z.object({
  id: z.string(),
  source: z.string().meta({ description: 'The queue.' }),
  subscriber: z.string(),
  ttl: z.number().int().meta({ description: 'Seconds.' }),
  age: z.number().int().meta({ description: 'Seconds since it was created or its ttl was set.' }),
  options: jsonObject,
  confirmed: z.boolean(),
});
export type QueueSubscription = z.infer<typeof queueSubscriptionSchema>;

const ofQueue = z.object({ project: z.string(), queue: z.string() });
const queueSubscriptionFields = {
  subscriber: z.url().meta({ description: 'The webhook, or `mailto:` and the recipients.' }),
  ttl: z.number().int().positive().meta({ description: 'Seconds.' }),
  options: jsonObject.meta({ description: '`post_headers` and `post_data` of the requests.' }),
};
export const queueSubscriptionCreate = call(
  'queue.subscription.create',
  'Send the messages of a queue to a webhook or by mail. Another one for the same queue and subscriber has no effect.',
  {
    question: ofQueue.extend({ id: z.string(), ...queueSubscriptionFields }),
    answer: z.object({ subscription_id: z.string() }),
  },
);
export const queueSubscriptionList = call('queue.subscription.list', 'List the subscriptions to a queue.', {
  question: ofQueue.extend({ id: z.string().optional() }),
  answer: z.object({ subscriptions: z.array(queueSubscriptionSchema) }),
});
export const queueSubscriptionUpdate = call(
  'queue.subscription.update',
  'Change a subscription to a queue, or confirm it.',
  {
    question: z.object({
      project: z.string().optional().meta({ description: 'Absent for a listener, which has a signature.' }),
      queue: z.string(),
      id: z.string(),
      ...z.object(queueSubscriptionFields).partial().shape,
      confirmed: z.boolean().optional(),
      proof: z.object({ expires: z.number().int(), signature: z.string() }).optional(),
    }),
    answer: z.object({}),
  },
);
export const queueSubscriptionDelete = call(
  'queue.subscription.delete',
  'Delete a subscription to a queue, or all of them.',
  { question: ofQueue.extend({ id: z.string().optional() }), answer: z.object({}) },
);

export const attemptSchema = z.object({
  at: z.iso.datetime(),
  status: z.number().nullable().meta({ description: 'The HTTP status; null without an answer.' }),
  error: z.string().nullable(),
  ms: z.number().meta({ description: 'Duration of the request.' }),
  event_id: z.string().meta({ description: 'The first event of the request.' }),
  event_type: z.string(),
  subject: z.string().optional(),
  events: z.number().int().meta({ description: 'The number of events of the request.' }),
  sequence: z.number().int(),
});

export const deliveryViewSchema = z.object({
  id: z.string(),
  subscription_id: z.string(),
  event_id: z.string(),
  event_type: z.string(),
  status: z.enum(['pending', 'delivered', 'dead']),
  attempts: z.array(
    z.object({ at: z.iso.datetime(), status: z.number().nullable(), error: z.string().nullable(), ms: z.number() }),
  ),
  next_attempt_at: z.iso.datetime().nullable(),
  failure: failureSchema.nullable(),
});
export type DeliveryView = z.infer<typeof deliveryViewSchema>;

export const attemptList = call('subscription.attempts', 'List the latest requests to a listener.', {
  question: z.object({ project: z.string(), id: z.string(), limit: z.number().int().min(1).max(1000) }),
  answer: z.object({ attempts: z.array(attemptSchema) }),
});

export const deliveryList = call('delivery.list', 'List the latest deliveries of a subscription.', {
  question: z.object({ project: z.string(), subscription: z.string() }),
  answer: z.object({ deliveries: z.array(deliveryViewSchema) }),
});
export const deliveryReplay = call('delivery.replay', 'Send a delivery again.', {
  question: z.object({ project: z.string(), subscription: z.string(), delivery: z.string() }),
  answer: deliveryViewSchema,
});

export const eventLog = call('event.log', 'List the events of a project in the order in which they were stored.', {
  question: z.object({
    project: z.string(),
    after: z.string().optional().meta({
      description:
        'Exclusive: id of the last event seen. Absent: the `limit` newest. `beginning`: from the oldest stored event.',
    }),
    before: z.string().optional().meta({
      description: 'Exclusive, without `after`: the id of an event. The answer has the `limit` newest before it.',
    }),
    position: z.number().int().optional().meta({
      description:
        'The `position` of the answer that ended with `after`. Shows whether an event was removed from the log unread, also when `after` itself was removed.',
    }),
    types: z.array(z.string()).default(['#']),
    subject_prefix: z.string().default(''),
    filters: z
      .array(jsonObject)
      .optional()
      .meta({ description: 'In the dialects of the CloudEvents Subscriptions API; an event must pass all.' }),
    limit: z.number().int().min(1).max(1000),
  }),
  answer: z.object({
    events: z.array(envelopeSchema),
    cursor: z.string().optional().meta({
      description: 'The last event examined, whether it matches or not; reading from here examines no event twice.',
    }),
    position: z.number().int().optional().meta({ description: 'The number up to which the log was read.' }),
    gap: eventGapSchema.optional(),
  }),
});

const mailAddresses = z.array(z.string().max(320)).max(50);
export const mailSend = call('mail.send', 'Send a mail through the SMTP server of the operator, once for an id.', {
  question: z.object({
    project: z.string(),
    id: z.string().meta({ description: 'Makes the Message-ID, which is the same in a repeat.' }),
    to: mailAddresses.min(1),
    cc: mailAddresses,
    bcc: mailAddresses,
    reply_to: mailAddresses,
    subject: z.string().max(998),
    text: z.string().max(262_144),
    html: z.string().max(262_144).nullable(),
  }),
  answer: z.object({
    rejected: z
      .array(z.string())
      .meta({ description: 'Recipients that the server has refused; the others get the mail.' }),
  }),
});
