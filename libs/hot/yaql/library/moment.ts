/**
 * Points in time and lengths of time, in whole microseconds. A moment keeps the offset that it was written with, and
 * its parts are in local time at that offset. Two moments are equal when they are the same instant.
 */
import { stated, why } from '../../evaluate/reason.ts';
import { fault } from '../fault.ts';

/** Microseconds in a second. */
export const second = 1_000_000n;
/** Microseconds in an hour. */
export const hour = 3600n * second;
/** Microseconds in a day. */
export const day = 24n * hour;

/** Python supports only the years 1 to 9999. */
const first = -62_135_596_800_000_000n;
const last = 253_402_300_799_999_999n;
const longest = 999_999_999n;

/** A date and a time of day. The month counts from 1. */
export interface Parts {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly microsecond: number;
}

/** A duration in microseconds. It never changes. */
export class TimeSpan {
  readonly micros: bigint;

  constructor(micros: bigint) {
    const days = micros / day - (micros % day < 0n ? 1n : 0n);
    if (days > longest || days < -longest) fault(why`The timespan is too long`);
    this.micros = micros;
  }

  /** Rounds to a whole microsecond, halves to the even one. */
  static of(micros: number): TimeSpan {
    if (!Number.isFinite(micros)) return fault(why`The timespan is too long`);
    return new TimeSpan(BigInt(halfEven(micros)));
  }

  /** Text as Python writes it: `1 day, 2:03:04.000005`. */
  toString(): string {
    let days = this.micros / day;
    if (this.micros % day < 0n) days -= 1n;
    const rest = this.micros - days * day;
    const [hours, minutes, seconds] = [rest / hour, (rest / (60n * second)) % 60n, (rest / second) % 60n];
    const fraction = rest % second;
    const clock = `${hours}:${two(minutes)}:${two(seconds)}${fraction > 0n ? `.${String(fraction).padStart(6, '0')}` : ''}`;
    return days === 0n ? clock : `${days} day${days === 1n || days === -1n ? '' : 's'}, ${clock}`;
  }
}

/** A date, a time of day and an offset. It never changes. */
export class Moment {
  /** Microseconds since 1970 in local time at the offset. */
  readonly wall: bigint;
  readonly offset: bigint;

  constructor(wall: bigint, offset: bigint) {
    if (wall < first || wall > last) fault(why`The date is outside the years 1 to 9999`);
    if (offset <= -day || offset >= day) fault(why`The offset of a date must be less than a day`);
    this.wall = wall;
    this.offset = offset;
  }

  static of(parts: Parts, offset: bigint): Moment {
    const { year, month, day: date, hour: hours, minute, second: seconds, microsecond } = parts;
    for (const [name, least, most] of [
      ['year', 1, 9999],
      ['month', 1, 12],
      ['day', 1, daysIn(year, month)],
      ['hour', 0, 23],
      ['minute', 0, 59],
      ['second', 0, 59],
      ['microsecond', 0, 999_999],
    ] as const) {
      if (parts[name] < least || parts[name] > most)
        fault(why`${stated(name)} must be in ${stated(least)}..${stated(most)}`);
    }
    const at = new Date(0);
    at.setUTCFullYear(year, month - 1, date);
    at.setUTCHours(hours, minute, seconds);
    return new Moment(BigInt(at.getTime()) * 1000n + BigInt(microsecond), offset);
  }

  get instant(): bigint {
    return this.wall - this.offset;
  }

  get parts(): Parts {
    const millis = this.wall / 1000n - (this.wall % 1000n < 0n ? 1n : 0n);
    const at = new Date(Number(millis));
    return {
      year: at.getUTCFullYear(),
      month: at.getUTCMonth() + 1,
      day: at.getUTCDate(),
      hour: at.getUTCHours(),
      minute: at.getUTCMinutes(),
      second: at.getUTCSeconds(),
      microsecond: at.getUTCMilliseconds() * 1000 + Number(this.wall - millis * 1000n),
    };
  }

  /** 0 is Monday. */
  get weekday(): number {
    const { year, month, day: date } = this.parts;
    return weekdayOf(year, month, date);
  }

  /** Text as Python writes it: `2015-09-29 00:00:00+00:00`. */
  toString(): string {
    const { year, month, day: date, hour: hours, minute, second: seconds, microsecond } = this.parts;
    const fraction = microsecond > 0 ? `.${String(microsecond).padStart(6, '0')}` : '';
    return `${String(year).padStart(4, '0')}-${two(month)}-${two(date)} ${two(hours)}:${two(minute)}:${two(seconds)}${fraction}${zoneText(this.offset, ':')}`;
  }
}

/** The number with at least two digits. */
export const two = (value: number | bigint): string => String(value).padStart(2, '0');

/** The offset as `+0100`, with `between` in the middle, and with seconds only where it has some. */
export function zoneText(offset: bigint, between: '' | ':'): string {
  const size = offset < 0n ? -offset : offset;
  const [seconds, micros] = [(size / second) % 60n, size % second];
  const more = `${seconds > 0n || micros > 0n ? between + two(seconds) : ''}${micros > 0n ? `.${String(micros).padStart(6, '0')}` : ''}`;
  return `${offset < 0n ? '-' : '+'}${two(size / hour)}${between}${two((size / (60n * second)) % 60n)}${more}`;
}

/** The days of a month, which counts from 1. */
export function daysIn(year: number, month: number): number {
  const at = new Date(0);
  at.setUTCFullYear(year, month, 0);
  return at.getUTCDate();
}

/** The day of the week: Monday is 0. */
export function weekdayOf(year: number, month: number, date: number): number {
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, date);
  return (at.getUTCDay() + 6) % 7;
}

function halfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
}
