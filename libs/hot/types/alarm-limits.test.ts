import { describe, expect, it } from 'vitest';
import { mistakesOf } from '../testing/types-and-compile.ts';
import { measuringTypesFor } from './measuring.ts';

const problems = (type: string, properties: string, period = 10): string[] =>
  mistakesOf(`heat_template_version: 2018-08-31\nresources: {r: {type: '${type}', properties: ${properties}}}\n`, {
    types: measuringTypesFor(period),
  }).map(({ message }) => message.replace(/^Property error: resources\.r\.properties\./, ''));

describe('an alarm that could not be evaluated is refused when its template is validated', () => {
  it.each([
    ['Anneal::Alarm', '{metric: m, threshold: 1, period: 61}', 'period: must be a multiple of the stored period, 10 s'],
    ['Anneal::Alarm', '{metric: m, threshold: 1, periods: 101}', 'periods: must be an integer from 1 to 100'],
    ['Anneal::Alarm', '{metric: m, threshold: 1, warm_up: -1}', 'warm_up: must be an integer from 0 to 86400'],
    ['OS::Aodh::Alarm', '{meter_name: m, threshold: 1, period: 5}', 'period: must be a multiple of the stored period'],
    ['OS::Ceilometer::Alarm', '{meter_name: m, threshold: 1, period: 90000}', 'period: must be an integer from 1 to'],
    [
      'OS::Aodh::GnocchiAggregationByMetricsAlarm',
      '{metrics: [m], threshold: 1, aggregation_method: std}',
      'aggregation_method: must be mean,',
    ],
    [
      'OS::Aodh::GnocchiResourcesAlarm',
      '{metric: m, resource_id: a, resource_type: volume, threshold: 1}',
      'resource_type: "volume" is not an allowed value',
    ],
    [
      'AWS::CloudWatch::Alarm',
      "{MetricName: m, Threshold: '1', Statistic: Average, ComparisonOperator: LessThanThreshold, EvaluationPeriods: '1', Period: '61'}",
      'Period: must be a multiple of the stored period, 10 s',
    ],
  ])('%s %s', (type, properties, message) => {
    expect(problems(type, properties)).toEqual([expect.stringContaining(message)]);
  });

  it.each([
    ['Anneal::Alarm', '{metric: m, threshold: 1, period: 60, aggregate: "rate:95pct"}'],
    ['OS::Aodh::GnocchiAggregationByMetricsAlarm', '{metrics: [m], threshold: 1, aggregation_method: avg}'],
  ])('but not %s %s', (type, properties) => {
    expect(problems(type, properties)).toEqual([]);
  });

  it('by the period that the operator has set', () => {
    expect(problems('Anneal::Alarm', '{metric: m, threshold: 1, period: 10}', 20)).toHaveLength(1);
    expect(problems('Anneal::Alarm', '{metric: m, threshold: 1, period: 20}', 20)).toEqual([]);
  });
});
