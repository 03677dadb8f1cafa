/** Reads what a rule measures, and judges it. */
import { warmLabel, type Labels } from '@anneal/contracts/calls/measuring.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import { aggregateSeries } from '../metrics/aggregate.ts';
import type { Measurements, SeriesDocument } from '../metrics/measurements.ts';
import { hourMs } from '../metrics/rollups.ts';
import type { AlarmDocument } from './alarm.ts';
import { findingOfAlerts } from './rules/alerts.ts';
import type { PrometheusRule, ThresholdRule } from './rules/definition.ts';
import {
  composite,
  judgePoints,
  judgeElements,
  nextAlarmState,
  reasonDataOf,
  alarmReason,
  type AlarmJudgement,
  type Finding,
} from './rules/evaluate.ts';
import { labelsFit, reads } from './rules/filter.ts';

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
  if (rule.kind === 'alerts') return findingOfAlerts(alarm.alerts, { rule, state: alarm.state, repeat }, now);
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
    if (!hasCode(error, 'Unavailable')) throw error;
    return { judgement: judgeElements([], rule), values: [] };
  }
}

interface Measuring {
  readonly project: string;
  readonly rule: ThresholdRule;
  readonly now: number;
}

async function threshold({ measurements }: JudgeContext, { project, rule, now }: Measuring): Promise<Measured> {
  const points = await latestPoints(measurements, { project, rule, now, periods: rule.periods + 1 });
  const window = points.map(({ value }) => value);
  const values = window.filter((value) => value !== null).slice(-rule.periods);
  return { judgement: judgePoints(window, rule), values };
}

/** The values that a rule compares: one point for each period, oldest first. */
export interface RuleSeries {
  readonly rule: ThresholdRule;
  readonly text: string;
  readonly points: readonly RulePoint[];
}
/** `at` is the begin of the period, in milliseconds since the epoch; null is a period without a measurement. */
interface RulePoint {
  readonly at: number;
  readonly value: number | null;
}

/** The latest points of every rule of an alarm that compares measurements. Other rules have no points here. */
export async function seriesOfAlarm(
  measurements: Measurements,
  { alarm, now, periods }: { alarm: AlarmDocument; now: number; periods: number },
): Promise<RuleSeries[]> {
  const { rule } = alarm.definition;
  const rules = rule.kind === 'composite' ? rule.parts : [rule];
  const compared = rules.filter((each): each is ThresholdRule => each.kind === 'threshold');
  return Promise.all(
    compared.map(async (each) => ({
      rule: each,
      text: textOfRule(each),
      points: await latestPoints(measurements, { project: alarm.project, rule: each, now, periods }),
    })),
  );
}

/** Only complete periods count, because the sum of half a period means nothing. */
async function latestPoints(
  measurements: Measurements,
  { project, rule, now, periods: count }: Measuring & { periods: number },
): Promise<RulePoint[]> {
  const granularity = rule.granularity * 1000;
  const to = Math.floor(now / granularity) * granularity;
  const from = to - granularity * count;
  const series = (await seriesOf(measurements, project, rule)).filter(
    ({ created_at }) => rule.warmUp === 0 || created_at + rule.warmUp * 1000 <= to,
  );
  // A rate begins with the period before.
  const periods = await measurements.read(series, { from: from - granularity, to, hourly: granularity % hourMs === 0 });
  const points = aggregateSeries([...periods.values()], { aggregate: rule.aggregate, granularity, from, to });
  const byTime = new Map(points.map(({ at, value }) => [at, value]));
  return Array.from({ length: count }, (_, index) => {
    const at = from + index * granularity;
    return { at, value: byTime.get(at) ?? null };
  });
}

async function seriesOf(measurements: Measurements, project: string, rule: ThresholdRule): Promise<SeriesDocument[]> {
  if (rule.byId) {
    const wanted = new Set(rule.metrics);
    const all = await measurements.find({ project });
    return all.filter(({ id, name, labels }) => wanted.has(id) || (wanted.has(name) && isInService(labels)));
  }
  const [name = ''] = rule.metrics;
  const counts = reads(rule.where, warmLabel) ? () => true : isInService;
  return measurements.find({ project, name, matches: (labels) => counts(labels) && labelsFit(rule.where, labels) });
}

/** An alarm does not count the hosts of a warm pool, unless it names their label or their series. */
const isInService = (labels: Labels): boolean => !Object.hasOwn(labels, warmLabel);
