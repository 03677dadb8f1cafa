/**
 * The document of an alarm and its changes. Pure.
 *
 * A1 A change of state, the actions that follow from it and its event are one write.
 * A2 An evaluation acts once: the document contains the time of the evaluation that acted last, which a repeat finds.
 * A3 An action that a later one to the same target replaces is not delivered any more: the target gets the latest state.
 */
import type { AlarmView } from '@anneal/contracts/calls/alarms.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Occasion, TreePlace } from '@anneal/contracts/origin.ts';
import type { Document, Draft } from '@anneal/store/port.ts';
import type { KnownAlerts } from './rules/alerts.ts';
import type { AlarmDefinition } from './rules/definition.ts';
import type { AlarmState, Finding } from './rules/evaluate.ts';

/** An action that is not delivered yet. Versions read those of each other. */
export interface PendingAction {
  /** The same for each attempt, so that a receiver in Anneal takes it once. */
  readonly id: string;
  readonly target: string;
  readonly body: JsonObject;
  /** Failed ones. */
  readonly attempts: number;
  /** Time of the next attempt, in milliseconds since the epoch. */
  readonly due_at: number;
  readonly error: string | null;
}

/** A change of state whose event is not published yet. */
export interface StateChange {
  readonly sequence: number;
  readonly at: string;
  readonly state: AlarmState;
  readonly previous: AlarmState;
  readonly reason: string;
  readonly values: readonly number[];
  /** Absent: the alarm itself found it. */
  readonly occasion?: Occasion;
}

export interface AlarmDocument extends Document {
  readonly project: string;
  readonly name: string;
  readonly type: string;
  readonly kind: AlarmDefinition['rule']['kind'];
  readonly stack_id: string;
  readonly stack_name: string;
  readonly resource_name: string;
  readonly fence: number;
  readonly definition: AlarmDefinition;
  readonly suspended: boolean;
  readonly state: AlarmState;
  readonly state_reason: string;
  readonly state_at: string;
  /** Grows with each notification. */
  readonly sequence: number;
  /** A2: the due time of that evaluation. */
  readonly evaluated: number;
  readonly pending: readonly PendingAction[];
  readonly unannounced: readonly StateChange[];
  /** True while `pending` or `unannounced` holds something. */
  readonly open: boolean;
  /** Ids of the latest events that an event alarm has taken. */
  readonly events: readonly string[];
  /** Number of the latest document with attempts of actions. Absent: none. */
  readonly attempts_number?: number;
  /** The alerts that Alertmanager has notified. */
  readonly alerts?: KnownAlerts;
  /** Absent in documents of earlier versions. */
  readonly place?: TreePlace;
  readonly created_at: string;
}

/** The parts of a new alarm that its resource does not define. An update keeps them. */
export const newAlarm = (id: string, now: Date) => ({
  id,
  suspended: false,
  state: 'insufficient data' as const,
  state_reason: 'Not evaluated yet',
  state_at: now.toISOString(),
  sequence: 0,
  evaluated: 0,
  pending: [],
  unannounced: [],
  open: false,
  events: [],
  created_at: now.toISOString(),
});

export const isActive = ({ suspended, definition }: AlarmDocument): boolean => !suspended && definition.enabled;

const mostEvents = 50;
const mostPending = 100;

/** The time of a finding, and what led to it: the due time of an evaluation, the id of an event, or a request. */
export interface FindingTime {
  readonly now: number;
  readonly evaluated?: number;
  readonly event?: string;
  readonly occasion?: Occasion | undefined;
}

/** The ids of the latest events with another one. */
export const eventsWith = ({ events }: AlarmDocument, id: string): string[] => [...events, id].slice(-mostEvents);

