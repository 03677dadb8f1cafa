/**
 * Functions on moments and lengths of time. Results that change between evaluations are refused: a plan is a pure
 * function.
 */
import { stated, why } from '../../evaluate/reason.ts';
import type { FunctionDefinition } from '../call.ts';
import { define, numeric, text, whole } from '../define.ts';
import { fault } from '../fault.ts';
import { day, hour, Moment, type Parts, second, TimeSpan } from './moment.ts';
import { formatMoment, guessMoment, readMoment } from './moment-text.ts';
import type { Value } from '../value.ts';

const moment = (value: Value | undefined): Moment => value as Moment;
const span = (value: Value | undefined): TimeSpan => value as TimeSpan;
const offsetOf = (value: Value | undefined): bigint => (value instanceof TimeSpan ? value.micros : 0n);
const whole64 = (value: Value | undefined): bigint => BigInt(value as bigint | boolean);

function fromTimestamp(timestamp: number | bigint, offset: bigint): Moment {
  const micros = typeof timestamp === 'bigint' ? timestamp * second : TimeSpan.of(timestamp * 1e6).micros;
  return new Moment(micros + offset, offset);
}

const scaled = (length: TimeSpan, by: number | bigint): TimeSpan =>
  typeof by === 'bigint' ? new TimeSpan(length.micros * by) : TimeSpan.of(Number(length.micros) * by);
const divided = (length: TimeSpan, by: number | bigint): TimeSpan =>
  Number(by) === 0 ? fault(why`division by zero`) : TimeSpan.of(Number(length.micros) / Number(by));

function replaced(from: Moment, values: readonly (Value | undefined)[]): Moment {
  const names = ['year', 'month', 'day', 'hour', 'minute', 'second', 'microsecond'] as const;
  const changes = names.flatMap((name, index): [keyof Parts, number][] => {
    const value = values[index];
    return value === null || value === undefined ? [] : [[name, whole(value)]];
  });
  const offset = values[names.length];
  return Moment.of(
    { ...from.parts, ...Object.fromEntries(changes) },
    offset instanceof TimeSpan ? offset.micros : from.offset,
  );
}

const orders: Record<string, (a: bigint, b: bigint) => boolean> = {
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};
const comparisons = Object.entries(orders).flatMap(([symbol, holds]) => [
  define(`#operator_${symbol}`, 'function', 'dt1:moment, dt2:moment', ([a, b]) =>
    holds(moment(a).instant, moment(b).instant),
  ),
  define(`#operator_${symbol}`, 'function', 'ts1:span, ts2:span', ([a, b]) => holds(span(a).micros, span(b).micros)),
]);

const changing = (name: string, takes: string): FunctionDefinition =>
  define(name, 'function', takes, () =>
    fault(
      why`${stated(name)}() is refused: it would give another value at each evaluation; pass the value as a parameter`,
    ),
  );

