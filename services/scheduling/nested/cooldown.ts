/** Until when a group that scales is left alone; null is not at all. */
export function cooldownUntil(now: Date, seconds: number): string | null {
  return seconds > 0 ? new Date(now.getTime() + seconds * 1000).toISOString() : null;
}
