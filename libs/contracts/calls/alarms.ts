/** Questions to the notification service about alarms. */
import { z } from 'zod';
import { call } from '../define.ts';
import { json } from '../json.ts';

export const alarmStates = ['ok', 'alarm', 'insufficient data'] as const;
const stateSchema = z.enum(alarmStates);

export const alarmViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  project: z.string(),
  type: z.string().meta({ description: 'The type of the resource.' }),
  stack_id: z.string(),
  stack_name: z.string(),
  resource_name: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  severity: z.string(),
  repeat_actions: z.boolean(),
  state: stateSchema,
  state_reason: z.string(),
  state_at: z.iso.datetime(),
  rule: json,
  actions: z.array(z.object({ on: z.string(), target: z.string() })).meta({
    description: 'Targets by state; `value` for the targets that get each value. Signatures are left out.',
  }),
  pending: z
    .array(z.object({ target: z.string(), attempts: z.number().int(), error: z.string().nullable() }))
    .meta({ description: 'Actions that are not delivered yet.' }),
  created_at: z.iso.datetime(),
});
export type AlarmView = z.infer<typeof alarmViewSchema>;

const which = z.object({ project: z.string(), alarm: z.string().meta({ description: 'Its id, or its unique name.' }) });

export const alarmList = call('alarm.list', 'List the alarms of a project.', {
  question: z.object({ project: z.string(), stack: z.string().optional(), state: stateSchema.optional() }),
  answer: z.object({ alarms: z.array(alarmViewSchema) }),
});
export const alarmShow = call('alarm.show', 'Read an alarm.', { question: which, answer: alarmViewSchema });
export const alarmSet = call('alarm.set', 'Set the state of an alarm. Its actions for that state run.', {
  question: which.extend({ state: stateSchema }),
  answer: alarmViewSchema,
});

export const alarmHistorySchema = z.object({
  at: z.iso.datetime(),
  kind: z.enum(['state transition', 'action', 'action failed']),
  detail: z.string(),
});
export const alarmHistory = call('alarm.history', 'List the latest changes and actions of an alarm, newest first.', {
  question: which.extend({ limit: z.number().int().min(1).max(1000) }),
  answer: z.object({ history: z.array(alarmHistorySchema) }),
});
