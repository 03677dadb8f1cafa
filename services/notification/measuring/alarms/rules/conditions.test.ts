import type { Envelope } from '@anneal/contracts/envelope.ts';
import { describe, expect, it } from 'vitest';
import { definitionOf, type AlarmRule } from './definition.ts';
import { eventFits } from './event-match.ts';
import { labelsFit, parseSearch, type LabelFilter } from './filter.ts';
import { isOpen } from './window.ts';

const labels = {
  stack: 's1',
  stack_name: 'web',
  group_id: 'g1',
  host: 'h1',
  host_name: 'web-0',
  role: 'front',
  port: '80',
};

describe('a filter of labels', () => {
  it.each([
    [{ '=': { server_group: 's1' } }, true],
    [{ '=': { server_group: 'g1' } }, true],
    [{ '=': { server_group: 's2' } }, false],
    [{ and: [{ '=': { role: 'front' } }, { '!=': { host: 'h2' } }] }, true],
    [{ and: [{ eq: { project_id: 'any' } }, { '=': { ended_at: null } }] }, true],
    [{ or: [{ '=': { role: 'back' } }, { in: { host_name: ['web-0', 'x'] } }] }, true],
    [{ not: { like: { display_name: 'web-%' } } }, false],
    [{ '>=': { port: 80 } }, true],
    [{ '<': { port: 9 } }, false],
    [{ '=': { missing: '' } }, false],
  ])('%j', (search, expected) => {
    expect(labelsFit(parseSearch(JSON.stringify(search)), labels)).toBe(expected);
  });
  it.each(['no json', '{"near": {"a": 1}}', '{"=": {"a": 1, "b": 2}}', '[]', '{"and": 3}'])('refuses %s', (text) => {
    expect(() => parseSearch(text)).toThrow(/Cannot use the alarm: /);
  });
});

describe('the definition of an alarm', () => {
  const setting = { period: 10, self: ['id-1', 'name-1'] };
  const rule = (type: string, properties: Record<string, unknown>) =>
    definitionOf(type, properties as never, setting).rule;

  const whereOf = (found: AlarmRule): LabelFilter => {
    if (found.kind !== 'threshold') throw new Error(`it is a rule of the kind ${found.kind}`);
    return found.where;
  };
  it('reads an alarm on meters with its metadata', () => {
    const found = rule('OS::Ceilometer::Alarm', {
      meter_name: 'cpu_util',
      statistic: 'avg',
      period: '60',
      evaluation_periods: '1',
      threshold: '50',
      comparison_operator: 'gt',
      matching_metadata: { 'metadata.user_metadata.stack': 's1' },
    });
    expect(found).toMatchObject({ metrics: ['cpu_util'], aggregate: 'mean', granularity: 60, threshold: 50 });
    expect(labelsFit(whereOf(found), labels)).toBe(true);
    expect(labelsFit(whereOf(found), { stack: 's2' })).toBe(false);
  });
  it.each([
    ['string', 'gt', '9', false],
    ['integer', 'gt', '9', true],
    ['float', 'eq', '80.0', true],
    ['string', 'eq', '80.0', false],
    ['integer', 'ne', '80.0', false],
  ])('compares a label of a meter as a %s: %s %s', (type, op, value, fits) => {
    const query = [{ field: 'port', type, op, value }];
    const found = rule('OS::Aodh::Alarm', { meter_name: 'cpu', threshold: 1, period: 60, query });
    expect(labelsFit(whereOf(found), labels)).toBe(fits);
  });
  it('reads an alarm of CloudWatch, whose values name it', () => {
    const found = rule('AWS::CloudWatch::Alarm', {
      ComparisonOperator: 'GreaterThanThreshold',
      EvaluationPeriods: '2',
      MetricName: 'MemoryUtilization',
      Namespace: 'system/linux',
      Period: '60',
      Statistic: 'Maximum',
      Threshold: '80',
    });
    expect(found).toMatchObject({ aggregate: 'max', periods: 2, comparison: 'gt' });
    const where = whereOf(found);
    expect(labelsFit(where, { AlarmName: 'name-1', Namespace: 'system/linux' })).toBe(true);
    expect(labelsFit(where, {})).toBe(true);
    expect(labelsFit(where, { AlarmName: 'other' })).toBe(false);
  });
  it('names every mistake', () => {
    expect(() =>
      rule('OS::Aodh::GnocchiAggregationByResourcesAlarm', {
        metric: 'cpu',
        query: '{}',
        resource_type: 'volume',
        granularity: 15,
        threshold: 'x',
        aggregation_method: 'std',
        comparison_operator: 'near',
      }),
    ).toThrow(/resource_type.*query.*|query.*resource_type/);
    try {
      rule('OS::Aodh::GnocchiAggregationByResourcesAlarm', { granularity: 15, threshold: 'x' });
    } catch (error) {
      const paths = (error as { mistakes: { path: string }[] }).mistakes.map(({ path }) => path);
      expect(paths.toSorted()).toEqual(['granularity', 'metric', 'query', 'resource_type', 'threshold']);
    }
    expect.assertions(2);
  });
  it('refuses a composite with a rule that it does not know', () => {
    const rules = [{ type: 'prometheus', query: 'up', threshold: 1 }, { or: [{ type: 'x' }, { type: 'event' }] }];
    expect(() => rule('OS::Aodh::CompositeAlarm', { composite_rule: { operator: 'and', rules } })).toThrow(
      /composite_rule\.rules\.1\.or\.0\.type/,
    );
  });
  it.each([
    ['0 0 l * *', 'the last day'],
    ['0 0 * * 5#2', 'the nth weekday'],
    ['* *', 'it has 2 fields'],
    ['x 0 * * *', 'its minute is wrong'],
  ])('refuses a window that begins by %s, with the reason: %s', (start, reason) => {
    const time_constraints = [{ name: 'w', start, duration: 60 }];
    expect(() => rule('OS::Aodh::EventAlarm', { event_type: 'x', time_constraints })).toThrow(reason);
  });
});

