/** Times for people. */

/** `0.4s`, `12.3s`, `2m05s`, `3h20m`. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
  return `${Math.floor(whole / 3600)}h${two(Math.floor((whole % 3600) / 60))}m`;
}

/** How long ago, or `-` for never. */
export function formatAge(time: string | null | undefined, now: number): string {
  const then = time ? Date.parse(time) : Number.NaN;
  return Number.isNaN(then) ? '-' : formatDuration(now - then);
}

/** The time of day in the reader's zone. */
export function formatClock(time: string): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? time : date.toTimeString().slice(0, 8);
}
