/** Retries without a limit. The server may be away for hours, and the agent loses nothing meanwhile. */
import pRetry from 'p-retry';
import type { Log } from './log.ts';
import { RefusedError } from './connection.ts';

export interface PatienceOptions {
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly what: string;
  /** Default: retry every error except a refusal that another attempt cannot change. */
  readonly worthwhile?: (error: unknown) => boolean;
  readonly slowestMs?: number;
}

/** Refusals that may pass: an operator renews a token or creates a queue, or an overloaded server recovers. */
const mayPass = new Set([401, 403, 404, 408, 425, 429]);

export const mayYetSucceed = (error: unknown): boolean =>
  !(error instanceof RefusedError) || error.status >= 500 || mayPass.has(error.status);

export function untilDone<T>(attempt: () => Promise<T>, options: PatienceOptions): Promise<T> {
  const { signal, log, what, worthwhile = mayYetSucceed, slowestMs = 15_000 } = options;
  return pRetry(attempt, {
    retries: Number.POSITIVE_INFINITY,
    factor: 2,
    minTimeout: 200,
    maxTimeout: slowestMs,
    randomize: true,
    signal,
    shouldRetry: ({ error }) => worthwhile(error),
    onFailedAttempt: ({ error, attemptNumber }) => {
      // Log the first failures of an outage, then one in sixteen: visible, but too few to fill a disk.
      if (attemptNumber <= 3 || attemptNumber % 16 === 0) {
        log.warn({ err: error, attempt: attemptNumber }, `${what} failed; retrying`);
      }
    },
  });
}
