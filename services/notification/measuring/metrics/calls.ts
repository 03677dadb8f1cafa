/** Answers the questions about measurements. */
import { hash } from 'node:crypto';
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Posted } from '../../credentials/credentials.ts';
import { metricList, metricPost, metricQuery, type Labels } from '@anneal/contracts/calls/measuring.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { z } from 'zod';
import { aggregateSeries } from './aggregate.ts';
import { checkMeasurements, labelsText } from './check.ts';
import { viewOfSeries, type Measurements } from './measurements.ts';
import type { Places } from './places.ts';
import { hourMs } from './rollups.ts';

/** The most points of an answer. */
const mostPoints = 20_000;

type Question<C extends { data: z.ZodType }> = z.infer<C['data']>;
type AnswerOf<C extends { answer: z.ZodType }> = z.infer<C['answer']>;
type Poster = Question<typeof metricPost>['poster'];

export interface MetricCallOptions {
  readonly context: ServiceContext;
  readonly measurements: Measurements;
  readonly places: Places;
  readonly keepMs: number;
  /** Milliseconds of the shortest period. */
  readonly period: number;
  /** The labels of a credential. @throws AnnealError Forbidden, NotFound */
  readonly credential: (project: string, id: string) => Promise<Posted>;
}

export function metricRoutes(options: MetricCallOptions): MessageRoute[] {
  const { context, measurements } = options;
  return [
    answer(context, metricPost, ({ data }) => post(options, data)),
    answer(context, metricList, async ({ data: { project, name, where, limit } }) => ({
      series: (await measurements.find({ project, name, limit, matches: matching(where) })).map(viewOfSeries),
    })),
    answer(context, metricQuery, ({ data }) => query(options, data)),
  ];
}

async function post(
  options: MetricCallOptions,
  { project, id, poster, measurements: given }: Question<typeof metricPost>,
): Promise<AnswerOf<typeof metricPost>> {
  const now = options.context.now().getTime();
  const { labels: own, names } = await posterOf(options, project, poster);
  checkMeasurements(given, { now, keepMs: options.keepMs, placed: poster.kind !== 'user', names });
  const labelled = given.map(({ name, value, unit, at, labels }) => ({
    name,
    value,
    unit,
    at: at === undefined ? now : Date.parse(at),
    labels: { ...labels, ...own },
  }));
  // Two posters may use the same id. A block holds many, so they are short.
  const batch = hash('sha256', `${JSON.stringify(poster)}\n${id}`).slice(0, 12);
  const stored = await options.measurements.post(project, batch, labelled);
  return { stored, repeated: given.length - stored };
}

async function posterOf({ places, credential }: MetricCallOptions, project: string, poster: Poster): Promise<Posted> {
  switch (poster.kind) {
    case 'user':
      return { labels: {} };
    case 'host':
      return { labels: await places.host(project, poster.host_id) };
    case 'credential':
      return credential(project, poster.credential_id);
  }
}

/** Whether labels have all these values. */
export const matching =
  (where: Labels) =>
  (labels: Labels): boolean =>
    Object.entries(where).every(([name, value]) => labels[name] === value);

async function query(
  { measurements, period }: MetricCallOptions,
  question: Question<typeof metricQuery>,
): Promise<AnswerOf<typeof metricQuery>> {
  const { project, name, where, by, aggregate } = question;
  const granularity = question.granularity * 1000;
  const [from, to] = [Date.parse(question.from), Date.parse(question.to)];
  checkQuery({ granularity, period, from, to });
  const series = await measurements.find({ project, name, matches: matching(where) });
  // A rate begins with the value before.
  const first = Math.floor(from / granularity) * granularity;
  const periods = await measurements.read(series, {
    from: first - granularity,
    to,
    hourly: granularity % hourMs === 0,
  });
  const groups = Map.groupBy(series, ({ labels }) =>
    labelsText(Object.fromEntries(by.map((each) => [each, labels[each] ?? '']))),
  );
  const inOrder = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const results = inOrder.map(([, group]) => ({
    labels: Object.fromEntries(by.map((each) => [each, group[0]?.labels[each] ?? ''])),
    series: group.length,
    points: aggregateSeries(
      group.map(({ id }) => periods.get(id) ?? []),
      { aggregate, granularity, from: first, to },
    ).map(({ at, value }) => ({ at: new Date(at).toISOString(), value })),
  }));
  return { granularity: question.granularity, results };
}

function checkQuery({ granularity, period, from, to }: Record<'granularity' | 'period' | 'from' | 'to', number>): void {
  const refuse = (message: string): never => {
    throw new AnnealError('InvalidRequest', `Cannot aggregate the measurements: ${message}`);
  };
  if (granularity % period !== 0) {
    refuse(`the granularity of ${granularity / 1000} s is not a multiple of the period of ${period / 1000} s.`);
  }
  if (from >= to) refuse('`from` is not before `to`.');
  if ((to - from) / granularity > mostPoints) {
    refuse(`the answer would have more than ${mostPoints} points; ask for a shorter time or a coarser granularity.`);
  }
}