describe('a window of time', () => {
  const at = (text: string): number => Date.parse(text);
  const night = { name: 'night', start: '0 22 * * *', duration: 6 * 3600, timezone: 'Europe/Berlin' };
  it.each([
    ['2026-07-01T19:59:00Z', false],
    ['2026-07-01T20:00:00Z', true],
    ['2026-07-02T01:59:59Z', true],
    ['2026-07-02T02:01:00Z', false],
    ['2026-12-01T20:30:00Z', false],
    ['2026-12-01T21:30:00Z', true],
  ])('is open by the time of its zone: %s %s', (time, open) => {
    expect(isOpen(night, at(time))).toBe(open);
  });
  it('knows weekdays, months and steps', () => {
    const weekdays = { name: 'w', start: '*/30 9-17 * * mon-fri', duration: 600 };
    expect(isOpen(weekdays, at('2026-11-23T09:35:00Z'))).toBe(true);
    expect(isOpen(weekdays, at('2026-11-23T09:15:00Z'))).toBe(false);
    expect(isOpen(weekdays, at('2026-11-22T09:35:00Z'))).toBe(false);
    expect(isOpen({ name: 'y', start: '@yearly', duration: 400 * 86_400 }, at('2026-11-22T09:35:00Z'))).toBe(true);
  });
  it('opens on either kind of day when both are limited, as cron does', () => {
    const both = { name: 'b', start: '0 0 13 * fri', duration: 3600 };
    expect(isOpen(both, at('2026-11-13T00:30:00Z'))).toBe(true);
    expect(isOpen(both, at('2026-11-20T00:30:00Z'))).toBe(true);
    expect(isOpen(both, at('2026-12-13T00:30:00Z'))).toBe(true);
    expect(isOpen(both, at('2026-12-14T00:30:00Z'))).toBe(false);
  });
});

describe('an event alarm', () => {
  const event: Envelope = {
    specversion: '1.0',
    id: 'e1',
    correlationid: 'e1',
    type: 'stack.update.failed',
    source: 'anneal/test',
    time: '2026-11-23T00:00:00.000Z',
    data: { stack_name: 'web', count: 12, flag: true },
  };
  const query = (field: string, op: string, value: string, type = 'string') =>
    eventFits({ kind: 'event', event_type: 'stack.*', query: [{ field, op: op as 'eq', value, type }] }, event);
  it('matches type and fields', () => {
    expect(query('traits.stack_name', 'eq', 'web')).toBe(true);
    expect(query('stack_name', 'ne', 'web')).toBe(false);
    expect(query('count', 'gt', '9', 'integer')).toBe(true);
    expect(query('count', 'gt', '9', 'string')).toBe(false);
    expect(query('data.flag', 'eq', 'True', 'boolean')).toBe(true);
    expect(query('missing', 'eq', '')).toBe(false);
    expect(eventFits({ kind: 'event', event_type: '*.create.*', query: [] }, event)).toBe(false);
    expect(eventFits({ kind: 'event', event_type: 'stack.?pdate.*ed', query: [] }, event)).toBe(true);
  });
});
