/**
 * Opens a dependency of a process, and waits while it is unavailable, because a broker or a database may start later
 * than its services.
 *
 * D1 Only Unavailable is waited for. A wrong URL or wrong credentials are an error at once.
 * D2 One line in the log says what the process waits for and why; one more reports that it is available.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { toFailure, hasCode } from '@anneal/contracts/errors.ts';

const firstWaitMs = 250;
const longestWaitMs = 2_000;

/** A database or broker that a process waits for. */
export interface AwaitedDependency<T> {
  /** Its name in the log and in /health/ready, e.g. `the broker`. */
  readonly what: string;
  readonly open: () => Promise<T>;
  /** Receives the reason why the process is not ready, for /health/ready. */
  readonly onWaiting: (reason: string) => void;
  readonly log: { warn(facts: object, text: string): void; info(facts: object, text: string): void };
  readonly signal?: AbortSignal | undefined;
}

/** @throws AnnealError of any kind but Unavailable; the reason of the signal. */
export async function awaitDependency<T>(parameters: AwaitedDependency<T>): Promise<T> {
  const { what, open, onWaiting, log, signal } = parameters;
  const since = performance.now();
  let waits = false;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(longestWaitMs, waitMs * 2)) {
    signal?.throwIfAborted();
    try {
      const opened = await open();
      if (waits)
        log.info({ seconds: Math.round((performance.now() - since) / 1000) }, `${what} is available; starting`);
      return opened;
    } catch (error) {
      if (!hasCode(error, 'Unavailable')) throw error;
      const reason = toFailure(error).message;
      onWaiting(`waiting for ${what}: ${reason}`);
      if (!waits) log.warn({}, `waiting for ${what}; not ready until it answers: ${reason}`);
      waits = true;
      await delay(waitMs, undefined, { ...(signal && { signal }) }).catch(() => undefined);
    }
  }
}
