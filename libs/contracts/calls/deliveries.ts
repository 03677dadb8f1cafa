/** Questions about deliveries to listeners. */
import { z } from 'zod';
import { call } from '../define.ts';
import { failureSchema } from '../failure.ts';

/** A request to a listener, and its answer. */
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

/** A delivery of events to one listener, with its attempts. */
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
