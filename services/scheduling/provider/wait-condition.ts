/**
 * Wait conditions and their handles. A handle stores the signals that it receives. A condition waits until the signals
 * are enough, one of them reports a failure, or its timeout expires.
 *
 * S1 A condition is stored as waiting before it reads its handle, and a signal is stored before the provider looks for
 *    waiting conditions. So at least one of the two sees the other, whatever happens in between.
 * S2 A repeated delivery of a signal changes nothing (`signals.ts`).
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { jsonBytes, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceAction, ResourceRequest } from '@anneal/contracts/resource.ts';
import type { SizeLimit } from '@anneal/convergence/resources/size.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import { grantOf, grantOfUrl, signalEndpoint, signalToken, signedSignalUrl } from '@anneal/runtime/signal-grant.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { Timers } from '@anneal/store/timers.ts';
import { createAnswering, responseTo, timerOf, type WorkDocument } from './answering.ts';
import type { Result } from './behaviours.ts';
import { addSignal, dataText, dialectOf, handleTypes, judgeSignals, timeoutOf, type Signals } from './signals.ts';

export interface WaitConditions {
  serves(type: string): boolean;
  take(action: ResourceAction, message: Envelope<ResourceRequest>): Promise<void>;
  /** Fails a condition whose timeout has expired. */
  expire(document: WorkDocument): Promise<void>;
}

const conditionTypes: ReadonlySet<string> = new Set(['OS::Heat::WaitCondition', 'AWS::CloudFormation::WaitCondition']);

/** The two dialects spell the properties of a condition differently. */
const read = (properties: JsonObject, name: 'handle' | 'timeout' | 'count'): Json | undefined =>
  properties[name] ?? properties[name.charAt(0).toUpperCase() + name.slice(1)];
/** The number of signals that complete a condition. */
export const countOf = (data: ResourceRequest): number => Number(read(data.properties, 'count') ?? 1);

