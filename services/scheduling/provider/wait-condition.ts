/**
 * Wait conditions and their handles. A handle stores the signals that it receives. A condition waits until the signals
 * are enough, one of them reports a failure, or its timeout expires.
 *
 * S1 A condition is stored as waiting before it reads its handle, and a signal is stored before the provider looks for
 *    waiting conditions. So at least one of the two sees the other, whatever happens in between.
 * S2 A repeated delivery of a signal changes nothing (`signals.ts`).
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { jsonBytes, type Json, type SealableObject } from '@anneal/contracts/json.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import { reply } from '@anneal/provider/accept.ts';
import { draftOf, responseTo, type Received, type Result } from '@anneal/provider/document.ts';
import { isWithdrawn, withdrawnResult, type Decision } from '@anneal/provider/provide.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { openProperty } from '@anneal/runtime/secrets/open.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { grantOfUrl } from '@anneal/runtime/secrets/signal-grant.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { WorkDocument } from '../documents/work.ts';
import { handleAttributes } from './handle-attributes.ts';
import {
  addSignal,
  dataText,
  dialectOf,
  handleTypes,
  judgeSignals,
  timeoutOf,
  type Signals,
} from '../documents/signals.ts';
import type { SizeLimit } from '@anneal/convergence/size-limits.ts';

const conditionTypes: ReadonlySet<string> = new Set(['OS::Heat::WaitCondition', 'AWS::CloudFormation::WaitCondition']);

/** The two dialects spell the properties of a condition differently. */
const read = (secrets: Secrets, properties: SealableObject, name: 'handle' | 'timeout' | 'count'): Json | undefined =>
  openProperty(secrets, properties, name) ??
  openProperty(secrets, properties, name.charAt(0).toUpperCase() + name.slice(1));
/** The number of signals that complete a condition. */
export const countOf = (secrets: Secrets, { properties }: ResourceRequest): number =>
  Number(read(secrets, properties, 'count') ?? 1);

interface Options {
  readonly context: ServiceContext;
  readonly work: Collection<WorkDocument>;
  /** The size limit for all signals of a handle together. */
  readonly limit: SizeLimit;
  readonly wake: (id: string) => Promise<void>;
}

export class WaitConditions {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  serves(type: string): boolean {
    return handleTypes.has(type) || conditionTypes.has(type);
  }

  async decide(received: Received<WorkDocument>): Promise<Decision<WorkDocument>> {
    const isHandle = handleTypes.has(received.message.data.resource.type);
    return isHandle ? this.#decideHandle(received) : this.#decideCondition(received);
  }

