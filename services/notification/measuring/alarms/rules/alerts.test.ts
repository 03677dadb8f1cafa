import { mostAlerts, type AlertNotification } from '@anneal/contracts/alertmanager.ts';
import { describe, expect, it } from 'vitest';
import { findingOfAlerts, withNotification, type KnownAlerts } from './alerts.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { definitionOf, type AlertsRule } from './definition.ts';
import type { AlarmState } from './evaluate.ts';

/** The rule of an `Anneal::AlertmanagerAlarm`. */
const ruleOf = (properties: JsonObject): AlertsRule =>
  definitionOf('Anneal::AlertmanagerAlarm', properties, { period: 10, self: [] }).rule as AlertsRule;
const rule = ruleOf({ labels: {} });
type Given = Partial<AlertNotification['alerts'][number]>;

const alert = (fingerprint: string, more: Given = {}) => ({
  status: 'firing' as const,
  labels: { alertname: 'Load' },
  annotations: {},
  startsAt: '2026-01-01T00:00:00Z',
  fingerprint,
  ...more,
});
const notification = (alerts: AlertNotification['alerts'], more: Partial<AlertNotification> = {}) => ({
  version: '4' as const,
  status: 'firing' as const,
  groupKey: 'g',
  truncatedAlerts: 0,
  alerts,
  ...more,
});
let clock = 0;
const after = (known: KnownAlerts | undefined, given: AlertNotification, more: Partial<AlertsRule> = {}) =>
  withNotification(known, given, { rule: { ...rule, ...more }, now: (clock += 1), sentAt: clock });
const stateAfter = (known: KnownAlerts, state: AlarmState = 'insufficient data') =>
  findingOfAlerts(known, { rule, state, repeat: true }, clock).state;

describe('the alerts of Alertmanager', () => {
  it('L2: fire until all of them are resolved, over several groups', () => {
    let known = after(undefined, notification([alert('a'), alert('b')]));
    known = after(known, notification([alert('c')], { groupKey: 'other' }));
    expect(stateAfter(known)).toBe('alarm');
    known = after(known, notification([alert('a', { status: 'resolved' }), alert('b', { status: 'resolved' })]));
    expect(stateAfter(known, 'alarm')).toBe('alarm');
    known = after(known, notification([alert('c', { status: 'resolved' })], { groupKey: 'other' }));
    expect(stateAfter(known, 'alarm')).toBe('ok');
  });

  it('L1: a notification that was sent before the latest of its group changes nothing', () => {
    const known = after(undefined, notification([alert('a', { status: 'resolved' })]));
    const late = withNotification(known, notification([alert('a')]), { rule, now: clock + 1, sentAt: clock - 1 });
    expect(late).toBe(known);
  });

  it('L1: an earlier start of an alert does not resolve a later one', () => {
    const known = after(undefined, notification([alert('a', { startsAt: '2026-01-01T01:00:00Z' })]));
    const resolved = after(known, notification([alert('a', { status: 'resolved' })]));
    expect(stateAfter(resolved, 'alarm')).toBe('alarm');
  });

  it('L3: a truncated notification does not resolve the alerts that it leaves out; a whole one does', () => {
    const known = after(undefined, notification([alert('a'), alert('b')]));
    const one = [alert('a', { status: 'resolved' })];
    expect(stateAfter(after(known, notification(one, { truncatedAlerts: 1 })), 'alarm')).toBe('alarm');
    expect(stateAfter(after(known, notification(one)), 'alarm')).toBe('ok');
  });

  it('count only with the labels of the alarm, and report the largest value', () => {
    const own = ruleOf({ labels: { stack: 'web' }, value_annotation: 'load' });
    const labels = { alertname: 'Load', stack: 'web' };
    const fitting = alert('a', { labels, annotations: { load: '0.9', value: '7' } });
    const larger = alert('b', { labels, annotations: { load: '1.5' } });
    const textual = alert('c', { labels, annotations: { load: 'high' } });
    const known = after(undefined, notification([alert('d'), larger, fitting, textual]), own);
    expect(Object.keys(known.firing)).toEqual(['b', 'a', 'c']);
    expect(findingOfAlerts(known, { rule: own, state: 'ok', repeat: false }, clock).values).toEqual([0.9, 1.5]);
  });

  it('are unknown before the first notification and, where the alarm says so, long after the last', () => {
    const stale = ruleOf({ labels: {}, stale_after: 10 });
    expect(findingOfAlerts(undefined, { rule: stale, state: 'ok', repeat: true }, clock).state).toBeNull();
    const known = after(undefined, notification([alert('a')]));
    const at = (ms: number) =>
      findingOfAlerts(known, { rule: stale, state: 'alarm', repeat: true }, known.seen_at + ms).state;
    expect([at(9_999), at(10_000)]).toEqual(['alarm', 'insufficient data']);
  });

  it('are refused when more would fire than an alarm holds', () => {
    const many = Array.from({ length: mostAlerts }, (_, index) => alert(String(index)));
    const known = after(undefined, notification(many));
    expect(() => after(known, notification([alert('one more')], { groupKey: 'other' }))).toThrow(/the limit is 1000/);
  });
});
