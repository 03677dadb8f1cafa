/** Time windows of alarms: a cron expression for the start, a duration and a time zone. Pure. */
import { parseCron } from '@anneal/contracts/readers/cron.ts';
import { nextCronTime } from '@anneal/runtime/time/cron.ts';

export interface TimeWindow {
  readonly name: string;
  readonly start: string;
  /** In seconds. */
  readonly duration: number;
  readonly timezone?: string | null | undefined;
}

/** A longer window is open whenever it has begun at all within this time. */
const mostMs = 366 * 86_400_000;

/** Whether the window has a start within its duration before now. */
export function isOpen({ start, duration, timezone }: TimeWindow, now: number): boolean {
  const cron = parseCron(start);
  const earliest = now - Math.min(duration * 1000, mostMs);
  const begins = cron && nextCronTime(cron, timezone || 'UTC', earliest - 1);
  return begins !== undefined && begins <= now;
}

/** Whether an alarm with these windows is evaluated now: in any of them, or always without one. */
export const isWithin = (windows: readonly TimeWindow[], now: number): boolean =>
  windows.length === 0 || windows.some((each) => isOpen(each, now));