  /** Takes a signal to a handle, and wakes the conditions that wait for it. */
  async signal(message: Envelope<ResourceRequest>): Promise<void> {
    const response = responseTo('signal', message.data, await this.#takeSignal(message));
    await reply(this.#options.context, message, { response });
  }

  #decideHandle({ action, message, known }: Received<WorkDocument>): Decision<WorkDocument> {
    if (action !== 'create' && action !== 'update') return { kind: 'complete', change: { due_at: null } };
    const { secrets } = this.#options.context;
    const silent = openProperty(secrets, message.data.properties, 'signal_transport') === 'NO_SIGNAL';
    return {
      kind: 'complete',
      physical_id: message.data.resource.id,
      attributes: handleAttributes(this.#options.context, message),
      change: { due_at: null, signals: known?.signals ?? {}, silent },
    };
  }

  async #takeSignal(message: Envelope<ResourceRequest>): Promise<Result> {
    const { limit, wake, work } = this.#options;
    const { data } = message;
    if (!handleTypes.has(data.resource.type)) return { kind: 'complete' };
    const handle = await work.get(data.resource.id);
    if (!handle) {
      const text = `Cannot signal the handle ${data.resource.name}: it does not exist.`;
      return { kind: 'failed', error: { code: 'NotFound', message: text } };
    }
    const body = (data as ResourceRequest & { signal: Json }).signal;
    const dialect = dialectOf(data.resource.type);
    const added = addSignal(handle.signals ?? {}, { body, message: message.id, dialect });
    if (!added.ok) return { kind: 'failed', error: added.failure };
    const bytes = jsonBytes(added.signals);
    if (bytes > limit.bytes) {
      const text = `Cannot signal the handle ${data.resource.name}: with this signal it would store ${bytes} bytes; the limit is ${limit.bytes} (${limit.setting}).`;
      return { kind: 'failed', error: { code: 'TooLarge', message: text } };
    }
    await this.#keepSignals(handle, added.signals);
    await faultPoint('scheduling.provider.signalled');
    for (const { id, request } of await work.find({ where: { handle: handle.id } })) if (request) await wake(id);
    const { status, reason } = added.signal;
    return { kind: 'complete', message: `Signal: status:${status} reason:${reason}` };
  }

  async #keepSignals(handle: WorkDocument, signals: Signals): Promise<void> {
    if (await this.#options.work.replace({ ...draftOf(handle), signals }, handle.version)) return;
    throw new AnnealError('Unavailable', `Another writer changed the handle ${handle.id}; it is read again.`);
  }

  async #decideCondition({ action, message, known }: Received<WorkDocument>): Promise<Decision<WorkDocument>> {
    const { now, secrets } = this.#options.context;
    const { data } = message;
    // The deletion clears the handle, so it is work.
    if (action === 'delete' && known?.handle !== undefined) return { kind: 'waiting', ms: 0 };
    if (action !== 'create' && action !== 'update') return { kind: 'complete', change: { due_at: null } };
    const reference = read(secrets, data.properties, 'handle');
    const text = typeof reference === 'string' ? reference : '';
    const grant = grantOfUrl(secrets, text);
    const handleId = grant?.resource_id ?? text;
    const handle = await this.#options.work.get(handleId);
    if (!handle?.signals || (grant && grant.stack_id !== data.stack.id)) {
      const why = grant && handle ? 'is the handle of another stack' : 'is no wait condition handle';
      const error = { code: 'InvalidRequest', message: `The handle of ${data.resource.name} ${why}: ${handleId}` };
      return { kind: 'failed', error, change: { due_at: null } };
    }
    const due = now().getTime() + Number(read(secrets, data.properties, 'timeout') ?? 0) * 1000;
    return { kind: 'waiting', ms: 0, change: { due_at: new Date(due).toISOString(), handle: handleId } };
  }

  /** Judges a condition by the signals of its handle and its timeout; clears the handle of a deleted one. */
  async work(document: WorkDocument, data: ResourceRequest): Promise<Decision<WorkDocument>> {
    const handle = document.handle === undefined ? undefined : await this.#options.work.get(document.handle);
    if (document.action === 'delete') {
      if (handle) await this.#keepSignals(handle, {});
      return { kind: 'complete' };
    }
    const signals = handle?.signals ?? {};
    const count = countOf(this.#options.context.secrets, data);
    const verdict = handle?.silent === true ? ({ ok: true } as const) : judgeSignals(signals, { count });
    if (verdict?.ok) return { ...this.#doneWith(data, signals), change: { due_at: null } };
    if (verdict) return { kind: 'failed', error: verdict.failure, change: { due_at: null } };
    const left = Date.parse(document.due_at ?? '') - this.#options.context.now().getTime();
    if (isWithdrawn(document)) {
      return { ...withdrawnResult(`${data.resource.name} waits no longer`), change: { due_at: null } };
    }
    if (left > 0) return { kind: 'waiting', ms: left };
    return { kind: 'failed', error: timeoutOf(signals, { count }), change: { due_at: null } };
  }

  #doneWith(data: ResourceRequest, signals: Signals): Result {
    return {
      kind: 'complete',
      physical_id: data.resource.id,
      attributes: {
        [data.resource.type.startsWith('AWS') ? 'Data' : 'data']: dataText(
          this.#options.context.secrets.open<Json>(signals as unknown as Json) as unknown as Signals,
        ),
      },
    };
  }
}
