/** Watches over the lab while the server runs: its death is a power cut, which its machines come back from. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Lab } from './lab.ts';
import { isRunning } from '@anneal/runtime/folder-lock.ts';

const lookMs = 500;

/**
 * Starts the lab, and starts it again whenever it dies. Resolves when `signal` is aborted. A lab that does not start is tried
 * again with growing pauses, and each failure goes to `onTrouble`: a suspended or slow lab never ends the server.
 * A lab that an operator started by hand is left to the operator.
 */
export async function keepLab(parameters: {
  start: () => Promise<Lab>;
  /** Called for the first start (`isRestart` false) and each later one; the next look waits for its promise. */
  onStart: (lab: Lab, isRestart: boolean) => Promise<void>;
  onTrouble: (error: unknown) => void;
  signal: AbortSignal;
}): Promise<void> {
  const { start, onStart, onTrouble, signal } = parameters;
  let lab: Lab | undefined;
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
