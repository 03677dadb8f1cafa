/** Expressions of cron, in a time zone. Pure. */
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const named: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};
const minuteMs = 60_000;
/** The times of an expression of cron. */
export interface Cron {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** With both, either is enough, as in cron. */
  readonly limitsDays: boolean;
  readonly limitsWeekdays: boolean;
}

function valuesOf(field: string, [low, high]: readonly [number, number], names: readonly string[] = []): Set<number> {
  const number = (text: string): number => {
    const at = names.indexOf(text);
    return at >= 0 ? at + low : Number(text);
  };
  return new Set(
    field.split(',').flatMap((part) => {
      const [range = '*', step] = part.split('/');
      const [from = '*', to] = range.split('-');
      const isAny = from === '*' || from === '?';
      const first = isAny ? low : number(from);
      const last = isAny ? high : to === undefined ? (step === undefined ? first : high) : number(to);
      const values: number[] = [];
      for (let value = first; value <= last; value += Number(step ?? 1)) values.push(value);
      return values;
    }),
  );
}

/** Undefined for an expression that is wrong, or has an `L` or `#`, which are not supported. */
export function parseCron(expression: string): Cron | undefined {
  const text = expression.trim().toLowerCase();
  const fields = (named[text] ?? text).split(/\s+/);
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields;
  if (fields.length < 5 || fields.length > 6 || /[l#]/.test(day + weekday)) return undefined;
  const parsed = {
    minutes: valuesOf(minute, [0, 59]),
    hours: valuesOf(hour, [0, 23]),
    days: valuesOf(day, [1, 31]),
    months: valuesOf(month, [1, 12], months),
    weekdays: new Set([...valuesOf(weekday, [0, 7], days)].map((each) => each % 7)),
  };
  if (Object.values(parsed).some((values) => values.size === 0 || [...values].some(Number.isNaN))) return undefined;
  return { ...parsed, limitsDays: !/^[*?]/.test(day), limitsWeekdays: !/^[*?]/.test(weekday) };
}

interface LocalTime {
  readonly minute: number;
  readonly hour: number;
  readonly day: number;
  readonly month: number;
  readonly weekday: number;
}

/** The local time in a zone, for whole minutes of UTC. Zones change by whole minutes. */
function localTimeIn(timezone: string): (at: number) => LocalTime {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    month: 'numeric',
    day: 'numeric',
    weekday: 'short',
    hour: 'numeric',
    minute: 'numeric',
  });
  return (at) => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
    return {
      minute: Number(parts['minute']),
      hour: Number(parts['hour']),
      day: Number(parts['day']),
      month: Number(parts['month']),
      weekday: days.indexOf((parts['weekday'] ?? '').toLowerCase()),
    };
  };
}

const isDayOf = (cron: Cron, { day, month, weekday }: LocalTime): boolean => {
  if (!cron.months.has(month)) return false;
  const [byDay, byWeekday] = [cron.days.has(day), cron.weekdays.has(weekday)];
  return cron.limitsDays && cron.limitsWeekdays ? byDay || byWeekday : byDay && byWeekday;
};

const dayMs = 86_400_000;

/** True when no zone has a day of the expression while this day lasts in UTC. It is cheap, unlike the time of a zone. */
function isFarFrom(cron: Cron, utcDay: number): boolean {
  return ![utcDay - 1, utcDay, utcDay + 1].some((number) => {
    const date = new Date(number * dayMs);
    const [day, month, weekday] = [date.getUTCDate(), date.getUTCMonth() + 1, date.getUTCDay()];
    return isDayOf(cron, { minute: 0, hour: 0, day, month, weekday });
  });
}

/**
 * The last time up to `from`, in milliseconds, and not before `earliest`. Undefined without one. A local time that the
 * change of a clock skips does not come that day.
 */
export function lastCronTime(cron: Cron, zone: string, { from, earliest }: { from: number; earliest: number }) {
  const localTime = localTimeIn(zone);
  let at = Math.floor(from / minuteMs) * minuteMs;
  while (at >= earliest) {
    const utcDay = Math.floor(at / dayMs);
    if (isFarFrom(cron, utcDay)) {
      at = utcDay * dayMs - minuteMs;
      continue;
    }
    const local = localTime(at);
    if (!isDayOf(cron, local)) {
      // Towards midnight, but an hour less, because a day may have 23 hours.
      at -= Math.max(1, local.hour * 60 + local.minute - 60) * minuteMs;
    } else if (!cron.hours.has(local.hour)) {
      at -= (local.minute + 1) * minuteMs;
    } else if (cron.minutes.has(local.minute)) {
      return at;
    } else {
      at -= minuteMs;
    }
  }
  return undefined;
}

/** The first time after `from`, in milliseconds, within ten years. Undefined without one. */
export function nextCronTime(cron: Cron, zone: string, from: number): number | undefined {
  const localTime = localTimeIn(zone);
  const latest = from + 10 * 366 * dayMs;
  let at = (Math.floor(from / minuteMs) + 1) * minuteMs;
  while (at <= latest) {
    const utcDay = Math.floor(at / dayMs);
    if (isFarFrom(cron, utcDay)) {
      at = (utcDay + 1) * dayMs;
      continue;
    }
    const local = localTime(at);
    if (!isDayOf(cron, local)) {
      // Towards midnight, but an hour less, because a day may have 23 hours.
      at += Math.max(1, 24 * 60 - local.hour * 60 - local.minute - 60) * minuteMs;
    } else if (!cron.hours.has(local.hour)) {
      at += (60 - local.minute) * minuteMs;
    } else if (cron.minutes.has(local.minute)) {
      return at;
    } else {
      at += minuteMs;
    }
  }
  return undefined;
}
