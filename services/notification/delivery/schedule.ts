/** Decides the next step of a delivery after an attempt. Pure. */
import { isAccepted, isRefused, isWide, type DeliveryOutcome } from '../sinks/outcome.ts';

export type DeliveryDecision =
  | { readonly kind: 'delivered' }
  /** The listener ended this subscription. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'dead' }
  /** `wide` is true when the listener as a whole fails, not only this event. */
  | { readonly kind: 'again'; readonly inMs: number; readonly wide: boolean };

/** `skip`: what the listener refuses is given up at once. `block`: it is attempted again. */
export type OnRefusal = 'block' | 'skip';

const longestRetryAfterSeconds = 24 * 3600;

export function decide(parameters: {
  outcome: DeliveryOutcome;
  /** The attempts so far, this one included. */
  tries: number;
  retrySeconds: readonly number[];
  /** From 0 to 1. */
  random: number;
  onRefusal: OnRefusal;
}): DeliveryDecision {
  const { outcome, tries, retrySeconds, random, onRefusal } = parameters;
  const { status, retryAfter } = outcome;
  if (isAccepted(status)) return { kind: 'delivered' };
  if (status === 410) return { kind: 'gone' };
  const wait = retrySeconds[tries - 1];
  if (wait === undefined || (onRefusal === 'skip' && isRefused(status))) return { kind: 'dead' };
  // Vary the wait by 20 %, so that listeners that failed together are not retried together.
  const jittered = wait * (0.8 + 0.4 * random);
  const asked = Math.min(retryAfter ?? 0, longestRetryAfterSeconds);
  return {
    kind: 'again',
    inMs: Math.round(Math.max(jittered, asked) * 1000),
    wide: isWide(status),
  };
}
