/** Restarts the lab while the server runs. Its death is a power cut, from which its machines recover. */
import { setTimeout as delay } from 'node:timers/promises';
import type { RunningLab } from './lab.ts';
import { isRunning } from '@anneal/runtime/service/folder-lock.ts';

const lookMs = 500;

/**
 * Starts the lab, and restarts it whenever it dies. Resolves when `signal` is aborted. A failed start is retried with
 * growing pauses, and each failure is passed to `onTrouble`, so that a suspended or slow lab never ends the server.
 * A lab that an operator started by hand is left to the operator.
 */
export async function keepLab(parameters: {
  start: () => Promise<RunningLab>;
  /** Called for the first start (`isRestart` false) and each later one. The next check waits for its promise. */
  onStart: (lab: RunningLab, isRestart: boolean) => Promise<void>;
  onTrouble: (error: unknown) => void;
  signal: AbortSignal;
}): Promise<void> {
  const { start, onStart, onTrouble, signal } = parameters;
  let lab: RunningLab | undefined;
  let pauseMs = 0;
  while (!signal.aborted) {
    await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    if (lab && (!lab.isOurs || isRunning(lab.pid))) continue;
    try {
      const isRestart = lab !== undefined;
      const started = await start();
      await onStart(started, isRestart);
      lab = started;
      pauseMs = lookMs;
    } catch (error) {
      if (!signal.aborted) onTrouble(error);
      pauseMs = Math.min(Math.max(lookMs, pauseMs) * 2, 30_000);
    }
  }
}
