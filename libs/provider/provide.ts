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
 *
 * A service whose work ends by messages of others (a host's answer) uses `accept` alone, which holds P1 to P3, and
 * keeps its responses in an outbox (`outbox.ts`), which holds P4.
 */
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { ResourceAction } from '@anneal/contracts/resource.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { SingleFlight } from '@anneal/runtime/work/serial.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Collection, Draft } from '@anneal/store/port.ts';
import type { Timer, Timers } from '@anneal/store/timers.ts';
import { accept, reply } from './accept.ts';
import { draftOf, responseTo, type ProvidedDocument, type Received, type Request, type Result } from './document.ts';

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
  readonly context: Pick<ServiceContext, 'bus' | 'mint' | 'now' | 'log'>;
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

/** Serves the requests for the resources of one collection, with P1 to P6. Every method is safe under redelivery. */
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
        decide: async (received) => record(received, (decided = await decide(received))),
        carryOut: (document) => this.#begin(document, message, decided?.kind === 'waiting' ? decided.ms : 0),
      },
      { action, message },
    );
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
      return await this.#options.work(document, request);
    } catch (error) {
      if (this.#flights.stopping) return undefined;
      if (error instanceof AnnealError && error.kind !== 'retry') return { kind: 'failed', error };
      const ms = Math.min(30_000, 250 * 2 ** Math.min(document.attempts, 7)) * (0.75 + Math.random() / 2);
      return { kind: 'waiting', message: toFailure(error).message, ms, error };
    }
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
