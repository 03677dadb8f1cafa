/**
 * The instants of a schedule in a time zone. Pure.
 *
 * A schedule at fixed hours comes once for each of its local times. When the clock skips the time, it comes at the next
 * instant, and when the clock is set back over it, it comes the first time only. So a daily schedule comes once each day.
 * A date that a zone left out, as Apia did in 2011, is no day. A schedule with `*` or a step in its hours goes on with each
 * hour that passes: it comes at each instant whose local time fits.
 */
import type { Cron } from '@anneal/contracts/readers/cron.ts';
import { Zone } from './zone.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Longer than any difference of two offsets of a zone. */
const nearMs = 36 * hourMs;
/** A 29 February that is a certain weekday comes after 40 years at the latest, as around the year 2100. */
const mostDays = 41 * 366;

/** The first time after `from`, in milliseconds. Undefined without one. @throws RangeError for an unknown zone */
export function nextCronTime(cron: Cron, zone: string, from: number): number | undefined {
  const clock = new Zone(zone);
  return cron.isEveryHour ? nextOfEveryHour(cron, clock, from) : nextOfFixedHours(cron, clock, from);
}

/** The milliseconds of its times of a day, in order. */
const timesOf = ({ hours, minutes }: Cron): number[] =>
  [...hours]
    .flatMap((hour) => Array.from(minutes, (minute) => hour * hourMs + minute * minuteMs))
    .toSorted((a, b) => a - b);

/** The first day of the schedule from a day on. Days count from 1970 in local time. */
function nextDay(cron: Cron, from: number): number | undefined {
  for (let day = from; day < from + mostDays; day += 1) {
    const date = new Date(day * dayMs);
    if (cron.months.has(date.getUTCMonth() + 1)) {
      const [byDay, byWeekday] = [cron.days.has(date.getUTCDate()), cron.weekdays.has(date.getUTCDay())];
      if (cron.limitsDays && cron.limitsWeekdays ? byDay || byWeekday : byDay && byWeekday) return day;
    }
  }
  return undefined;
}

function nextOfFixedHours(cron: Cron, clock: Zone, from: number): number | undefined {
  const times = timesOf(cron);
  // A time of the day before may come after midnight, when the clock skips it.
  let day = nextDay(cron, Math.floor(clock.localTime(from) / dayMs) - 1);
  while (day !== undefined) {
    const midnight = day * dayMs;
    const exists = clock.localTime(clock.firstAt(midnight)) < midnight + dayMs;
    const at = exists ? firstAfter(times, from, (time) => clock.firstAt(midnight + time)) : undefined;
    if (at !== undefined) return at;
    day = nextDay(cron, day + 1);
  }
  return undefined;
}

/** The first instant after `from`, of times whose instants ascend. */
function firstAfter(times: readonly number[], from: number, instantOf: (time: number) => number): number | undefined {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (instantOf(times[middle] ?? 0) > from) high = middle;
    else low = middle + 1;
  }
  const time = times[low];
  return time === undefined ? undefined : instantOf(time);
}

function nextOfEveryHour(cron: Cron, clock: Zone, from: number): number | undefined {
  const times = timesOf(cron);
  let start = (Math.floor(from / minuteMs) + 1) * minuteMs;
  for (;;) {
    const offset = clock.offset(start);
    const local = nextLocalTime(cron, times, start + offset);
    if (local === undefined) return undefined;
    const at = local - offset;
    const near = Math.min(at, start + nearMs);
    const change = clock.changeWithin(start, near);
    if (change !== undefined) start = change;
    else if (at <= near) return at;
    // No local time of the schedule is between, whatever the clock does there.
    else start = Math.max(near, at - nearMs);
  }
}

/** The first local time of the schedule, not before `from`, on a clock that never changes. */
function nextLocalTime(cron: Cron, times: readonly number[], from: number): number | undefined {
  const today = Math.floor(from / dayMs);
  const day = nextDay(cron, today);
  if (day === undefined) return undefined;
  const time = day > today ? times[0] : times.find((each) => today * dayMs + each >= from);
  if (time !== undefined) return day * dayMs + time;
  const next = nextDay(cron, today + 1);
  return next === undefined ? undefined : next * dayMs + (times[0] ?? 0);
}
