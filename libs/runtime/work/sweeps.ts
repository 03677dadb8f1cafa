/** Work that a process repeats at an interval, such as the removal of what is too old. */
import type { WorkPermission } from '@anneal/store/permission.ts';

/**
 * Repeats a sweep until it is stopped, one at a time, while this process may work. The timer does not keep the process
 * alive.
 * @param sweep may throw: then `onError` gets the error, and the next sweep comes at its time
 * @returns `stop`, which resolves when no sweep runs any more
 */
export function sweepEvery(
  everyMs: number,
  {
    permission,
    sweep,
    onError,
  }: { permission: WorkPermission; sweep: () => Promise<unknown>; onError: (error: unknown) => void },
): { stop(): Promise<void> } {
  let running: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    if (permission.isHeld) running = running.then(sweep).catch(onError);
  }, everyMs).unref();
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
