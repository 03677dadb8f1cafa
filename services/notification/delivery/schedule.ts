/** Decides the next step of a delivery after an attempt. Pure. */

export interface DeliveryOutcome {
  /** HTTP status. Null without an answer. */
  readonly status: number | null;
  readonly error: string | null;
  /** Seconds from `Retry-After`. */
  readonly retryAfter: number | null;
}

export type DeliveryDecision =
  | { readonly kind: 'delivered' }
  /** The listener ended this subscription. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'dead' }
  /** `wide` is true when the listener as a whole fails, not only this event. */
  | { readonly kind: 'again'; readonly inMs: number; readonly wide: boolean };

const longestRetryAfterSeconds = 24 * 3600;

export function decide(parameters: {
  outcome: DeliveryOutcome;
  /** AttemptLog so far, this one included. */
  tries: number;
  retrySeconds: readonly number[];
  /** From 0 to 1. */
  random: number;
}): DeliveryDecision {
  const { outcome, tries, retrySeconds, random } = parameters;
  const { status, retryAfter } = outcome;
  if (isAccepted(status)) return { kind: 'delivered' };
  if (status === 410) return { kind: 'gone' };
  const wait = retrySeconds[tries - 1];
  if (wait === undefined) return { kind: 'dead' };
  // Vary the wait by 20 %, so that listeners that failed together are not retried together.
  const jittered = wait * (0.8 + 0.4 * random);
  const asked = Math.min(retryAfter ?? 0, longestRetryAfterSeconds);
  return {
    kind: 'again',
    inMs: Math.round(Math.max(jittered, asked) * 1000),
    wide: isWide(status),
  };
}

/** True for an answer that accepts the events. */
export const isAccepted = (status: number | null): boolean => status !== null && status >= 200 && status < 300;

/** True for an answer that refuses the event itself, so that a repeat would not help. 408 and 425 ask for a repeat. */
export const isRefused = (status: number | null): boolean =>
  status !== null && status >= 400 && status < 500 && ![408, 425, 429].includes(status);

/** True for an answer that says that the listener as a whole fails. */
export const isWide = (status: number | null): boolean => status === null || status === 429 || status >= 500;

/** `Retry-After`, of 429 and 503: seconds, or a date. */
export function retryAfterOf(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, (at - now) / 1000);
}
