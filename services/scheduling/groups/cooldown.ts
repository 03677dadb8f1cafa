/**
 * The time after a change of size in which no policy scales a group. As in Heat, it begins when the group has the new
 * size, not when the size is requested. Until then the group is busy, so that no policy scales it anyway.
 */
import { mostTimeoutMinutes } from '@anneal/contracts/calls/stacks.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';

export interface Cooldown {
  /** The end of an earlier cooldown. */
  readonly until: string | null;
  /** The length of the cooldown that begins when the group's stack is complete. */
  readonly seconds: number;
  /** `in`: it holds back only what makes the group smaller. Absent: every change of size. */
  readonly blocks?: 'in';
}

export const noCooldown: Cooldown = { until: null, seconds: 0 };

/** The end of the cooldown; null when there is none. */
export function cooldownEnd(
  { until, seconds }: Cooldown,
  { completed_at: complete }: Pick<StackDocument, 'completed_at'>,
): string | null {
  if (seconds <= 0 || complete === null) return until;
  const length = Math.min(seconds, mostTimeoutMinutes * 60);
  const own = new Date(Date.parse(complete) + length * 1000).toISOString();
  return until !== null && until > own ? until : own;
}

/** The cooldown of a group whose update keeps its size: a running cooldown continues, any other begins later. */
export const keptCooldown = (cooldown: Cooldown, stack: Pick<StackDocument, 'completed_at' | 'status'>): Cooldown =>
  stack.status === 'COMPLETE' ? { ...cooldown, until: cooldownEnd(cooldown, stack), seconds: 0 } : cooldown;
