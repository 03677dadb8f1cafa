/** Sends what is not of the log to a sink that is opened for it alone: the test of a subscription, the action of an alarm. */
import type { DeliveryOutcome } from '../sinks/outcome.ts';
import type { EventSink, SinkRequest } from '../sinks/sink.ts';
import type { EndedAttempt } from './attempt-log.ts';
import { decide, type DeliveryDecision, type OnRefusal } from './schedule.ts';

/** Sends the request, and closes the sink; at once when `stopping` is aborted. */
export async function sendOnce(sink: EventSink, request: SinkRequest, stopping: AbortSignal): Promise<DeliveryOutcome> {
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= sink.close());
  const abort = (): void => void close();
  stopping.addEventListener('abort', abort);
  if (stopping.aborted) abort();
  try {
    return await sink.send(request);
  } finally {
    stopping.removeEventListener('abort', abort);
    await close();
  }
}

/** The schedule of retries, and the clock. */
export interface OnceOptions {
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly retrySeconds: readonly number[];
  readonly stopping: AbortSignal;
}

/** One attempt of what is sent again until it is delivered or dead. `tries`: the failed attempts before. */
export interface OnceAttempt {
  readonly sink: EventSink;
  readonly request: SinkRequest;
  readonly tries: number;
  readonly onRefusal: OnRefusal;
}

/** Attempts it, and decides what follows. Undefined when this service stopped meanwhile: then it was no attempt. */
export async function attemptOnce(
  { sink, request, tries, onRefusal }: OnceAttempt,
  { now, random, retrySeconds, stopping }: OnceOptions,
): Promise<{ ended: EndedAttempt; decision: DeliveryDecision } | undefined> {
  const began = now();
  const outcome = await sendOnce(sink, request, stopping);
  if (stopping.aborted && outcome.status === null) return undefined;
  const decision = decide({ outcome, tries: tries + 1, retrySeconds, random: random(), onRefusal });
  return { ended: { outcome, began, now: now() }, decision };
}
