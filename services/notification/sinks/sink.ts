/** The place to which a subscription sends its events. `open-sink.ts` makes the sink that the address names. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { DeliveryOutcome } from './outcome.ts';

/** One or several events, in order. */
export interface SinkRequest {
  /** The same for every attempt of the same content. */
  readonly id: string;
  readonly events: readonly [Envelope, ...Envelope[]];
  /** The JSON of an event, which all subscriptions share. */
  readonly textOf: (event: Envelope) => string;
  /** True when the body is an array, also with a single event. */
  readonly isBatch: boolean;
  /** The keys of all valid secrets, without the prefix `whsec_`. The listener may verify with any of them. */
  readonly keys: readonly Uint8Array[];
}

/** Requests may overlap. The caller never has two requests with events of the same subject at the same time. */
export interface EventSink {
  /**
   * Resolves when the listener has accepted or refused the events, or is away. Never rejects. The status is that of
   * HTTP; null when the listener is away.
   */
  send(request: SinkRequest): Promise<DeliveryOutcome>;
  /** Aborts the requests in progress and closes the connections. */
  close(): Promise<void>;
}

export const accepted: DeliveryOutcome = { status: 202, error: null, retryAfter: null };

/** The outcome of an attempt that found no listener. */
export const awayBecause = (error: unknown): DeliveryOutcome => ({
  status: null,
  error: reasonOf(error),
  retryAfter: null,
});

/** The outcome of a failed call: a queue, config or host that can never take the event refuses it. Anything else may pass. */
export const refusedOrAway = (error: unknown): DeliveryOutcome =>
  error instanceof AnnealError && error.kind === 'final'
    ? { status: error.status, error: error.message, retryAfter: null }
    : awayBecause(error);

/** A sink that sends nothing, because its address cannot be used. */
export const noSink = (outcome: DeliveryOutcome): EventSink => ({
  send: () => Promise.resolve(outcome),
  close: () => Promise.resolve(),
});

/** A sink that reports the duration and status of each request. */
export const observedSink = (
  sink: EventSink,
  observe: (request: { readonly status: number | null; readonly ms: number }) => void,
): EventSink => ({
  close: () => sink.close(),
  async send(request) {
    const began = performance.now();
    const outcome = await sink.send(request);
    observe({ status: outcome.status, ms: performance.now() - began });
    return outcome;
  },
});

/** The message of anything thrown, with the code of a system error. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const text = error instanceof AggregateError ? error.errors.map(String).join('; ') : error.message;
  const message = text || error.name;
  // Most messages of the system begin with their code or contain it: connect ECONNREFUSED 127.0.0.1:9.
  return (code === '' || message.includes(code) ? message : `${code}: ${message}`).slice(0, 1000);
}
