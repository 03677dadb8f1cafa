/** Event sinks, which the environment of a stack names: the queues that receive the events of the whole tree, as in Heat. */
import { z } from 'zod';

/** A listener that a stack tells about its own events, as in Heat. */
export const stackSinkSchema = z.strictObject({
  type: z.literal('zaqar-queue'),
  target: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be the name of a queue: 1 to 64 letters, digits, "_", "-" and "."'),
  ttl: z
    .number()
    .int()
    .min(1)
    .max(14 * 86_400)
    .default(3600)
    .meta({ description: 'Seconds that the queue keeps a message.' }),
});
export type StackSink = z.infer<typeof stackSinkSchema>;

/** The most sinks of one stack. Each of them is a subscription. */
export const mostStackSinks = 10;
