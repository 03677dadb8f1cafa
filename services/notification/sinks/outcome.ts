/** The outcome of an attempt to deliver events, and what it says about the listener. Pure. */

export interface DeliveryOutcome {
  /** HTTP status. Null without an answer. */
  readonly status: number | null;
  readonly error: string | null;
  /** Seconds from `Retry-After`. */
  readonly retryAfter: number | null;
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