export function createWaitConditions(parameters: {
  context: ServiceContext;
  work: Collection<WorkDocument>;
  timers: () => Timers;
  /** The size limit for all signals of a handle together. */
  limit: SizeLimit;
}): WaitConditions {
  const { context, work, timers, limit } = parameters;
  const { secrets, now, gatewayUrl, region } = context;
  const { respond, keep } = createAnswering({ context, work });

  const answer = async (
    last: WorkDocument | undefined,
    parts: { action: ResourceAction; message: Envelope; data: ResourceRequest; result: Result },
    more: Pick<WorkDocument, 'signals' | 'silent' | 'handle'> = {},
  ): Promise<void> => {
    const { action, data } = parts;
    const response = responseTo(action, data, parts.result);
    await keep(last, {
      id: data.resource.id,
      fence: data.fence,
      action,
      request: null,
      due_at: null,
      response,
      ...more,
    });
    await faultPoint('scheduling.provider.kept');
    await respond(parts.message, response);
  };

  const takeHandle = async (action: ResourceAction, message: Envelope<ResourceRequest>): Promise<void> => {
    const { data } = message;
    const last = await work.get(data.resource.id);
    if (action === 'signal') {
      await takeSignal(message, last);
      return;
    }
    if (action !== 'create' && action !== 'update') {
      if (action === 'delete' && last) await work.remove(last.id);
      await respond(message, responseTo(action, data, { ok: true }));
      return;
    }
    if (last && last.fence > data.fence) return;
    const result: Result = { ok: true, physicalId: data.resource.id, attributes: attributesOf(message) };
    const silent = data.properties['signal_transport'] === 'NO_SIGNAL';
    await answer(last, { action, message, data, result }, { signals: last?.signals ?? {}, silent });
  };

  const attributesOf = (message: Envelope<ResourceRequest>): JsonObject => {
    const { data } = message;
    const grant = grantOf(message);
    const sealed = (values: JsonObject): JsonObject =>
      Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, value === null ? null : secrets.seal(value)]),
      );
    const url = (as: 'signal' | 'waitcondition'): string => signedSignalUrl(gatewayUrl, { secrets, grant, as });
    if (data.resource.type !== 'OS::Heat::WaitConditionHandle') return sealed({ url: url('waitcondition') });
    const token = signalToken(secrets, grant);
    const endpoint = signalEndpoint(gatewayUrl, grant);
    const credentials = {
      auth_url: `${gatewayUrl}/identity/v3`,
      username: data.resource.id,
      user_id: data.resource.id,
      password: token,
      project_id: grant.project,
      region_name: region,
    };
    const none = { token: null, endpoint: null, curl_cli: null, signal: null };
    switch (data.properties['signal_transport'] ?? 'TOKEN_SIGNAL') {
      case 'TOKEN_SIGNAL': {
        const headers = [`X-Auth-Token: ${token}`, 'Content-Type: application/json', 'Accept: application/json'];
        const curl = `curl -i -X POST ${headers.map((header) => `-H '${header}'`).join(' ')} ${endpoint}`;
        return sealed({ token, endpoint, curl_cli: curl, signal: JSON.stringify({ token, endpoint }) });
      }
      case 'CFN_SIGNAL':
        return sealed({ ...none, endpoint: url('signal'), signal: JSON.stringify({ alarm_url: url('signal') }) });
      // A URL of the gateway that needs no login replaces the temporary URL of an object store.
      case 'TEMP_URL_SIGNAL':
        return sealed({
          ...none,
          endpoint: url('waitcondition'),
          signal: JSON.stringify({ object_url: url('waitcondition') }),
        });
      case 'HEAT_SIGNAL':
        return sealed({ ...none, endpoint, signal: JSON.stringify(credentials) });
      case 'ZAQAR_SIGNAL':
        return sealed({ ...none, signal: JSON.stringify({ ...credentials, queue_id: data.resource.id }) });
      default:
        return none;
    }
  };

  const takeSignal = async (message: Envelope<ResourceRequest>, last: WorkDocument | undefined): Promise<void> => {
    const { data } = message;
    if (!last) {
      const failure = { code: 'NotFound', message: `The handle ${data.resource.name} is not there to be signalled.` };
      await respond(message, responseTo('signal', data, { ok: false, failure }));
      return;
    }
    const body = (data as ResourceRequest & { signal: Json }).signal;
    const dialect = dialectOf(data.resource.type);
    const added = addSignal(last.signals ?? {}, { body, message: message.id, dialect });
    if (!added.ok) {
      await respond(message, responseTo('signal', data, added));
      return;
    }
    const bytes = jsonBytes(added.signals);
    if (bytes > limit.bytes) {
      const text = `With this signal the handle ${data.resource.name} keeps ${bytes} bytes; the limit is ${limit.bytes} (${limit.setting}).`;
      const failure = { code: 'TooLarge', message: text };
      await respond(message, responseTo('signal', data, { ok: false, failure }));
      return;
    }
    const { version: _, ...draft } = last;
    await keep(last, { ...draft, signals: added.signals });
    await faultPoint('scheduling.provider.signalled');
    for (const waiting of await work.find({ where: { handle: last.id } })) {
      if (waiting.request) await judge(waiting, { signals: added.signals, silent: false });
    }
    const { status, reason } = added.signal;
    await respond(
      message,
      responseTo('signal', data, { ok: true, message: `Signal: status:${status} reason:${reason}` }),
    );
  };

  /** Answers a condition when the signals of its handle decide it. */
  const judge = async (
    waiting: WorkDocument,
    { signals, silent }: { signals: Signals; silent: boolean },
  ): Promise<void> => {
    if (!waiting.request) return;
    const data = waiting.request.data as unknown as ResourceRequest;
    const verdict = silent ? ({ ok: true } as const) : judgeSignals(signals, { count: countOf(data) });
    if (verdict) await conclude(waiting, verdict.ok ? doneWith(data, signals) : verdict);
  };

  const doneWith = (data: ResourceRequest, signals: Signals): Result => ({
    ok: true,
    physicalId: data.resource.id,
    attributes: {
      [data.resource.type.startsWith('AWS') ? 'Data' : 'data']: dataText(
        secrets.open<Json>(signals as unknown as Json) as unknown as Signals,
      ),
    },
  });

  const conclude = async (waiting: WorkDocument, result: Result): Promise<void> => {
    if (!waiting.request) return;
    const data = waiting.request.data as unknown as ResourceRequest;
    const message = { ...waiting.request.message, data } as Envelope<ResourceRequest>;
    const handle = waiting.handle === undefined ? {} : { handle: waiting.handle };
    await answer(waiting, { action: waiting.action, message, data, result }, handle);
    await timers().cancel([timerOf(waiting.id, waiting.fence, now().toISOString()).id]);
  };

  const takeCondition = async (action: ResourceAction, message: Envelope<ResourceRequest>): Promise<void> => {
    const { data } = message;
    const last = await work.get(data.resource.id);
    if (action === 'delete') {
      const handle = last?.handle === undefined ? undefined : await work.get(last.handle);
      if (handle) {
        const { version: _, ...draft } = handle;
        await keep(handle, { ...draft, signals: {} });
      }
      if (last) await work.remove(last.id);
    }
    if (action !== 'create' && action !== 'update') {
      await respond(message, responseTo(action, data, { ok: true }));
      return;
    }
    if (last && last.fence > data.fence) return;
    if (last?.fence === data.fence && last.response) {
      await respond(message, last.response);
      return;
    }
    const reference = secrets.open(read(data.properties, 'handle') ?? null);
    const text = typeof reference === 'string' ? reference : '';
    const grant = grantOfUrl(secrets, text);
    const handleId = grant?.resource_id ?? text;
    const handle = await work.get(handleId);
    if (!handle?.signals || (grant && grant.stack_id !== data.stack.id)) {
      const why = grant && handle ? 'is the handle of another stack' : 'is no wait condition handle';
      const failure = { code: 'InvalidRequest', message: `The handle of ${data.resource.name} ${why}: ${handleId}` };
      await answer(last, { action, message, data, result: { ok: false, failure } });
      return;
    }
    const { data: _, ...envelope } = message;
    const dueAt =
      last?.fence === data.fence && last.due_at !== null
        ? last.due_at
        : new Date(now().getTime() + Number(read(data.properties, 'timeout') ?? 0) * 1000).toISOString();
    const waiting = await keep(last, {
      id: data.resource.id,
      fence: data.fence,
      action,
      request: { message: envelope, data: data as unknown as JsonObject },
      due_at: dueAt,
      response: null,
      handle: handleId,
    });
    await faultPoint('scheduling.provider.waiting');
    await timers().set([timerOf(waiting.id, waiting.fence, dueAt)]);
    const state = await work.get(handleId);
    await judge(waiting, { signals: state?.signals ?? {}, silent: state?.silent === true });
  };

  return {
    serves: (type) => handleTypes.has(type) || conditionTypes.has(type),
    take: (action, message) =>
      handleTypes.has(message.data.resource.type) ? takeHandle(action, message) : takeCondition(action, message),
    async expire(document) {
      if (!document.request || document.handle === undefined) return;
      const signals = (await work.get(document.handle))?.signals ?? {};
      const count = countOf(document.request.data as unknown as ResourceRequest);
      await conclude(document, { ok: false, failure: timeoutOf(signals, { count }) });
    },
  };
}
