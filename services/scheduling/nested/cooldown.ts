/**
 * How long a group is left alone after it got another size: as in Heat, that begins when it has that size, not when it is
 * asked for it. Until then nothing scales it anyway.
 */
import type { StackDocument } from '@anneal/convergence/documents.ts';

export interface Cooldown {
  /** What is left of an earlier one. */
  readonly until: string | null;
  /** Of the one that begins when the group's stack is complete. */
  readonly seconds: number;
}

export const noCooldown: Cooldown = { until: null, seconds: 0 };

/** Until when nothing scales the group; null is that anything may. */
export function cooldownEnd(
  { until, seconds }: Cooldown,
  { completed_at: complete }: Pick<StackDocument, 'completed_at'>,
): string | null {
  if (seconds <= 0 || complete === null) return until;
  const own = new Date(Date.parse(complete) + seconds * 1000).toISOString();
  return until !== null && until > own ? until : own;
}

/** Of a group that is updated and keeps its size: one that has begun goes on, one that has not begins later. */
export const keptCooldown = (cooldown: Cooldown, stack: Pick<StackDocument, 'completed_at' | 'status'>): Cooldown =>
  stack.status === 'COMPLETE' ? { until: cooldownEnd(cooldown, stack), seconds: 0 } : cooldown;
