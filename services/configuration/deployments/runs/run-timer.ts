/**
 * The time limits of runs: one timer for each host and process, at the earliest limit that the process knows.
 *
 * L1 A timer only has the runs of its host looked at: the documents say which of them are over, and when the next one
 *    is. So a run that begins while an earlier timer is set writes nothing, and a run that ends cancels nothing.
 * L2 Each process has its own timer, because `setAtLatest` knows only the times that this process has set. The timer of
 *    another process may have fired early by the difference of two clocks, so its host is looked at once more.
 */
import type { Timer, Timers } from '@anneal/store/timers.ts';

export interface RunTimerContext {
  readonly timers: () => Timers;
  readonly queueTimeoutMs: number;
  /** An id of this process. */
  readonly processId: string;
}

/** L1 */
export const runsTimer = ({ processId }: RunTimerContext, host: string, dueAt: number): Timer => ({
  id: `runs:${host}:${processId}`,
  dueAt,
  data: { host, process: processId },
});

/** Has the runs of a host looked at by this time. Durable on return. */
export const lookBy = (context: RunTimerContext, host: string, dueAt: number): Promise<void> =>
  context.timers().setAtLatest([runsTimer(context, host, dueAt)]);
