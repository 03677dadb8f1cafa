/**
 * Provides resources: takes requests, works on them, and answers each. The service decides; the kit keeps the promises.
 *
 * P1 One document per resource holds the highest fence seen. A request with a lower fence changes nothing and gets no
 *    answer.
 * P2 A repeat of an answered request gets the same response, with the same message id. A repeat of an unfinished
 *    request continues its work, and has no second effect.
 * P3 A request is in its document before any work for it begins. Each decision is written over the version that it was
 *    made from, so of two writers one decides again.
 * P4 A final response is in the document before it is sent, so that a repeat cannot change it. What caused it (the
 *    message, the timer) is repeated until it is sent.
 * P5 `in progress` responses come before the final one. Each has an id of its own, and a new one is sent only when the
 *    progress changed.
 * P6 Unfinished work has a durable timer: for its next attempt, or for its deadline. After the deadline it is answered
 *    as failed.
 * P7 A withdrawal is noted in the document. Then `work` decides whether the work has begun, and fails the request if not.
 * P8 Messages and errors quote no hidden property of the request, because documents and responses hold them open.
 *
 * A service whose work ends by messages of others (a host's answer) uses `accept` alone, which holds P1 to P3, and
 * keeps its responses in an outbox (`outbox.ts`), which holds P4.
 */
import { AnnealError, fromFailure, toFailure } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { ResourceAction } from '@anneal/contracts/resource.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { createRedactor } from '@anneal/runtime/secrets/redact.ts';
import { SingleFlight } from '@anneal/runtime/work/serial.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { change } from '@anneal/store/change.ts';
import type { Collection, Draft } from '@anneal/store/port.ts';
import type { Timer, Timers } from '@anneal/store/timers.ts';
import { accept, reply } from './accept.ts';
import {
  draftOf,
  responseTo,
  type ProvidedDocument,
  type Failed,
  type Received,
  type Request,
  type Result,
} from './document.ts';

/** A report of progress, as the document stores it. */
export interface Report {
  readonly message: string;
  readonly physical_id: string | null;
  /** The number of reports so far, which makes the id of each. */
  readonly count: number;
}

/** The fields that earlier versions stored in the place of `reported`. */
interface EarlierReport {
  readonly said?: string;
  readonly said_id?: string | null;
  readonly said_count?: number;
}

/**
 * States of a request: `working` from the record of the request until its result is known; `answering` until the
 * response is sent; `done` until the next request. A newer request sets `working` from any of them.
 */
export interface WorkingDocument extends ProvidedDocument {
  readonly phase: 'working' | 'answering' | 'done';
  /** The whole request, from which work continues after a restart. Null once it is answered. */
  readonly request: Request | null;
  /** Attempts that ended without a result. */
  readonly attempts: number;
  /** The fence of a request that is wanted only if its work has begun. */
  readonly withdrawn?: number;
  /** The last report. Absent in documents of earlier versions. */
  readonly reported?: Report;
}

/** Wait for `wake` or for `ms`, whichever comes first; null: for `wake` alone. */
export interface Waiting {
  readonly kind: 'waiting';
  readonly ms: number | null;
  /** For people, reported when it changes. */
  readonly message?: string;
  /** The object exists, but is not complete. */
  readonly physical_id?: string;
  /** The reason for another attempt, which the failure names when the deadline passes. */
  readonly error?: unknown;
}

/** The outcome of `decide` or of an attempt. */
export type Decision<D extends WorkingDocument> = (Result | Waiting) & {
  /** Fields of the service's own, written in the same step. */
  readonly change?: Partial<Omit<Draft<D>, keyof WorkingDocument>>;
};

/** The part of a provider that its service writes: its documents, timers, decisions and work. */
export interface ProviderOptions<D extends WorkingDocument> {
  /** Without `secrets`: a program that has no keys of the installation. */
  readonly context: Pick<ServiceContext, 'bus' | 'mint' | 'now' | 'log'> & Partial<Pick<ServiceContext, 'secrets'>>;
  readonly collection: Collection<D>;
  readonly timers: () => Timers;
  /** The timer of a document. When it fires, the service calls `wake`. */
  readonly timerOf: (document: D) => Pick<Timer, 'id' | 'data'>;
  /** Decides before the request is recorded, and changes nothing outside. `waiting` with `ms` 0: work at once. */
  readonly decide: (received: Received<D>) => Promise<Decision<D>>;
  /** Works on a recorded request. May be repeated at any time. An error that may pass causes another attempt. */
  readonly work: (document: D, request: Request) => Promise<Decision<D>>;
  /** Whether the document is removed once its request is answered. */
  readonly forgets?: (document: D) => boolean;
  /**
   * For long work: it runs beside the messages, and a timer guards each attempt, in milliseconds. Longer than an attempt
   * takes. Absent: a message or timer is finished only when the attempt is.
   */
  readonly guardMs?: number;
  /** How long after its deadline unfinished work fails, in milliseconds. Default 0. */
  readonly lateMs?: number;
}

