/** Questions to the notification service about alarms. */
import { z } from 'zod';
import { call } from '../define.ts';
import { json } from '../json.ts';
import { occasionSchema } from '../origin.ts';

/** The states of an alarm. */
export const alarmStates = ['ok', 'alarm', 'insufficient data'] as const;
const stateSchema = z.enum(alarmStates);

/** An alarm with its state, as readers see it. */
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
  question: which.extend({ state: stateSchema, occasion: occasionSchema.optional() }),
  answer: alarmViewSchema,
});

/** The values that a rule of an alarm compares, by period. */
export const alarmSeriesSchema = z.object({
  rule: z.string().meta({ description: 'The rule as text, e.g. `mean(cpu) gt 80`.' }),
  comparison: z.string(),
  threshold: z.number(),
  granularity: z.number().int().meta({ description: 'Seconds of a period.' }),
  points: z.array(
    z.object({
      at: z.iso.datetime().meta({ description: 'The begin of the period.' }),
      value: z.number().nullable().meta({ description: 'Null without a measurement.' }),
      outside: z.boolean().meta({ description: 'Whether the value is on the side of the alarm.' }),
    }),
  ),
});
export const alarmSeries = call(
  'alarm.series',
  'Read the latest values that an alarm compares with its threshold, one for each complete period.',
  {
    question: which.extend({ periods: z.number().int().min(1).max(1000) }),
    answer: z.object({ series: z.array(alarmSeriesSchema) }),
  },
);

/** A change of the state of an alarm, or an attempt of one of its actions. */
export const alarmHistorySchema = z.object({
  at: z.iso.datetime(),
  kind: z.enum(['state transition', 'action', 'action failed']),
  detail: z.string(),
});
export const alarmHistory = call('alarm.history', 'List the latest changes and actions of an alarm, newest first.', {
  question: which.extend({ limit: z.number().int().min(1).max(1000) }),
  answer: z.object({ history: z.array(alarmHistorySchema) }),
});
