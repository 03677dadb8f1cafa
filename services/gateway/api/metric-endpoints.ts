/** Measurements: post, list and aggregate them. */
import {
  aggregateSchema,
  batchIdSchema,
  measurementSchema,
  metricList,
  metricNameSchema,
  metricPost,
  metricQuery,
  mostMeasurements,
} from '@anneal/contracts/calls/measuring.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { callerOf, projectOf } from '../identity/caller.ts';
import type { Caller } from '../identity/caller.ts';
import { oneOrMore } from '../http/input.ts';
import { route, type Route } from '../http/route.ts';

export interface MetricEndpointOptions {
  ask: Ask;
  newId: () => string;
  /** In milliseconds. */
  now: () => number;
}

const conditions = oneOrMore
  .pipe(z.array(z.string().regex(/^[^=]+=/, 'must be NAME=VALUE')))
  .transform((pairs) => Object.fromEntries(pairs.map((pair) => [...splitAt(pair, pair.indexOf('='))])))
  .optional();
const splitAt = (text: string, index: number): [string, string] => [text.slice(0, index), text.slice(index + 1)];
const names = oneOrMore.transform((values) => values.flatMap((item) => item.split(','))).optional();
const time = z.iso.datetime({ offset: true });
const defaultGranularity = 60;
const hourMs = 3_600_000;

export function metricEndpoints({ ask, newId, now }: MetricEndpointOptions): Route[] {
  return [
    route({
      method: 'POST',
      path: '/metrics',
      summary:
        'Post a batch of measurements. A repeat with the same `id` adds nothing. For hosts and credentials the server sets the labels of the place (stack, group, member, host). A batch with a mistake is refused as a whole.',
      hosts: true,
      body: z.strictObject({
        id: batchIdSchema.optional(),
        measurements: z.array(measurementSchema).min(1).max(mostMeasurements),
      }),
      answer: metricPost.answer,
      status: 201,
      handle: ({ request, body }) => {
        const project = projectOf(request);
        const { id = newId(), measurements } = body;
        const poster = posterOf(callerOf(request));
        return ask('notification', metricPost, { project, data: { project, id, poster, measurements } });
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      summary: 'List the series of measurements. `label=NAME=VALUE`, which may be repeated, selects series by label.',
      query: z.strictObject({
        name: metricNameSchema.optional(),
        label: conditions,
        limit: z.int().min(1).max(10_000).default(1000),
      }),
      answer: metricList.answer,
      handle: ({ request, query: { name, label = {}, limit } }) => {
        const project = projectOf(request);
        const data = { project, where: label, limit, ...(name !== undefined && { name }) };
        return ask('notification', metricList, { project, data });
      },
    }),
    route({
      method: 'GET',
      path: '/metrics/{name}',
      summary:
        'Aggregate the measurements of a name over labels and time. `by` gives a result for each value of a label.',
      query: z.strictObject({
        label: conditions,
        by: names,
        aggregate: aggregateSchema.default('mean'),
        granularity: z.int().min(1).max(86_400).default(defaultGranularity),
        from: time.optional().meta({ description: 'Absent: one hour before `to`.' }),
        to: time.optional().meta({ description: 'Exclusive. Absent: now.' }),
      }),
      answer: metricQuery.answer,
      handle: ({ request, params, query }) => {
        const project = projectOf(request);
        const { label: where = {}, by = [], aggregate, granularity } = query;
        const to = query.to ?? new Date(now()).toISOString();
        const from = query.from ?? new Date(Date.parse(to) - hourMs).toISOString();
        const name = params.name;
        return ask('notification', metricQuery, {
          project,
          data: { project, name, where, by, aggregate, granularity, from, to },
        });
      },
    }),
  ];
}

function posterOf(caller: Caller) {
  if (caller.kind === 'host') return { kind: 'host', host_id: caller.id } as const;
  if (caller.kind === 'credential') return { kind: 'credential', credential_id: caller.id } as const;
  return { kind: 'user' } as const;
}
