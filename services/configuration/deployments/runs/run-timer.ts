/**
 * The time limits of runs: one timer for each host and process, at the earliest limit that the process knows.
 *
 * L1 A timer only has the runs of its host looked at: the documents say which of them are over, and when the next one
 *    is. So a run that begins while an earlier timer is set writes nothing, and a run that ends cancels nothing.
 * L2 Each process has its own timer, because `setAtLatest` knows only the times that this process has set. The timer of
 *    another process may have fired early by the difference of two clocks, so its host is looked at once more.
 */
import type { HostRequest } from '@anneal/contracts/calls/configuration.ts';
import type { Timer, Timers } from '@anneal/store/timers.ts';
import type { MessageDocument } from '../../collections.ts';
import { answerDueAt, queueMs } from '../../configs/time-limit.ts';

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

/** Undefined for a message that a user posted: no run waits for it. */
export function requestIn(message: MessageDocument): HostRequest | undefined {
  const request = message.body as unknown as HostRequest;
  return request.id === message.id ? request : undefined;
}

/** When a request that its host could take since `from` fails because the host does not take it. */
export const waitDueAt = (
  { queueTimeoutMs }: RunTimerContext,
  request: Pick<HostRequest, 'deadline' | 'options'>,
  from: number,
): number => Math.min(Date.parse(request.deadline), from + queueMs(request.options, queueTimeoutMs));

/** The limit of a request that its host took. Undefined for one that it did not take, and a message of a user. */
export function takenDueAt(message: MessageDocument): number | undefined {
  const request = requestIn(message);
  if (!request || message.taken_at === undefined) return undefined;
  return answerDueAt(request, message.taken_at, Date.parse(request.deadline));
}
