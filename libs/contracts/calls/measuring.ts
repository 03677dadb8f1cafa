/** Questions to the notification service about measurements. */
import { z } from 'zod';
import { call } from '../define.ts';

/** The label of a host in the warm pool of its group. */
export const warmLabel = 'warm_pool';

/** Labels that the server sets for a host or a credential. A poster that is neither may set them. */
export const placeLabels = [
  'stack',
  'stack_name',
  'group',
  'group_id',
  'group_name',
  'member',
  'server',
  'host',
  'host_name',
  'credential',
  warmLabel,
] as const;

/** Statistics over the values of a period. `<n>pct` is a percentile; `rate:` is the change from period to period. */
export const plainAggregates = ['mean', 'min', 'max', 'sum', 'count', 'last', 'median', 'rate'] as const;
/** The pattern of every aggregate that a query may name. */
export const aggregatePattern = /^(?:(?:rate:)?(?:mean|min|max|sum|count|last|median|(?:[1-9]|[1-9]\d)pct)|rate)$/;
/** The way in which the measurements of one period become one value. */
export const aggregateSchema = z
  .string()
  .regex(
    aggregatePattern,
    'must be mean, min, max, sum, count, last, median, a percentile such as 95pct, rate (change per second), or rate: and one of them (change per period)',
  );

/** The name of a metric. */
export const metricNameSchema = z
  .string()
  .regex(
    /^[A-Za-z_][\w.:/ -]{0,127}$/,
    'must begin with a letter and have at most 128 letters, digits, spaces and . : / _ -',
  );
const labelNameSchema = z
  .string()
  .regex(
    /^[A-Za-z_][\w.:-]{0,63}$/,
    'a label must begin with a letter and have at most 64 letters, digits and . : _ -',
  );
/** Labels by name. */
export const labelsSchema = z
  .record(labelNameSchema, z.string().max(255))
  .refine((labels) => Object.keys(labels).length <= 16, 'must have at most 16 labels');
/** The labels of a measurement, by name. */
export type Labels = Readonly<Record<string, string>>;

/** The largest batch of measurements. */
export const mostMeasurements = 1000;

/** A measurement as a client posts it. */
export const measurementSchema = z.strictObject({
  name: metricNameSchema,
  value: z.number().meta({ description: 'A finite number.' }),
  unit: z.string().max(32).optional(),
  at: z.iso.datetime({ offset: true }).optional().meta({ description: 'Absent: the time of arrival.' }),
  labels: labelsSchema.optional(),
});
export type Measurement = z.infer<typeof measurementSchema>;

/** The id of a batch: the same for each repeat of it. */
export const batchIdSchema = z.string().min(1).max(128);

export const metricPost = call(
  'metric.post',
  'Store a batch of measurements. A repeat with the same id adds nothing.',
  {
    question: z.object({
      project: z.string(),
      id: batchIdSchema.meta({ description: 'Of the batch; a repeat has the same one.' }),
      poster: z
        .discriminatedUnion('kind', [
          z.object({ kind: z.literal('user') }),
          z.object({ kind: z.literal('host'), host_id: z.string() }),
          z.object({ kind: z.literal('credential'), credential_id: z.string() }),
        ])
        .meta({ description: 'Determines the labels that the server sets.' }),
      measurements: z.array(measurementSchema).min(1).max(mostMeasurements),
    }),
    answer: z.object({ stored: z.number().int(), repeated: z.number().int() }),
  },
);

/** A series: the measurements with one name and the same labels. */
export const seriesSchema = z.object({
  id: z.string(),
  name: z.string(),
  unit: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  created_at: z.iso.datetime(),
  last_at: z.iso.datetime().meta({ description: 'Time of a late measurement; exact to five minutes.' }),
});
export type SeriesView = z.infer<typeof seriesSchema>;

/** Conditions on labels: a label has the value, whatever other labels the series has. */
const whereSchema = z.record(z.string(), z.string());

export const metricList = call('metric.list', 'List the series of measurements of a project.', {
  question: z.object({
    project: z.string(),
    name: z.string().optional(),
    where: whereSchema.default({}),
    limit: z.number().int().min(1).max(10_000).default(1000),
  }),
  answer: z.object({ series: z.array(seriesSchema) }),
});

/** The value of a series in one period. */
export const metricPointSchema = z.object({
  at: z.iso.datetime().meta({ description: 'The start of the period.' }),
  value: z.number(),
});
export const metricQuery = call('metric.query', 'Aggregate measurements over labels and time.', {
  question: z.object({
    project: z.string(),
    name: metricNameSchema,
    where: whereSchema.default({}),
    by: z.array(z.string()).max(8).default([]).meta({ description: 'One result for each value of these labels.' }),
    aggregate: aggregateSchema.default('mean'),
    granularity: z.number().int().min(1).max(86_400).meta({ description: 'Seconds of a period.' }),
    from: z.iso.datetime({ offset: true }),
    to: z.iso.datetime({ offset: true }),
  }),
  answer: z.object({
    granularity: z.number().int(),
    results: z.array(
      z.object({
        labels: z.record(z.string(), z.string()),
        series: z.number().int().meta({ description: 'The number of series in the result.' }),
        points: z.array(metricPointSchema),
      }),
    ),
  }),
});
