/** Reads what a rule measures, and judges it. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { aggregateSeries } from '../metrics/aggregate.ts';
import type { Measurements, SeriesDocument } from '../metrics/measurements.ts';
import type { AlarmDocument, Finding } from './alarm.ts';
import type { PrometheusRule, ThresholdRule } from './definition.ts';
import {
  composite,
  judgePoints,
  judgeElements,
  nextAlarmState,
  reasonDataOf,
  alarmReason,
  type AlarmJudgement,
} from './evaluate.ts';
import { labelsFit } from './filter.ts';

/** Evaluates an instant query: the values of its elements. */
export type InstantQuery = (query: string) => Promise<readonly number[]>;

export interface JudgeContext {
  readonly measurements: Measurements;
  readonly instantQuery: InstantQuery;
}

interface Measured {
  readonly judgement: AlarmJudgement;
  readonly values: readonly number[];
}

/** The finding of an evaluation at a time. Event alarms have none. */
export async function findState(
  context: JudgeContext,
  alarm: AlarmDocument,
  now: number,
): Promise<Finding | undefined> {
  const { rule, repeat } = alarm.definition;
  if (rule.kind === 'event') return undefined;
  if (rule.kind !== 'composite') {
    const { judgement, values } = await measure(context, { alarm, rule, now });
    const state = nextAlarmState(alarm.state, repeat, judgement);
    const reason = alarmReason(state ?? alarm.state, alarm.state, judgement);
    return { state, reason, reasonData: reasonDataOf(state ?? alarm.state, judgement), values };
  }
  const measured = await Promise.all(rule.parts.map((part) => measure(context, { alarm, rule: part, now })));
  const found = composite(
    rule.tree,
    measured.map(({ judgement }) => judgement),
    alarm.state,
  );
  const state = found !== alarm.state || repeat ? found : null;
  const causes = rule.parts.filter((_, index) => measured[index]?.judgement.result === found);
  const text = causes.map(textOfRule).join(', ');
  const verb = found === alarm.state ? 'Remaining as' : 'Transition to';
  return {
    state,
    reason: `${verb} ${found} due to ${text || 'rules without enough data'}`,
    reasonData: { type: 'composite', composition_form: rule.tree.operator, causative_rules: causes.map(textOfRule) },
    values: measured.flatMap(({ judgement }) => judgement.latest ?? []),
  };
}

const textOfRule = (rule: ThresholdRule | PrometheusRule): string =>
  rule.kind === 'prometheus'
    ? `${rule.query} ${rule.comparison} ${rule.threshold}`
    : `${rule.aggregate}(${rule.metrics.join(', ')}) ${rule.comparison} ${rule.threshold}`;

function measure(
  context: JudgeContext,
  part: { alarm: AlarmDocument; rule: ThresholdRule | PrometheusRule; now: number },
): Promise<Measured> {
  const { alarm, rule, now } = part;
  return rule.kind === 'prometheus' ? ask(context, rule) : threshold(context, { project: alarm.project, rule, now });
}

async function ask({ instantQuery }: JudgeContext, rule: PrometheusRule): Promise<Measured> {
  try {
    const values = await instantQuery(rule.query);
    return { judgement: judgeElements(values, rule), values };
  } catch (error) {
    // A source that does not answer has no data, as in Aodh.
    if (!(error instanceof AnnealError) || error.code !== 'Unavailable') throw error;
    return { judgement: judgeElements([], rule), values: [] };
  }
}

/** Only complete periods count, because the sum of half a period means nothing. */
async function threshold(
  { measurements }: JudgeContext,
  { project, rule, now }: { project: string; rule: ThresholdRule; now: number },
): Promise<Measured> {
  const granularity = rule.granularity * 1000;
  const to = Math.floor(now / granularity) * granularity;
  const from = to - granularity * (rule.periods + 1);
  const series = (await seriesOf(measurements, project, rule)).filter(
    ({ created_at }) => rule.warmUp === 0 || created_at + rule.warmUp * 1000 <= to,
  );
  // A rate begins with the period before.
  const periods = await measurements.read(series, from - granularity, to);
  const points = aggregateSeries([...periods.values()], { aggregate: rule.aggregate, granularity, from, to });
  const byTime = new Map(points.map(({ at, value }) => [at, value]));
  const window = Array.from({ length: rule.periods + 1 }, (_, index) => byTime.get(from + index * granularity) ?? null);
  const values = window.filter((value) => value !== null).slice(-rule.periods);
  return { judgement: judgePoints(window, rule), values };
}

async function seriesOf(measurements: Measurements, project: string, rule: ThresholdRule): Promise<SeriesDocument[]> {
  if (rule.byId) {
    const wanted = new Set(rule.metrics);
    return (await measurements.find({ project })).filter(({ id, name }) => wanted.has(id) || wanted.has(name));
  }
  const [name = ''] = rule.metrics;
  return measurements.find({ project, name, matches: (labels) => labelsFit(rule.where, labels) });
}