/** Serves the requests for the resources of one collection, with P1 to P7. Every method is safe under redelivery. */
export class Provider<D extends WorkingDocument> {
  readonly #options: ProviderOptions<D>;
  readonly #flights: SingleFlight;

  constructor(options: ProviderOptions<D>) {
    this.#options = options;
    this.#flights = new SingleFlight({
      run: (id) => this.#drive(id),
      onError: (error, id) =>
        options.context.log.error({ err: error, resource: id }, 'work on a resource failed; retrying in 1 s'),
    });
  }

  /** Takes a request of any action (P1 to P3). */
  take(action: ResourceAction, message: Request): Promise<void> {
    const { context, collection, decide } = this.#options;
    let decided: Decision<D> | undefined;
    return accept<D>(
      {
        context,
        collection,
        decide: async (received) => record(received, (decided = this.#closed(await decide(received), message))),
        carryOut: (document) => this.#begin(document, message, decided?.kind === 'waiting' ? decided.ms : 0),
      },
      { action, message },
    );
  }

  /**
   * Takes a withdrawal (P7). Has no effect on a request that is answered, or on another one.
   * @throws AnnealError Unavailable when the request has not come yet, unless this is the last delivery
   */
  async withdraw(message: Request, delivery: { readonly last: boolean }): Promise<void> {
    const { resource, fence } = message.data;
    const { document } = await change(this.#options.collection, resource.id, (current) =>
      current.fence === fence && current.phase === 'working' ? { ...draftOf(current), withdrawn: fence } : undefined,
    );
    if (hasArrived(document, message, delivery)) await this.wake(resource.id);
  }

  /** Continues the work on a resource, because its timer fired or because something that it waits for changed. */
  async wake(id: string): Promise<void> {
    if (this.#options.guardMs === undefined) await this.#drive(id);
    else this.#flights.kick(id);
  }

  /** Accepts no new work. Resolves when the current attempts have ended. */
  stop(): Promise<void> {
    return this.#flights.stop();
  }

  /** Follows the record of a request; a repeat comes here too while the request is unfinished. */
  async #begin(document: D, message: Request, ms: number | null): Promise<void> {
    if (document.response) {
      await this.#send(document, message);
      return;
    }
    await this.#report(document, message);
    if (ms === 0) await this.wake(document.id);
    else await this.#setTimer(document, this.#nextLook(message, ms));
  }

  async #drive(id: string): Promise<void> {
    const { collection, guardMs } = this.#options;
    while (!this.#flights.stopping) {
      const document = await collection.get(id);
      const request = document?.request;
      if (!request || document.phase === 'done') return;
      if (document.phase === 'answering') return this.#finish(document, request);
      if (guardMs !== undefined) await this.#setTimer(document, this.#now() + guardMs);
      let decision = await this.#attempt(document, request);
      if (!decision) return;
      if (decision.kind === 'waiting' && this.#now() >= this.#latest(request)) {
        decision = { kind: 'failed', error: tooLate(decision, request.data.deadline) };
      }
      const next: Partial<WorkingDocument> =
        decision.kind === 'waiting'
          ? { attempts: document.attempts + 1, reported: nextReport(document, decision) }
          : { phase: 'answering', response: responseTo(document.action, request.data, decision) };
      const saved = await collection.replace({ ...draftOf(document), ...decision.change, ...next }, document.version);
      // A newer request or a change of the service came first, so read the document again.
      if (!saved) continue;
      if (decision.kind !== 'waiting') return this.#finish(saved, request);
      if (lastReport(saved).count > lastReport(document).count) await this.#report(saved, request);
      await this.#setTimer(saved, this.#nextLook(request, decision.ms));
      return;
    }
  }

  /** One attempt. Undefined when this process stops during it: the next process repeats it. */
  async #attempt(document: D, request: Request): Promise<Decision<D> | undefined> {
    try {
      return this.#closed(await this.#options.work(document, request), request);
    } catch (error) {
      if (this.#flights.stopping) return undefined;
      if (error instanceof AnnealError && error.kind !== 'retry')
        return this.#closed({ kind: 'failed', error }, request);
      const ms = Math.min(30_000, 250 * 2 ** Math.min(document.attempts, 7)) * (0.75 + Math.random() / 2);
      return this.#closed({ kind: 'waiting', message: toFailure(error).message, ms, error }, request);
    }
  }

  /** P8 */
  #closed(decision: Decision<D>, request: Request): Decision<D> {
    const { secrets } = this.#options.context;
    if (!secrets) return decision;
    const redact = createRedactor(secrets, request.data.properties as Json);
    if (decision.kind === 'failed') {
      const { error } = decision;
      return { ...decision, error: redact(error instanceof Error ? toFailure(error) : error) };
    }
    const { message } = decision;
    const shown = message === undefined ? decision : { ...decision, message: redact(message) };
    if (shown.kind === 'complete' || !(shown.error instanceof AnnealError)) return shown;
    return { ...shown, error: fromFailure(redact(toFailure(shown.error))) };
  }

  /** P4. The timer goes last, because it repeats this. */
  async #finish(document: D, request: Request): Promise<void> {
    const { collection, timers, timerOf } = this.#options;
    const kept = await this.#send(document, request);
    if (kept) await collection.replace({ ...draftOf(document), phase: 'done', request: null }, document.version);
    await timers().cancel([timerOf(document).id]);
  }

  /** Sends the final response. False when the document is removed after it. */
  async #send(document: D, request: Request): Promise<boolean> {
    const { context, collection, forgets } = this.#options;
    if (!document.response) return true;
    await faultPoint('provider.answered');
    await reply(context, request, { response: document.response });
    await faultPoint('provider.sent');
    if (!forgets?.(document)) return true;
    await collection.remove(document.id, document.version);
    return false;
  }

  /** P5. Sends the progress that the document holds. */
  async #report(document: D, request: Request): Promise<void> {
    const { message, physical_id, count: step } = lastReport(document);
    if (step === 0) return;
    const { resource, stack, fence } = request.data;
    const response = {
      resource_id: resource.id,
      stack_id: stack.id,
      action: document.action,
      fence,
      status: 'in progress' as const,
      ...(message !== '' && { message: message.slice(0, 4096) }),
      ...(physical_id !== null && { physical_id }),
    };
    await reply(this.#options.context, request, { response, step });
  }

  #now(): number {
    return this.#options.context.now().getTime();
  }

  /** When unfinished work fails, in milliseconds. */
  #latest(request: Request): number {
    return Date.parse(request.data.deadline) + (this.#options.lateMs ?? 0);
  }

  #nextLook(request: Request, ms: number | null): number {
    return Math.min(this.#now() + (ms ?? Infinity), this.#latest(request));
  }

  async #setTimer(document: D, dueAt: number): Promise<void> {
    await this.#options.timers().set([{ ...this.#options.timerOf(document), dueAt }]);
  }
}

