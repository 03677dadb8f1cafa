/** A clock that moves while a test waits, so that no test waits for the seconds of a limit. */
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import { afterEach, beforeEach, vi } from 'vitest';
import { waiting } from '../testing.ts';

/** `performance` and `setImmediate` stay real: deadlines of tests and work in progress take the time that they take. */
const moved = ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const;

/** Like `setTimeout` of `node:timers/promises`, which the fake timers leave as it is. */
function movedSleep<T>(ms?: number, value?: T, { signal }: { signal?: AbortSignal } = {}): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      const parts = { name: 'AbortError', code: 'ABORT_ERR', cause: signal?.reason as unknown };
      reject(Object.assign(new Error('The operation was aborted'), parts));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

const sleepWith = (sleep: typeof movedSleep | typeof timersPromises.setTimeout): void => {
  Object.assign(timersPromises, { setTimeout: sleep });
  syncBuiltinESMExports();
};

/**
 * Lets every test of the file run by a clock of its own: `eventually` moves it, and the timers of this process, by `stepMs` between two reads. Otherwise
 * it goes as the clock of the machine does. Other processes and threads keep the clock of the machine.
 *
 * Call it before the hooks that start and stop the service under test, because the hook that is defined first stops last.
 */
export function useQuickClock({ stepMs = 100 }: { stepMs?: number } = {}): void {
  const { pause } = waiting;
  const real = setTimeout;
  const realSleep = timersPromises.setTimeout;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: [...moved], shouldAdvanceTime: true, advanceTimeDelta: 5 });
    sleepWith(movedSleep);
    waiting.pause = async () => {
      await vi.advanceTimersByTimeAsync(stepMs);
      // Work that a timer started goes on before the next step.
      await new Promise((resolve) => void real(resolve, 2));
    };
  });
  afterEach(() => {
    waiting.pause = pause;
    sleepWith(realSleep);
    vi.useRealTimers();
  });
}
