/** The single timer of a run. The run fails when it comes due, unless the host acts first. */
import type { HostRequest } from '@anneal/contracts/calls/configuration.ts';
import type { Timers } from '@anneal/store/timers.ts';
import type { MessageDocument } from '../../collections.ts';
import { answerDueAt, queueMs } from './time-limit.ts';

export interface RunTimerContext {
  readonly timers: () => Timers;
  readonly queueTimeoutMs: number;
}

export const deadlineTimer = (runId: string): string => `deadline:${runId}`;

export const timerOf = (runId: string, dueAt: number) => ({ id: deadlineTimer(runId), dueAt, data: { run: runId } });

/** Undefined for a message that a user posted: no run waits for it. */
export function requestIn(message: MessageDocument): HostRequest | undefined {
  const request = message.body as unknown as HostRequest;
  return request.id === message.id ? request : undefined;
}

/** When a request that its host can take now fails because the host does not take it. */
export const waitDueAt = (
  { queueTimeoutMs }: RunTimerContext,
  request: Pick<HostRequest, 'deadline' | 'options'>,
  now: number,
): number => Math.min(Date.parse(request.deadline), now + queueMs(request.options, queueTimeoutMs));

/** Starts the limit on waiting, because from now on the host can take the request. */
export async function limitWait(context: RunTimerContext, message: MessageDocument, now: number): Promise<void> {
  const request = requestIn(message);
  if (!request || message.taken_at !== undefined) return;
  await context.timers().set([timerOf(message.id, waitDueAt(context, request, now))]);
}

/** The time limit of a request that its host took. Empty for a message that a user posted. */
export function limitAnswer(message: MessageDocument): ReturnType<typeof timerOf>[] {
  const request = requestIn(message);
  if (!request || message.taken_at === undefined) return [];
  return [timerOf(message.id, answerDueAt(request, message.taken_at, Date.parse(request.deadline)))];
}
