/** The timers of the provider and the cron triggers of this service in the store. */
import { isObject } from '@anneal/contracts/json.ts';
import { createTimerCodec } from '@anneal/runtime/time/timer-codec.ts';
import { z } from 'zod';

const scheduleTimerSchema = z.object({
  kind: z.literal('schedule'),
  /** The id of its resource. */
  schedule: z.string(),
  name: z.string(),
  project: z.string(),
  group: z.string(),
  pattern: z.string(),
  time_zone: z.string(),
  size: z.number(),
});
/** The next time of a schedule of a group, with everything that its firing needs. */
export type ScheduleTimer = z.infer<typeof scheduleTimerSchema>;

const waitTimerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('cron'), cron: z.string() }),
  scheduleTimerSchema,
  z.object({ kind: z.literal('work'), resource: z.string(), fence: z.number() }),
]);
/** Names the timer of a schedule by the id of its resource. */
export const scheduleTimerId = (schedule: string): string => `schedule:${schedule}`;

/** A timer of a cron trigger, of a schedule, or of the work on a resource. */
type WaitTimer = z.infer<typeof waitTimerSchema>;

/** Reads and writes the collection `scheduling_waits`. */
export const waitTimers = createTimerCodec<WaitTimer>({
  schema: waitTimerSchema,
  idOf: (timer) => {
    switch (timer.kind) {
      case 'cron':
        return `cron:${timer.cron}`;
      case 'schedule':
        return scheduleTimerId(timer.schedule);
      case 'work':
        return `${timer.resource}:${timer.fence}`;
    }
  },
  earlier: ({ data }) => {
    if (!isObject(data)) return data;
    // A schedule called its pattern `cron`, as a trigger calls its id.
    if (typeof data['schedule'] === 'string') return { ...data, kind: 'schedule', pattern: data['cron'] };
    return { ...data, kind: typeof data['cron'] === 'string' ? 'cron' : 'work' };
  },
});
