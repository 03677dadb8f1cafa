/**
 * Runs alarms: evaluates them by durable timers, and delivers their actions.
 *
 * A4 Any replica evaluates any alarm, one at a time: the one with the lease of its timer.
 * A5 An evaluation or an action that a crash interrupts is continued by the next owner of the timer, and acts once
 *    (A2 of `alarm.ts`).
 * A6 An action whose target does not answer is attempted again at the times of the webhooks. One that cannot succeed is
 *    dropped, and the history says why.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { AlertNotification } from '@anneal/contracts/alertmanager.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { alarmEvent } from '@anneal/contracts/events.ts';
import { noPlace, systemOccasion, type Occasion } from '@anneal/contracts/origin.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { change, insertOnce } from '@anneal/store/change.ts';
import type { Collection, Document } from '@anneal/store/port.ts';
import type { Timer } from '@anneal/store/timers.ts';
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
import { deliverAction, type DeliverContext } from './deliver.ts';
import { eventFits } from './rules/event-match.ts';
import type { AlarmState, Finding } from './rules/evaluate.ts';
import { findState, seriesOfAlarm, type JudgeContext, type RuleSeries } from './judge.ts';
import { isWithin } from './rules/window.ts';

export interface HistoryDocument extends Document {
  readonly alarm: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly kind: 'state transition' | 'action' | 'action failed';
  readonly detail: string;
}

export interface AlarmsOptions extends JudgeContext, DeliverContext {
  readonly alarms: Collection<AlarmDocument>;
  readonly history: Collection<HistoryDocument>;
  readonly setTimers: (timers: readonly Timer[]) => Promise<void>;
  readonly now: () => number;
  /** The longest time between two evaluations. */
  readonly intervalMs: number;
  readonly retrySeconds: readonly number[];
}

const keptHistory = 200;
/** The alarm acts itself when no request or event changes its state. */
const actorOf = ({ id, resource_name: name }: AlarmDocument) => ({ kind: 'alarm', id, name }) as const;
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
    if (alarm.open) await this.#follow(alarm);
    const now = this.#options.now();
    if (isWithin(alarm.definition.windows, now)) {
      const finding = await findState(this.#options, alarm, now);
      if (finding) await this.#apply(alarm, finding, { now, evaluated: dueAt });
    }
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
    if (document?.open) await this.#follow(document);
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
    if (document.open) await this.#follow(document);
    return document;
  }

  /** Publishes the changes of state, and has the actions delivered (A5). */
  async #follow(alarm: AlarmDocument): Promise<void> {
    const { alarms, setTimers, now } = this.#options;
    if (alarm.pending.length > 0) {
      const dueAt = Math.min(...alarm.pending.map(({ due_at }) => due_at));
      await setTimers([{ id: `action:${alarm.id}`, dueAt: Math.max(dueAt, now()), data: null }]);
    }
    const { unannounced } = alarm;
    const last = unannounced.at(-1);
    if (!last) return;
    for (const each of unannounced) await this.#announce(alarm, each);
    await change(alarms, alarm, (current) => withoutDone(current, { announced: last.sequence }));
  }

  async #announce(alarm: AlarmDocument, { sequence, at, ...changed }: StateChange): Promise<void> {
    const { bus, mint } = this.#options.service;
    const { id, name, stack_id, stack_name, resource_name, definition, project } = alarm;
    const { state, previous, reason, values } = changed;
    const { cause } = systemOccasion('system', { reason });
    const occasion = changed.occasion ?? { actor: actorOf(alarm), cause };
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
    const event = mint(alarmEvent.changed, { id: derivedId(`alarm\n${id}\n${sequence}`), data, subject: id, project });
    await bus.publish([event]);
    await this.#remember(alarm, `${sequence}`, {
      at: Date.parse(at),
      kind: 'state transition',
      detail: `${previous} → ${state}: ${reason}`,
    });
  }

  async #remember(
    { id }: AlarmDocument,
    key: string,
    entry: Pick<HistoryDocument, 'at' | 'kind' | 'detail'>,
  ): Promise<void> {
    const { history } = this.#options;
    const added = await insertOnce(history, { id: derivedId(`alarm history\n${id}\n${key}`), alarm: id, ...entry });
    if (!added) return;
    const all = await history.find({
      where: { alarm: id },
      orderBy: ['at'],
      descending: true,
      limit: keptHistory + 10,
    });
    await history.bulk(all.slice(keptHistory).map((old) => ({ kind: 'remove', id: old.id })));
  }

  /** Attempts the actions of an alarm that are due. */
  async act(id: string): Promise<void> {
    const { alarms, now, setTimers, service } = this.#options;
    const alarm = await alarms.get(id);
    const due = alarm?.pending.filter(({ due_at }) => due_at <= now()) ?? [];
    if (!alarm) return;
    const attempted = await Promise.all(
      due.map(async (action) => [action.id, await this.#attempt(alarm, action)] as const),
    );
    await faultPoint('alarm.acted');
    if (service.stopping.aborted && attempted.some(([, after]) => after !== null)) return;
    const { document } = await change(alarms, alarm, (current) =>
      attempted.length > 0 ? withoutDone(current, { actions: new Map(attempted) }) : undefined,
    );
    const next = document?.pending.map(({ due_at }) => due_at) ?? [];
    if (next.length === 0) return;
    await setTimers([{ id: `action:${id}`, dueAt: Math.max(Math.min(...next), now()), data: null }]);
  }

  /** The action after an attempt; null when it is done or given up (A6). */
  async #attempt(alarm: AlarmDocument, action: PendingAction): Promise<PendingAction | null> {
    const { now, retrySeconds } = this.#options;
    const answered = await deliverAction(this.#options, alarm, action);
    const target = action.target.replace(/\?.*/s, '');
    if (answered.ok) {
      await this.#remember(alarm, action.id, { at: now(), kind: 'action', detail: target });
      return null;
    }
    const wait = answered.final ? undefined : retrySeconds[action.attempts];
    if (wait === undefined) {
      const detail = `${target}: ${answered.error}`;
      await this.#remember(alarm, action.id, { at: now(), kind: 'action failed', detail });
      return null;
    }
    return { ...action, attempts: action.attempts + 1, error: answered.error, due_at: now() + wait * 1000 };
  }

  async remove(id: string): Promise<void> {
    const { alarms, history } = this.#options;
    await alarms.remove(id);
    this.#eventAlarms = undefined;
    for (;;) {
      const some = await history.find({ where: { alarm: id }, orderBy: ['at'], limit: 500 });
      if (some.length === 0) return;
      await history.bulk(some.map((each) => ({ kind: 'remove', id: each.id })));
    }
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

  async historyOf(id: string, limit: number): Promise<HistoryDocument[]> {
    return this.#options.history.find({ where: { alarm: id }, orderBy: ['at'], descending: true, limit });
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
