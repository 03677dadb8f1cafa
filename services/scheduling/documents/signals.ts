/** The signals of a wait condition handle, and their meaning for its conditions. Pure. */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { alertNotificationSchema } from '@anneal/contracts/alertmanager.ts';
import type { Failure } from '@anneal/contracts/errors.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { jsonText } from '@anneal/python/values/compare.ts';

export interface Signal {
  readonly status: 'SUCCESS' | 'FAILURE';
  readonly reason: string;
  readonly data: Json;
  /** The id of the message that carried it. It identifies a repeat of a signal without an id of its own. */
  readonly message: string;
}
export type Signals = Readonly<Record<string, Signal>>;

type Read =
  | { readonly ok: true; readonly signals: Signals; readonly signal: Signal }
  | { readonly ok: false; readonly failure: Failure };

const refused = (message: string): Read => ({ ok: false, failure: { code: 'InvalidRequest', message } });

export const handleTypes: ReadonlySet<string> = new Set([
  'OS::Heat::WaitConditionHandle',
  'OS::Heat::UpdateWaitConditionHandle',
  'AWS::CloudFormation::WaitConditionHandle',
]);

/** CloudFormation requires all four fields; in Heat each is optional. */
const aws = { status: 'Status', reason: 'Reason', data: 'Data', id: 'UniqueId' } as const;
const heat = { status: 'status', reason: 'reason', data: 'data', id: 'id' } as const;

/** The format of signals for a handle of this type. */
export const dialectOf = (type: string): 'aws' | 'heat' => (type === 'OS::Heat::WaitConditionHandle' ? 'heat' : 'aws');

/** Checks a signal as the handle will, so that its sender gets the error at once. */
export function wrongSignal(type: string, body: Json): Failure | undefined {
  if (type === 'Anneal::AlertmanagerAlarm') return wrongNotification(body);
  if (!handleTypes.has(type)) return undefined;
  const added = addSignal({}, { body, message: '', dialect: dialectOf(type) });
  return added.ok ? undefined : added.failure;
}

function wrongNotification(body: Json): Failure | undefined {
  const { error } = safeParseExact(alertNotificationSchema, body);
  if (!error) return undefined;
  const { issues } = error;
  const wrong = issues.slice(0, 10).map(({ path, message }) => `${path.join('.') || 'the body'}: ${message}`);
  const more = issues.length > wrong.length ? `; and ${issues.length - wrong.length} more` : '';
  const text = `This is no notification of Alertmanager (webhook_configs, version 4): ${wrong.join('; ')}${more}.`;
  return { code: 'InvalidRequest', message: text };
}

/** Adds a signal in the sender's format. A signal with a known id replaces the earlier one. */
export function addSignal(
  signals: Signals,
  { body, message, dialect }: { body: Json; message: string; dialect: 'aws' | 'heat' },
): Read {
  const given = body === null || body === '' ? {} : body;
  if (!isObject(given)) return refused('Metadata format invalid: a signal is a map.');
  const names = dialect === 'aws' ? aws : heat;
  const unknown = Object.keys(given).filter((key) => !Object.values<string>(names).includes(key));
  const missing = dialect === 'aws' ? Object.values(names).filter((key) => !Object.hasOwn(given, key)) : [];
  if (unknown.length > 0 || missing.length > 0) {
    const parts = [
      unknown.length > 0 &&
        `${unknown.join(', ')} is not a field; the fields of a signal are ${Object.values(names).join(', ')}`,
      missing.length > 0 && `${missing.join(', ')} is missing`,
    ];
    return refused(`Metadata format invalid: ${parts.filter(Boolean).join('; ')}.`);
  }
  const status = given[names.status] ?? 'SUCCESS';
  if (status !== 'SUCCESS' && status !== 'FAILURE') {
    return refused(`Metadata format invalid: ${names.status} is SUCCESS or FAILURE, not ${JSON.stringify(status)}.`);
  }
  const repeated = Object.values(signals).find((signal) => signal.message === message);
  if (repeated) return { ok: true, signals, signal: repeated };
  const number = Object.keys(signals).length + 1;
  const id = given[names.id] ?? String(number);
  if (typeof id !== 'string' && typeof id !== 'number') {
    return refused(`Metadata format invalid: ${names.id} is a text or a number.`);
  }
  const reason = given[names.reason] ?? `Signal ${number} received`;
  const signal: Signal = {
    status,
    reason: typeof reason === 'string' ? reason : JSON.stringify(reason),
    data: given[names.data] ?? null,
    message,
  };
  return { ok: true, signal, signals: { ...signals, [String(id)]: signal } };
}

/** Returns undefined while the condition must keep waiting. */
export function judgeSignals(
  signals: Signals,
  { count }: { count: number },
): { readonly ok: true } | { readonly ok: false; readonly failure: Failure } | undefined {
  const all = Object.values(signals);
  const failed = all.filter(({ status }) => status === 'FAILURE');
  if (failed.length > 0) {
    return { ok: false, failure: { code: 'WaitConditionFailure', message: failed.map(reasonOf).join(';') } };
  }
  return all.length >= count ? { ok: true } : undefined;
}

export function timeoutOf(signals: Signals, { count }: { count: number }): Failure {
  const all = Object.values(signals);
  const reasons = all.length > 0 ? ` - ${all.map(reasonOf).join(';')}` : '';
  return { code: 'WaitConditionTimeout', message: `${all.length} of ${count} received${reasons}` };
}

/** The signal data as templates read it: JSON text in Heat's format. */
export const dataText = (signals: Signals): string =>
  jsonText(toRecord(Object.entries(signals).map(([id, { data }]) => [id, data])), { sorted: false });

const reasonOf = ({ reason }: Signal): string => reason;