/** The functions of this file. */
export const timeFunctions: FunctionDefinition[] = [
  define(
    'datetime',
    'function',
    'year:int, month:int, day:int, hour:int=0, minute:int=0, second:int=0, microsecond:int=0, offset:span=nothing',
    ([year, month, date, hours, minute, seconds, microsecond, offset]) =>
      Moment.of(
        {
          year: whole(year),
          month: whole(month),
          day: whole(date),
          hour: whole(hours),
          minute: whole(minute),
          second: whole(seconds),
          microsecond: whole(microsecond),
        },
        offsetOf(offset),
      ),
  ),
  define('datetime', 'function', 'timestamp:number, offset:span=nothing', ([timestamp, offset]) =>
    fromTimestamp(numeric(timestamp), offsetOf(offset)),
  ),
  define('datetime', 'function', 'string:string, format:string?=null', ([value, format]) =>
    typeof format === 'string' && format !== '' ? readMoment(text(value), format) : guessMoment(text(value)),
  ),
  define(
    'timespan',
    'function',
    'days:int=0, hours:int=0, minutes:int=0, seconds:int=0, milliseconds:int=0, microseconds:int=0',
    ([days, hours, minutes, seconds, millis, micros]) =>
      new TimeSpan(
        whole64(days) * day +
          whole64(hours) * hour +
          whole64(minutes) * 60n * second +
          whole64(seconds) * second +
          whole64(millis) * 1000n +
          whole64(micros),
      ),
  ),
  define('utctz', 'function', '', () => new TimeSpan(0n)),
  // The local time zone is UTC on every machine.
  define('localtz', 'function', '', () => new TimeSpan(0n)),
  changing('now', 'offset:span=nothing'),
  changing('random', ''),
  changing('random', 'from:int, to:int'),
  define('isDatetime', 'function', 'value:any', ([value]) => value instanceof Moment),
  define('isTimespan', 'function', 'value:any', ([value]) => value instanceof TimeSpan),
  define('format', 'method', 'dt:moment, format:string', ([at, format]) => formatMoment(moment(at), text(format))),
  define(
    'replace',
    'method',
    'dt:moment, year:int?=null, month:int?=null, day:int?=null, hour:int?=null, minute:int?=null, second:int?=null, microsecond:int?=null, offset:span?=null',
    ([at, ...changes]) => replaced(moment(at), changes),
  ),
  define('#operator_+', 'function', 'dt:moment, ts:span', ([a, b]) => moved(moment(a), span(b).micros)),
  define('#operator_+', 'function', 'ts:span, dt:moment', ([a, b]) => moved(moment(b), span(a).micros)),
  define('#operator_+', 'function', 'ts1:span, ts2:span', ([a, b]) => new TimeSpan(span(a).micros + span(b).micros)),
  define('#operator_-', 'function', 'dt:moment, ts:span', ([a, b]) => moved(moment(a), -span(b).micros)),
  define(
    '#operator_-',
    'function',
    'dt1:moment, dt2:moment',
    ([a, b]) => new TimeSpan(moment(a).instant - moment(b).instant),
  ),
  define('#operator_-', 'function', 'ts1:span, ts2:span', ([a, b]) => new TimeSpan(span(a).micros - span(b).micros)),
  define('#operator_*', 'function', 'ts:span, n:number', ([a, n]) => scaled(span(a), numeric(n))),
  define('#operator_*', 'function', 'n:number, ts:span', ([n, a]) => scaled(span(a), numeric(n))),
  define('#operator_/', 'function', 'ts1:span, ts2:span', ([a, b]) =>
    span(b).micros === 0n ? fault(why`float division by zero`) : Number(span(a).micros) / Number(span(b).micros),
  ),
  define('#operator_/', 'function', 'ts:span, n:number', ([a, n]) => divided(span(a), numeric(n))),
  define('#unary_-', 'function', 'ts:span', ([a]) => new TimeSpan(-span(a).micros)),
  define('#unary_+', 'function', 'ts:span', ([a = null]) => a),
  ...comparisons,
];

const moved = (at: Moment, by: bigint): Moment => new Moment(at.wall + by, at.offset);

const lengths: Readonly<Record<string, bigint>> = {
  milliseconds: 1000n,
  seconds: second,
  minutes: 60n * second,
  hours: hour,
  days: day,
};

/** Reads `$.year`, `$.hours`; undefined when there is no such part. */
export function partOf(value: Moment | TimeSpan, name: string): Value | undefined {
  if (value instanceof TimeSpan) {
    if (name === 'microseconds') return value.micros;
    const unit = Object.hasOwn(lengths, name) ? lengths[name] : undefined;
    return unit === undefined ? undefined : Number(value.micros) / Number(unit);
  }
  const parts = value.parts;
  switch (name) {
    case 'year':
    case 'month':
    case 'day':
    case 'hour':
    case 'minute':
    case 'second':
    case 'microsecond':
      return BigInt(parts[name]);
    case 'weekday':
      return BigInt(value.weekday);
    case 'offset':
      return new TimeSpan(value.offset);
    case 'date':
      return Moment.of({ ...parts, hour: 0, minute: 0, second: 0, microsecond: 0 }, value.offset);
    case 'time':
      return new TimeSpan(((value.wall % day) + day) % day);
    case 'utc':
      return moved(value, -value.offset);
    // yaql subtracts the offset twice: in `utc`, and in the subtraction.
    case 'timestamp':
      return Number(value.wall - 2n * value.offset) / 1e6;
    default:
      return undefined;
  }
}
