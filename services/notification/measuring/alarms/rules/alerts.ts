/**
 * The alerts of an alarm that Alertmanager notifies. Pure.
 *
 * L1 An alert is known by its fingerprint. A notification about an earlier start of it changes nothing, and neither does
 *    one that was sent before the latest of its group.
 * L2 The alarm is in `alarm` while one alert that fits fires, and `ok` when all are resolved.
 * L3 A truncated notification can say that alerts fire, but not that all are resolved: those that it names are resolved,
 *    the others stay.
 */
import { hash } from 'node:crypto';
import { mostAlerts, type Alert, type AlertNotification } from '@anneal/contracts/alertmanager.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { AlertsRule } from './definition.ts';
import { nextAlarmState, type AlarmState, type Finding } from './evaluate.ts';

/** A firing alert. */
export interface FiringAlert {
  readonly group: string;
  readonly starts_at: string;
  /** From the annotation that the rule names; null without one. */
  readonly value: number | null;
}

/** The firing alerts by fingerprint. Times are milliseconds since the epoch. */
export interface KnownAlerts {
  readonly firing: Readonly<Record<string, FiringAlert>>;
  /** The time of the latest notification by group; those of the latest groups. */
  readonly groups: Readonly<Record<string, number>>;
  /** The time of the latest notification. */
  readonly seen_at: number;
}

const mostGroups = 100;

const fits = ({ labels }: Alert, rule: AlertsRule): boolean =>
  Object.entries(rule.labels).every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value);

/** The alerts after a notification. @throws AnnealError TooLarge when more alerts fire than an alarm can hold */
export function withNotification(
  known: KnownAlerts | undefined,
  notification: AlertNotification,
  { rule, now, sentAt }: { rule: AlertsRule; now: number; sentAt: number },
): KnownAlerts {
  const { groupKey, truncatedAlerts: truncated } = notification;
  // A key has the text of all labels of the group.
  const group = hash('sha256', groupKey).slice(0, 16);
  if (known && (known.groups[group] ?? 0) > sentAt) return known;
  const named = notification.alerts.filter((alert) => fits(alert, rule));
  const names = new Set(named.map(({ fingerprint }) => fingerprint));
  const before = Object.entries(known?.firing ?? {});
  // A whole notification has every alert of its group, so one that it does not name is gone.
  const kept = before.filter(([name, alert]) => !names.has(name) && (truncated > 0 || alert.group !== group));
  const latest = named.flatMap((alert): [string, FiringAlert][] => {
    const earlier = known?.firing[alert.fingerprint];
    if (earlier && Date.parse(alert.startsAt) < Date.parse(earlier.starts_at)) return [[alert.fingerprint, earlier]];
    if (alert.status === 'resolved') return [];
    const value = Number(alert.annotations[rule.valueAnnotation] || Number.NaN);
    const starts_at = alert.startsAt;
    return [[alert.fingerprint, { group, starts_at, value: Number.isFinite(value) ? value : null }]];
  });
  const firing = Object.fromEntries([...kept, ...latest]);
  const count = Object.keys(firing).length;
  if (count > mostAlerts) {
    const text = `Cannot take the alerts of the group ${groupKey.slice(0, 200)}: ${count} alerts of this alarm would fire; the limit is ${mostAlerts}. Group them, or give the alarm labels that fewer alerts have.`;
    throw new AnnealError('TooLarge', text);
  }
  const { [group]: _, ...others } = known?.groups ?? {};
  const groups = Object.fromEntries([...Object.entries(others), [group, sentAt] as const].slice(-mostGroups));
  return { firing, groups, seen_at: now };
}

/** The finding at a time, after a notification or at an evaluation. */
export function findingOfAlerts(
  known: KnownAlerts | undefined,
  alarm: { readonly rule: AlertsRule; readonly state: AlarmState; readonly repeat: boolean },
  now: number,
): Finding {
  const { rule, state: current, repeat } = alarm;
  const firing = Object.values(known?.firing ?? {});
  const stale = rule.staleAfter !== null && known !== undefined && known.seen_at + rule.staleAfter * 1000 <= now;
  const wanted: AlarmState = !known || stale ? 'insufficient data' : firing.length > 0 ? 'alarm' : 'ok';
  const values = firing.flatMap(({ value }) => value ?? []).toSorted((a, b) => a - b);
  const result = known ? wanted : 'keep';
  const state = nextAlarmState(current, repeat, {
    result,
    trend: null,
    outside: firing.length,
    count: firing.length,
    latest: values.at(-1) ?? null,
  });
  return {
    state,
    reason: reasonOf({ known, stale, wanted }),
    reasonData: { type: 'alertmanager', count: firing.length, most_recent: values.at(-1) ?? null },
    values: stale ? [] : values,
  };
}

function reasonOf(given: { known: KnownAlerts | undefined; stale: boolean; wanted: AlarmState }): string {
  const { known, stale, wanted } = given;
  if (!known) return 'Alertmanager has not notified this alarm yet';
  if (stale) return `Alertmanager has not notified this alarm since ${new Date(known.seen_at).toISOString()}`;
  const alerts = Object.values(known.firing);
  if (wanted === 'ok') return 'All alerts are resolved';
  const first = alerts.map(({ starts_at }) => starts_at).toSorted()[0];
  return `${alerts.length} ${alerts.length === 1 ? 'alert fires' : 'alerts fire'}, the first since ${first ?? ''}`;
}
