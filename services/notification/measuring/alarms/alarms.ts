/**
 * Runs alarms: evaluates them by durable timers, publishes their changes and has their actions delivered.
 *
 * A4 Any replica evaluates any alarm, one at a time: the one with the lease of its timer. Changes and actions have
 *    timers of their own, so a change is published once, unless its publisher dies or loses the lease.
 * A5 What a crash interrupts is continued by the next owner of the timer. It acts once (A2 of `alarm.ts`).
 * A6 Actions are attempted again as the events of subscriptions are, and their attempts are in the same log. The history
 *    says of an action that it was given up, and why.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { AlertNotification } from '@anneal/contracts/alertmanager.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { alarmEvent } from '@anneal/contracts/events.ts';
import { noPlace, systemOccasion, type Occasion } from '@anneal/contracts/origin.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { change } from '@anneal/store/change.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { Timer } from '@anneal/store/timers.ts';
import type { Attempt } from '../../delivery/attempt-log.ts';
import {
  eventsWith,
  isActive,
  withFinding,
  withoutDone,
  type AlarmDocument,
  type FindingTime,
  type PendingAction,
  type StateChange,
} from './alarm.ts';
import { findingOfAlerts, withNotification } from './rules/alerts.ts';
import { attemptAction, type ActionContext } from './actions.ts';
import { eventFits } from './rules/event-match.ts';
import type { AlarmHistory } from './history.ts';
import type { AlarmState, Finding } from './rules/evaluate.ts';
import { findState, seriesOfAlarm, type JudgeContext, type RuleSeries } from './judge.ts';
import { isWithin } from './rules/window.ts';

export interface AlarmsOptions extends JudgeContext, ActionContext {
  readonly alarms: Collection<AlarmDocument>;
  readonly history: AlarmHistory;
  readonly setTimers: (timers: readonly Timer[]) => Promise<void>;
  /** The longest time between two evaluations. */
  readonly intervalMs: number;
}

/** A service that stops leaves the actions that it did not attempt to another replica. */
const handOverMs = 1_000;
/** The alarm acts itself when no request or event changes its state. */
const actorOf = ({ id, resource_name: name }: AlarmDocument) => ({ kind: 'alarm', id, name }) as const;
const nextDue = (pending: readonly PendingAction[]): number => Math.min(...pending.map(({ due_at }) => due_at));
/** The list of event alarms is read again after this time. */
const listedMs = 1_000;

export class Alarms {
  readonly #options: AlarmsOptions;
  #eventAlarms: { readonly until: number; readonly found: Promise<AlarmDocument[]> } | undefined;

  constructor(options: AlarmsOptions) {
    this.#options = options;
  }

  get documents(): Collection<AlarmDocument> {
    return this.#options.alarms;
  }

  get history(): AlarmHistory {
    return this.#options.history;
  }

  /** The latest points of each rule that compares measurements. */
  seriesOf(alarm: AlarmDocument, periods: number): Promise<RuleSeries[]> {
    const { measurements, now } = this.#options;
    return seriesOfAlarm(measurements, { alarm, now: now(), periods });
  }