/** The alarm after a finding. Undefined when nothing changes. */
export function withFinding(alarm: AlarmDocument, finding: Finding, at: FindingTime): Draft<AlarmDocument> | undefined {
  if (at.evaluated !== undefined && at.evaluated <= alarm.evaluated) return undefined;
  if (at.event !== undefined && alarm.events.includes(at.event)) return undefined;
  const { definition, state: previous } = alarm;
  const { state, values } = finding;
  const latest = values.at(-1);
  const valueTargets = latest === undefined ? [] : definition.values;
  if (state === null && valueTargets.length === 0) return undefined;
  const time = new Date(at.now).toISOString();
  const sequence = alarm.sequence + 1;
  const current = state ?? previous;
  const body = {
    alarm_id: alarm.id,
    alarm_name: alarm.name,
    severity: definition.severity,
    previous,
    current,
    reason: finding.reason,
    reason_data: finding.reasonData,
  };
  const added = [
    ...(state === null ? [] : definition.actions[state]).map((target) => ({ target, body })),
    ...valueTargets.map((target) => ({
      target,
      body: { ...body, value: latest === undefined || !Number.isFinite(latest) ? null : latest },
    })),
  ].map(({ target, body: content }, index): PendingAction => {
    const id = `${alarm.id}:${sequence}:${index}`;
    return { id, target, body: content, attempts: 0, due_at: at.now, error: null };
  });
  const replaced = new Set(added.map(({ target }) => target));
  const isChange = state !== null && state !== previous;
  const { occasion } = at;
  const change = {
    sequence,
    at: time,
    state: current,
    previous,
    reason: finding.reason,
    values,
    ...(occasion && { occasion }),
  };
  const pending = [...alarm.pending.filter(({ target }) => !replaced.has(target)), ...added].slice(-mostPending);
  const unannounced = isChange ? [...alarm.unannounced, change] : alarm.unannounced;
  return {
    ...alarm,
    sequence,
    evaluated: at.evaluated ?? alarm.evaluated,
    events: at.event === undefined ? alarm.events : eventsWith(alarm, at.event),
    ...(isChange && { state: current, state_at: time }),
    ...(state !== null && { state_reason: finding.reason }),
    pending,
    unannounced,
    open: pending.length > 0 || unannounced.length > 0,
  };
}

/** The alarm after its latest changes are announced, and after attempts: without the delivered actions. */
export function withoutDone(
  alarm: AlarmDocument,
  done: { readonly announced?: number; readonly actions?: ReadonlyMap<string, PendingAction | null> },
): Draft<AlarmDocument> {
  const { announced = 0, actions } = done;
  const unannounced = alarm.unannounced.filter(({ sequence }) => sequence > announced);
  const pending = alarm.pending.flatMap((each) => {
    const after = actions?.get(each.id);
    return after === undefined ? [each] : after === null ? [] : [after];
  });
  return { ...alarm, unannounced, pending, open: pending.length > 0 || unannounced.length > 0 };
}

/** A target without the signature that lets its holder signal. */
const shown = (target: string): string => target.replace(/([?&]Signature=)[^&]*/i, '$1…');

export function viewOfAlarm(alarm: AlarmDocument): AlarmView {
  const { definition, pending } = alarm;
  const byState = Object.entries(definition.actions).flatMap(([on, targets]) =>
    targets.map((target) => ({ on, target: shown(target) })),
  );
  return {
    id: alarm.id,
    name: alarm.name,
    project: alarm.project,
    type: alarm.type,
    stack_id: alarm.stack_id,
    stack_name: alarm.stack_name,
    resource_name: alarm.resource_name,
    description: definition.description,
    enabled: isActive(alarm),
    severity: definition.severity,
    repeat_actions: definition.repeat,
    state: alarm.state,
    state_reason: alarm.state_reason,
    state_at: alarm.state_at,
    rule: definition.rule as unknown as Json,
    actions: [...byState, ...definition.values.map((target) => ({ on: 'value', target: shown(target) }))],
    pending: pending.map(({ target, attempts, error }) => ({ target: shown(target), attempts, error })),
    created_at: alarm.created_at,
  };
}
