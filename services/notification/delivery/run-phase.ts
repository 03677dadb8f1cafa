/**
 * The phases of a run of a courier. Pure.
 *
 * `sending`: the run starts requests. It leaves this phase for good when it has a reason to end.
 * `ending`: it starts no request, and its loop ends at the next check. A stronger reason replaces a weaker one.
 * `closed`: it takes no more events, so a timer must start the next run. Requests in flight finish, then it saves.
 */

/** From the weakest to the strongest reason. */
const order = ['idle', 'changed', 'stopped', 'disabled', 'failed', 'lost'] as const;

export type EndReason =
  /** There is nothing to do until this time, if at all. */
  | { readonly kind: 'idle'; readonly resumeAt: number | undefined }
  /** The subscription changed, so another run must begin with it. */
  | { readonly kind: 'changed' }
  /** This service stops. */
  | { readonly kind: 'stopped' }
  /** The listener wants no more events, or was away for too long. */
  | { readonly kind: 'disabled'; readonly because: string }
  /** The run itself failed. Its timer repeats it. */
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Another run owns the subscription (P5). */
  | { readonly kind: 'lost' };

export type RunPhase =
  | { readonly kind: 'sending' }
  | { readonly kind: 'ending'; readonly why: EndReason }
  | { readonly kind: 'closed'; readonly why: EndReason };

/** The end of a run: when the next one must begin, if at all. */
export interface CourierEnd {
  readonly resumeAt: number | undefined;
  /** True when another run must begin now, with the subscription as it is stored then. */
  readonly again: boolean;
  /** True when the run has disabled the subscription. */
  readonly disabled: boolean;
}

/** The phase after a further reason to end. */
export function withReason(phase: RunPhase, why: EndReason): RunPhase {
  if (phase.kind === 'sending') return { kind: 'ending', why };
  return order.indexOf(why.kind) > order.indexOf(phase.why.kind) ? { ...phase, why } : phase;
}

/** The phase after the loop. A run without a reason has nothing to do. */
export const closedPhase = (phase: RunPhase): RunPhase & { kind: 'closed' } => ({
  kind: 'closed',
  why: phase.kind === 'sending' ? { kind: 'idle', resumeAt: undefined } : phase.why,
});

/** @throws the error of a run that failed */
export function courierEnd({ why }: { why: EndReason }, now: number): CourierEnd {
  switch (why.kind) {
    case 'idle':
      return { resumeAt: why.resumeAt, again: false, disabled: false };
    case 'changed':
      return { resumeAt: undefined, again: true, disabled: false };
    case 'stopped':
      return { resumeAt: now, again: false, disabled: false };
    case 'disabled':
      // Someone may have enabled it again in the meantime. Otherwise the next run ends at once.
      return { resumeAt: undefined, again: true, disabled: true };
    case 'lost':
      return { resumeAt: undefined, again: false, disabled: false };
    case 'failed':
      throw why.error;
  }
}