/** The document that records a new request over the one before it. */
function record<D extends WorkingDocument>(received: Received<D>, decision: Decision<D>): Draft<D> {
  const { action, message, known } = received;
  const waits = decision.kind === 'waiting';
  const fields: Omit<WorkingDocument, 'version'> = {
    id: message.data.resource.id,
    fence: message.data.fence,
    action,
    phase: waits ? 'working' : 'done',
    request: waits ? message : null,
    response: waits ? null : responseTo(action, message.data, decision),
    attempts: 0,
    reported: nextReport(undefined, waits ? decision : undefined),
  };
  return { ...(known && draftOf(known)), ...decision.change, ...fields } as unknown as Draft<D>;
}

/**
 * Whether the request that is withdrawn is the one in the document: false when a newer one is, or when it never arrived.
 * @throws AnnealError Unavailable when it has not arrived yet, unless this is the last delivery of the withdrawal
 */
export function hasArrived(
  document: Pick<ProvidedDocument, 'fence'> | undefined,
  { data: { resource, fence } }: Request,
  { last }: { readonly last: boolean },
): boolean {
  if ((document?.fence ?? 0) >= fence || last) return document?.fence === fence;
  throw new AnnealError('Unavailable', `The request for ${resource.name} that is withdrawn has not arrived yet.`);
}

/** Whether the request in the document is wanted only if its work has begun. */
export const isWithdrawn = ({ fence, withdrawn }: WorkingDocument): boolean => withdrawn === fence;

/** The end of a request that was withdrawn before its work began. `what`: e.g. `c was not run`. */
export function withdrawnResult(what: string): Failed {
  return { kind: 'failed', error: new AnnealError('Cancelled', `${what}: its stack no longer wants it.`) };
}

/** The last report of a document, also of one that an earlier version stored. */
export function lastReport(document: WorkingDocument | undefined): Report {
  const { said = '', said_id = null, said_count = 0 } = (document ?? {}) as EarlierReport;
  return document?.reported ?? { message: said, physical_id: said_id, count: said_count };
}

/** The report that the document holds after a wait begins (P5). It counts when it differs from the last one. */
function nextReport(before: WorkingDocument | undefined, waiting: Waiting | undefined): Report {
  const last = lastReport(before);
  const message = waiting?.message ?? '';
  const physical_id = waiting?.physical_id ?? last.physical_id;
  const isNew = message !== last.message || physical_id !== last.physical_id;
  return { message, physical_id, count: last.count + (isNew ? 1 : 0) };
}

function tooLate({ message, error }: Waiting, deadline: string): AnnealError {
  const text = `Not done by its deadline, ${deadline}. ${message ?? ''}`.trim();
  return error instanceof AnnealError
    ? new AnnealError(error.code, text, { cause: error, ...(error.details && { details: { ...error.details } }) })
    : new AnnealError('DeadlineExceeded', text, { cause: error });
}
