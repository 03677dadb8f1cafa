/** Questions about subscriptions to queues, in Zaqar's terms. */
import { z } from 'zod';
import { call } from '../define.ts';
import { jsonObject } from '../json.ts';

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
