/** A clock that moves while a test waits, so that no test waits for the seconds of a limit. */
import { afterEach, beforeEach, vi } from 'vitest';
import { waiting } from '../testing.ts';

/** `performance` and `setImmediate` stay real: deadlines of tests and work in progress take the time that they take. */
const moved = ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const;

/**
 * Lets every test of the file run by a clock of its own: `eventually` moves it, and the timers of this process, by `stepMs` between two reads. Otherwise
 * it goes as the clock of the machine does. Other processes, and `node:timers/promises`, keep the clock of the machine.
 *
 * Call it before the hooks that start and stop the service under test, because the hook that is defined first stops last.
 */
export function useQuickClock({ stepMs = 100 }: { stepMs?: number } = {}): void {
  const { pause } = waiting;
  const real = setTimeout;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: [...moved], shouldAdvanceTime: true, advanceTimeDelta: 5 });
    waiting.pause = async () => {
      await vi.advanceTimersByTimeAsync(stepMs);
      // Work that a timer started goes on before the next step.
      await new Promise((resolve) => void real(resolve, 2));
    };
  });
  afterEach(() => {
    waiting.pause = pause;
    vi.useRealTimers();
  });
}
