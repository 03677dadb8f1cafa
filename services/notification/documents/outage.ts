/**
 * Decides when a listener that is away is attempted again. Pure.
 *
 * An outage begins with an attempt that says that the listener as a whole fails: no answer, 429 or 5xx. While it lasts,
 * the courier sends one request at a time, at the times decided here. The first success ends it.
 */

export interface Outage {
  /** Start of its first failed attempt, in milliseconds since the epoch. */
  readonly since: number;
  /** Time of the latest failed attempt that counted. */
  readonly at: number;
  readonly tries: number;
  /** Time of the next attempt. */
  readonly due_at: number;
}

/** The longest pause, so that a listener that is back receives its events soon. `Retry-After` can be longer. */
export const longestPauseMs = 60_000;

export interface FailedAttempt {
  readonly began: number;
  readonly now: number;
  /** Seconds from `Retry-After`. */
  readonly retryAfter: number | null;
  readonly retrySeconds: readonly number[];
  /** From 0 to 1. */
  readonly random: number;
  /** True when the event of another subject can be attempted. */
  readonly hasOther: boolean;
}

/**
 * The outage after a failed attempt, or 'ended' when the listener was away for as long as all retries last.
 * Attempts that began before the latest counted failure add nothing, because they failed for the same reason.
 */
export function afterFailure(before: Outage | undefined, failed: FailedAttempt): Outage | 'ended' {
  const { began, now, retryAfter, retrySeconds, random, hasOther } = failed;
  const asked = Math.min(retryAfter ?? 0, 86_400) * 1000;
  if (before && began <= before.at) return { ...before, due_at: Math.max(before.due_at, now + asked) };
  const tries = (before?.tries ?? 0) + 1;
  const since = before?.since ?? began;
  const total = retrySeconds.reduce((sum, each) => sum + each, 0) * 1000;
  if (tries > retrySeconds.length && now - since >= total) return 'ended';
  const wait = Math.min((retrySeconds[tries - 1] ?? retrySeconds.at(-1) ?? 0) * 1000, longestPauseMs);
  // The first failure may be the fault of its event, so the event of another subject is attempted at once.
  const pause = tries === 1 && hasOther ? 0 : wait * (0.8 + 0.4 * random);
  return { since, at: now, tries, due_at: now + Math.round(Math.max(pause, asked)) };
}
