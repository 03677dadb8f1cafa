/** Watches over the lab while the server runs: its death is a power cut, which its machines come back from. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Lab } from './lab.ts';
import { isRunning } from './lock.ts';

const lookMs = 500;

/**
 * Resolves when `signal` is aborted. A lab that cannot be started again is tried again with growing pauses, each failure
 * told to `onTrouble`.
 */
export async function keepLab(parameters: {
  lab: Lab;
  start: () => Promise<Lab>;
  onRestart: (lab: Lab) => void;
  onTrouble: (error: unknown) => void;
  signal: AbortSignal;
}): Promise<void> {
  const { start, onRestart, onTrouble, signal } = parameters;
  let { lab } = parameters;
  let pauseMs = lookMs;
  while (!signal.aborted) {
    await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted || isRunning(lab.pid)) continue;
    try {
      lab = await start();
      onRestart(lab);
      pauseMs = lookMs;
    } catch (error) {
      if (!signal.aborted) onTrouble(error);
      pauseMs = Math.min(pauseMs * 2, 30_000);
    }
  }
}
