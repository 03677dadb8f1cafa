/** Times: how long ago, with the exact time on hover. One clock serves the whole page. */
import { formatAge, formatClock, formatDuration } from '@anneal/client/text/time.ts';
import { useSyncExternalStore } from 'react';

let now = Date.now();
const listeners = new Set<() => void>();
setInterval(() => {
  now = Date.now();
  if (document.visibilityState === 'visible') for (const each of listeners) each();
}, 1000);

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The time in milliseconds, which changes every second. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now);

/** @param none the word for a time that has not come */
export function Age({ since, none = '–' }: { since: string | null | undefined; none?: string }) {
  const at = useNow();
  if (!since) return <span className="dim">{none}</span>;
  return (
    <time dateTime={since} title={new Date(since).toLocaleString()}>
      {formatAge(since, Math.max(at, Date.parse(since)))}
    </time>
  );
}

/** A time that comes, such as "in 40 s". */
export function Until({ time }: { time: string }) {
  const left = Date.parse(time) - useNow();
  return (
    <time dateTime={time} title={new Date(time).toLocaleString()}>
      {left <= 1000 ? 'now' : `in ${formatDuration(left)}`}
    </time>
  );
}

/** The time of day, with the date when it is not today, in the column of a log. */
export function Clock({ time }: { time: string }) {
  return (
    <time className="mono dim" dateTime={time} title={new Date(time).toLocaleString()}>
      {formatClock(time)}
    </time>
  );
}
