/** Questions about stored events. */
import { z } from 'zod';
import { call } from '../define.ts';
import { envelopeSchema } from '../envelope.ts';
import { jsonObject } from '../json.ts';
import { eventGapSchema } from './subscriptions.ts';

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
