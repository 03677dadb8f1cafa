/** Times for people. */

/** `0.4s`, `12.3s`, `2m05s`, `3h20m`, `12d04h`. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
  const hours = Math.floor(whole / 3600);
  if (hours < 48) return `${hours}h${two(Math.floor((whole % 3600) / 60))}m`;
  return `${Math.floor(hours / 24)}d${two(hours % 24)}h`;
}

/** How long ago, in whole seconds, or `-` for never. */
export function formatAge(time: string | null | undefined, now: number): string {
  const then = time ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(then)) return '-';
  const seconds = Math.floor(Math.max(0, now - then) / 1000);
  return seconds < 60 ? `${seconds}s` : formatDuration(seconds * 1000);
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;

/** The time of day in the reader's zone, after the date when it is not today: `14:11:52`, `3 Nov 14:11:52`. */
export function formatClock(time: string, now = Date.now()): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  const clock = date.toTimeString().slice(0, 8);
  if (date.toDateString() === new Date(now).toDateString()) return clock;
  const year = date.getFullYear() === new Date(now).getFullYear() ? '' : ` ${date.getFullYear()}`;
  return `${date.getDate()} ${months[date.getMonth()]}${year} ${clock}`;
}