  /** Continues what a crash has left. */
  async recover(): Promise<void> {
    for (const alarm of await this.#options.alarms.find({ where: { open: true } })) await this.#follow(alarm);
  }

  /** Sets the timer of an alarm that was created, changed or enabled. */
  async start(alarm: AlarmDocument): Promise<void> {
    this.#eventAlarms = undefined;
    if (!isActive(alarm) || alarm.kind === 'event') return;
    await this.#options.setTimers([{ id: `alarm:${alarm.id}`, dueAt: this.#nextAt(alarm), data: null }]);
  }

  /** Evaluates an alarm whose timer came due at that time. */
  async evaluate(id: string, dueAt: number): Promise<void> {
    const alarm = await this.#options.alarms.get(id);
    if (!alarm || !isActive(alarm)) return;
    const now = this.#options.now();
    const isDue = isWithin(alarm.definition.windows, now);
    const finding = isDue ? await findState(this.#options, alarm, now) : undefined;
    if (finding) await this.#apply(alarm, finding, { now, evaluated: dueAt });
    else await this.#follow(alarm);
    await this.start(alarm);
  }

  /** Runs the event alarms that an event triggers. Safe when the event arrives again. */
  async onEvent(event: Envelope, project: string): Promise<void> {
    // An alarm never triggers an alarm, because a circle of them would not end.
    if (event.type.startsWith('alarm.')) return;
    const now = this.#options.now();
    for (const alarm of await this.#listEventAlarms(now)) {
      const { rule, repeat, windows } = alarm.definition;
      if (alarm.project !== project || rule.kind !== 'event' || !isActive(alarm) || !eventFits(rule, event)) continue;
      if (!isWithin(windows, now)) continue;
      const { id, type, subject = '' } = event;
      const found = {
        state: 'alarm' as const,
        reason: `Event <id=${id},event_type=${type}> hits the query <query=${JSON.stringify(rule.query)}>.`,
        reasonData: { type: 'event', event: { id, type, subject } },
        values: [],
      };
      await this.#apply(alarm, (current) => (current.state === 'alarm' && !repeat ? undefined : found), {
        now,
        event: id,
        occasion: { actor: actorOf(alarm), cause: { kind: 'system', id, reason: type } },
      });
    }
  }

  /**
   * Takes a notification of Alertmanager. A repeat with the same id changes nothing.
   * @throws AnnealError TooLarge, NotSupported
   */
  async receive(
    alarm: AlarmDocument,
    notification: AlertNotification,
    { id, sentAt, occasion }: { id: string; sentAt: number; occasion: Occasion | undefined },
  ): Promise<void> {
    const now = this.#options.now();
    const { document } = await change(this.#options.alarms, alarm, (current) => {
      const { rule, repeat, windows } = current.definition;
      if (rule.kind !== 'alerts') throw new AnnealError('NotSupported', `The alarm ${current.name} takes no alerts.`);
      if (current.events.includes(id)) return undefined;
      const alerts = withNotification(current.alerts, notification, { rule, now, sentAt });
      const next = { ...current, alerts };
      const found = findingOfAlerts(alerts, { rule, state: current.state, repeat }, now);
      const acts = isActive(current) && isWithin(windows, now);
      const acted = acts ? withFinding(next, found, { now, event: id, occasion }) : undefined;
      return acted ?? { ...next, events: eventsWith(current, id) };
    });
    await faultPoint('alarm.evaluated');
    if (document) await this.#follow(document);
  }

  #listEventAlarms(now: number): Promise<AlarmDocument[]> {
    const known = this.#eventAlarms;
    if (known && now < known.until && now >= known.until - listedMs) return known.found;
    const found = this.#options.alarms.find({ where: { kind: 'event' } });
    this.#eventAlarms = { until: now + listedMs, found };
    found.catch(() => (this.#eventAlarms = undefined));
    return found;
  }

  /** Sets the state, as an operator does for a test. */
  async set(alarm: AlarmDocument, state: AlarmState, occasion?: Occasion): Promise<AlarmDocument> {
    const reason = 'Manually set via API';
    const finding = { state, reason, reasonData: { type: 'manual' }, values: [] };
    return this.#apply(alarm, finding, { now: this.#options.now(), occasion });
  }

  async #apply(
    alarm: AlarmDocument,
    finding: Finding | ((current: AlarmDocument) => Finding | undefined),
    at: FindingTime,
  ): Promise<AlarmDocument> {
    const { document = alarm } = await change(this.#options.alarms, alarm, (current) => {
      const found = typeof finding === 'function' ? finding(current) : finding;
      return found && withFinding(current, found, at);
    });
    await faultPoint('alarm.evaluated');
    await this.#follow(document);
    return document;
  }

  /** Has the changes of state published, and the actions delivered (A5). */
  async #follow({ id, unannounced, pending }: AlarmDocument): Promise<void> {
    const { setTimers, now } = this.#options;
    const timers = [
      ...(unannounced.length > 0 ? [{ id: `change:${id}`, dueAt: now(), data: null }] : []),
      ...(pending.length > 0 ? [{ id: `action:${id}`, dueAt: Math.max(nextDue(pending), now()), data: null }] : []),
    ];
    if (timers.length > 0) await setTimers(timers);
  }

  /** Publishes the changes of state that are not published yet. */
  async announce(id: string): Promise<void> {
    const { alarms, history, service } = this.#options;
    const alarm = await alarms.get(id);
    const last = alarm?.unannounced.at(-1);
    if (!alarm || !last) return;
    await service.bus.publish(alarm.unannounced.map((each) => this.#eventOf(alarm, each)));
    for (const each of alarm.unannounced) await history.changed(id, each);
    await change(alarms, alarm, (current) => withoutDone(current, { announced: last.sequence }));
  }

  #eventOf(alarm: AlarmDocument, { sequence, occasion: given, ...changed }: StateChange): Envelope {
    const { mint } = this.#options.service;
    const { id, name, stack_id, stack_name, resource_name, definition, project } = alarm;
    const { state, previous, reason, values } = changed;
    const { cause } = systemOccasion('system', { reason });
    const occasion = given ?? { actor: actorOf(alarm), cause };
    const data = {
      origin: { ...(alarm.place ?? noPlace), ...occasion },
      alarm_id: id,
      alarm_name: name,
      stack_id,
      stack_name,
      resource_name,
      severity: definition.severity,
      state,
      previous,
      reason,
      values: values.filter(Number.isFinite),
      version: sequence,
    };
    return mint(alarmEvent.changed, { id: derivedId(`alarm\n${id}\n${sequence}`), data, subject: id, project });
  }

  /** Attempts the actions of an alarm that are due. */
  async act(id: string): Promise<void> {
    const { alarms, history, now, setTimers, stopping } = this.#options;
    const alarm = await alarms.get(id);
    if (!alarm) return;
    const due = alarm.pending.filter(({ due_at }) => due_at <= now());
    const made: Attempt[] = [];
    const actions = new Map<string, PendingAction | null>();
    await Promise.all(
      due.map(async (action) => {
        const attempted = await attemptAction(this.#options, alarm, action);
        if (!attempted) return;
        made.push(attempted.attempt);
        actions.set(action.id, attempted.after);
      }),
    );
    await faultPoint('alarm.acted');
    const attempts_number = await history.attempted(alarm, made);
    const { document } = await change(alarms, alarm, (current) =>
      made.length > 0 ? { ...withoutDone(current, { actions }), attempts_number } : undefined,
    );
    if (!document) await history.remove(id);
    if (!document || document.pending.length === 0) return;
    const dueAt = Math.max(nextDue(document.pending), now() + (stopping.aborted ? handOverMs : 0));
    await setTimers([{ id: `action:${id}`, dueAt, data: null }]);
  }

  async remove(id: string): Promise<void> {
    const { alarms, history } = this.#options;
    await alarms.remove(id);
    this.#eventAlarms = undefined;
    await history.remove(id);
  }

  /** By id, or by a name that only one alarm of the project has. @throws AnnealError NotFound, Conflict */
  async find(project: string, alarm: string): Promise<AlarmDocument> {
    const { alarms } = this.#options;
    const byId = await alarms.get(alarm);
    if (byId?.project === project) return byId;
    const named = (await alarms.find({ where: { project } })).filter(
      ({ name, resource_name }) => name === alarm || resource_name === alarm,
    );
    const [found] = named;
    if (!found) throw new AnnealError('NotFound', `There is no alarm ${alarm} in the project.`);
    if (named.length > 1)
      throw new AnnealError('Conflict', `${named.length} alarms have the name ${alarm}; use an id.`);
    return found;
  }

  /** Just after the end of a period, so that measurements have arrived; not all alarms at the same moment. */
  #nextAt({ id, definition: { rule } }: AlarmDocument): number {
    const { intervalMs, now } = this.#options;
    const rules = rule.kind === 'composite' ? rule.parts : [rule];
    const periods = rules.map((each) => (each.kind === 'threshold' ? each.granularity * 1000 : intervalMs));
    const interval = Math.min(intervalMs, ...periods);
    const spread = Number.parseInt(id.slice(-4), 16) / 0xff_ff;
    const lag = Math.min(2_000, interval / 5) * (1 + (Number.isFinite(spread) ? spread : 0));
    return (Math.floor((now() - lag) / interval) + 1) * interval + lag;
  }
}
