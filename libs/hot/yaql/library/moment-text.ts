/** Converts moments to text and back: C's formats, and free-form dates. Names are English in every locale. */
import { why } from '../../evaluate/reason.ts';
import { fault } from '../fault.ts';
import { day, daysIn, hour, Moment, type Parts, second, two, weekdayOf, zoneText } from './moment.ts';

const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

const dayOfYear = ({ year, month, day: date }: Parts): number =>
  Array.from({ length: month - 1 }, (_, index) => daysIn(year, index + 1)).reduce((sum, days) => sum + days, date);

/** In ISO 8601 a week belongs to the year of its Thursday. */
function isoWeek(parts: Parts): { year: number; week: number } {
  const weekday = weekdayOf(parts.year, parts.month, parts.day);
  const week = Math.floor((dayOfYear(parts) - weekday + 9) / 7);
  const weeksIn = (year: number): number => (weekdayOf(year, 12, 31) === 3 || weekdayOf(year, 1, 1) === 3 ? 53 : 52);
  if (week < 1) return { year: parts.year - 1, week: weeksIn(parts.year - 1) };
  return week > weeksIn(parts.year) ? { year: parts.year + 1, week: 1 } : { year: parts.year, week };
}

const padded = (value: number, width: number, by = '0'): string => String(value).padStart(width, by);
/** Hours of a clock with twelve of them. */
const onDial = ({ hour: hours }: Parts): number => hours % 12 || 12;

/** Text of each directive of C's `strftime`. */
const directives: Readonly<Record<string, (parts: Parts, moment: Moment) => string>> = {
  Y: ({ year }) => String(year),
  m: ({ month }) => two(month),
  d: ({ day: date }) => two(date),
  H: ({ hour: hours }) => two(hours),
  I: (parts) => two(onDial(parts)),
  M: ({ minute }) => two(minute),
  S: ({ second: seconds }) => two(seconds),
  f: ({ microsecond }) => padded(microsecond, 6),
  y: ({ year }) => two(year % 100),
  C: ({ year }) => String(Math.floor(year / 100)),
  b: ({ month }) => months[month - 1]?.slice(0, 3) ?? '',
  h: ({ month }) => months[month - 1]?.slice(0, 3) ?? '',
  B: ({ month }) => months[month - 1] ?? '',
  a: (_, { weekday }) => weekdays[weekday]?.slice(0, 3) ?? '',
  A: (_, { weekday }) => weekdays[weekday] ?? '',
  p: ({ hour: hours }) => (hours < 12 ? 'AM' : 'PM'),
  P: ({ hour: hours }) => (hours < 12 ? 'am' : 'pm'),
  j: (parts) => padded(dayOfYear(parts), 3),
  w: (_, { weekday }) => String((weekday + 1) % 7),
  u: (_, { weekday }) => String(weekday + 1),
  U: (parts, { weekday }) => two(Math.floor((dayOfYear(parts) + 6 - ((weekday + 1) % 7)) / 7)),
  W: (parts, { weekday }) => two(Math.floor((dayOfYear(parts) + 6 - weekday) / 7)),
  V: (parts) => two(isoWeek(parts).week),
  G: (parts) => String(isoWeek(parts).year),
  g: (parts) => two(isoWeek(parts).year % 100),
  e: ({ day: date }) => padded(date, 2, ' '),
  k: ({ hour: hours }) => padded(hours, 2, ' '),
  l: (parts) => padded(onDial(parts), 2, ' '),
  z: (_, { offset }) => zoneText(offset, ''),
  Z: (_, { offset }) => (offset === 0n ? 'UTC' : ''),
  s: (_, { wall }) => String(wall / second),
  c: ({ year }, moment) => formatMoment(moment, `%a %b %e %H:%M:%S ${year}`),
  x: (_, moment) => formatMoment(moment, '%m/%d/%y'),
  D: (_, moment) => formatMoment(moment, '%m/%d/%y'),
  X: (_, moment) => formatMoment(moment, '%H:%M:%S'),
  T: (_, moment) => formatMoment(moment, '%H:%M:%S'),
  R: (_, moment) => formatMoment(moment, '%H:%M'),
  r: (_, moment) => formatMoment(moment, '%I:%M:%S %p'),
  F: ({ year }, moment) => formatMoment(moment, `${year}-%m-%d`),
  n: () => '\n',
  t: () => '\t',
  '%': () => '%',
};

/** The moment in the format of C's `strftime`. An unknown directive stays as it is written. */
export function formatMoment(moment: Moment, format: string): string {
  const { parts } = moment;
  // GNU's flags: `-` omits the padding, `_` pads with blanks, `^` converts to capitals. E and O are for other locales.
  return format.replace(/%([-_0^#]?)[EO]?([\s\S])/g, (whole, flag: string, letter: string) => {
    const value = directives[letter]?.(parts, moment) ?? whole;
    if (flag === '-') return value.replace(/^[0 ]+(?=\d)/, '');
    if (flag === '_') return value.replace(/^0+(?=\d)/, (zeros) => ' '.repeat(zeros.length));
    return flag === '^' ? value.toUpperCase() : value;
  });
}

const names = (list: readonly string[], length?: number): string => list.map((name) => name.slice(0, length)).join('|');
/** Pattern that each directive matches. */
const readable: Readonly<Record<string, string>> = {
  Y: '\\d{4}',
  m: '1[0-2]|0[1-9]|[1-9]',
  d: '3[01]|[12]\\d|0[1-9]|[1-9]| [1-9]',
  H: '2[0-3]|[01]\\d|\\d',
  I: '1[0-2]|0[1-9]|[1-9]',
  M: '[0-5]\\d|\\d',
  S: '6[01]|[0-5]\\d|\\d',
  f: '\\d{1,6}',
  y: '\\d{2}',
  b: names(months, 3),
  B: names(months),
  a: names(weekdays, 3),
  A: names(weekdays),
  p: 'am|pm',
  j: '36[0-6]|3[0-5]\\d|[12]\\d\\d|0[1-9]\\d|00[1-9]|[1-9]\\d|0[1-9]|[1-9]',
  w: '[0-6]',
  z: '[+-]\\d\\d:?[0-5]\\d(?::?[0-5]\\d(?:\\.\\d{1,6})?)?|(?-i:Z)',
  Z: 'utc|gmt',
};
const composed: Readonly<Record<string, string>> = {
  c: '%a %b %d %H:%M:%S %Y',
  x: '%m/%d/%y',
  X: '%H:%M:%S',
};

/** @throws YaqlFault when the text does not have the format. */
export function readMoment(text: string, format: string): Moment {
  const order: string[] = [];
  const full = format.replace(/%([cxX])/g, (whole, letter: string) => composed[letter] ?? whole);
  const accept = (letter: string): string => {
    if (letter === '%') return '%';
    const accepted = readable[letter];
    if (accepted === undefined) return fault(why`'${letter}' is a bad directive in format '${format}'`);
    if (order.includes(letter)) return fault(why`The directive %${letter} stands twice in format '${format}'`);
    order.push(letter);
    return `(${accepted})`;
  };
  const source = Array.from(full.matchAll(/%(?<letter>[\s\S]?)|(?<blank>\s+)|(?<plain>[\s\S])/g), ({ groups }) => {
    if (groups?.['blank'] !== undefined) return '\\s+';
    const plain = groups?.['plain'];
    return plain === undefined ? accept(groups?.['letter'] ?? '') : plain.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&');
  }).join('');
  const match = new RegExp(`^(?:${source})$`, 'i').exec(text);
  if (!match) return fault(why`time data '${text}' does not match format '${format}'`);
  const found = new Map(order.map((letter, index) => [letter, match[index + 1] ?? '']));
  const number = (letter: string, other: number): number => (found.has(letter) ? Number(found.get(letter)) : other);
  const named = (letter: string, list: readonly string[]): number | undefined => {
    const name = found.get(letter)?.toLowerCase();
    const index = list.findIndex((item) => item.toLowerCase().slice(0, name?.length) === name);
    return name === undefined ? undefined : index + 1;
  };
  const short = number('y', 70);
  const year = number('Y', short < 69 ? 2000 + short : 1900 + short) + (found.has('y') || found.has('Y') ? 0 : -70);
  let month = named('B', months) ?? named('b', months) ?? number('m', 1);
  let date = number('d', 1);
  if (found.has('j') && !found.has('d') && !found.has('m')) {
    const at = new Date(Date.UTC(2000, 0, 1));
    at.setUTCFullYear(year, 0, number('j', 1));
    [month, date] = [at.getUTCMonth() + 1, at.getUTCDate()];
  }
  const half = found.get('p')?.toLowerCase();
  const hours = found.has('I') ? (number('I', 12) % 12) + (half === 'pm' ? 12 : 0) : number('H', 0);
  const microsecond = Number((found.get('f') ?? '0').padEnd(6, '0'));
  const zone = found.get('z');
  return Moment.of(
    { year, month, day: date, hour: hours, minute: number('M', 0), second: number('S', 0), microsecond },
    zone === undefined ? 0n : offsetOf(zone),
  );
}

function offsetOf(zone: string): bigint {
  if (/^(?:z|utc|gmt)$/i.test(zone)) return 0n;
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = /^([+-])(\d\d?):?(\d\d)?:?(\d\d)?/.exec(zone) ?? [];
  const size = BigInt(hours) * hour + BigInt(minutes) * 60n * second + BigInt(seconds) * second;
  return sign === '-' ? -size : size;
}

const clock =
  /(?<![\d.])(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s*([ap]\.?m\b\.?)?|\b(\d{1,2})\s*([ap]\.?m\b\.?)|(?<=-\d\dT)(\d{2})(?!\d)/i;
const spelled = /\b(\d{1,2})\s*h(?:ours?)?\s*(?:(\d{1,2})\s*m(?:in(?:utes?)?)?)?\s*(?:(\d{1,2})\s*s)?/i;
/** The text with `10 h 30 min` written as `10:30:00`. */
function withClock(text: string): string {
  const found = spelled.exec(text);
  if (!found) return text;
  const [whole, at = '', minutes = '0', seconds = '0'] = found;
  const after = text.slice(found.index + whole.length);
  return `${text.slice(0, found.index)}${at}:${two(Number(minutes))}:${two(Number(seconds))}${after}`;
}
const compactTime = /^(\d{8})(?:T(?=\d{2})|(?=\d{4}(?:\d{2})?\b))(\d{2})(\d{2})?(\d{2})?(?:\.(\d+))?/;

/**
 * Reads a free-form date: ISO 8601, `29 Aug 2015 10:00 pm`, `Sat, 29 Aug 2015 10:00:00 GMT`, `8/29/2015`, `29.8?2015`.
 * Year, month and day are required, because a missing part would come from today's date and so change from day to day.
 */
export function guessMoment(text: string): Moment {
  const bad = (): never => fault(why`Unknown string format: ${text}`);
  let [hours, minute, seconds, micros] = [0, 0, 0, 0];
  const fraction = (digits: string | undefined): number => Number((digits ?? '0').slice(0, 6).padEnd(6, '0'));
  let rest = text.trim();
  let after = '';
  const compact = compactTime.exec(rest);
  if (compact) {
    [hours, minute, seconds] = [Number(compact[2]), Number(compact[3] ?? 0), Number(compact[4] ?? 0)];
    micros = fraction(compact[5]);
    after = rest.slice(compact[0].length);
    rest = compact[1] ?? '';
  }
  rest = withClock(rest);
  const time = compact ? undefined : clock.exec(rest);
  if (time) {
    hours = Number(time[1] ?? time[6] ?? time[8]);
    minute = Number(time[2] ?? 0);
    seconds = Number(time[3] ?? 0);
    micros = fraction(time[4]);
    const half = (time[5] ?? time[7])?.[0]?.toLowerCase();
    if (half !== undefined && (hours < 1 || hours > 12)) return bad();
    if (half !== undefined) hours = (hours % 12) + (half === 'p' ? 12 : 0);
    after = rest.slice(time.index + time[0].length);
    rest = rest.slice(0, time.index).replace(/(?<=\d)T$/i, '');
  }
  const zone = /^\s*(?:(?:UTC|GMT)?([+-]\d{2}:?\d{2}|[+-]\d{1,2})(?![\d:])|(Z|UTC|GMT)\b)/i.exec(after);
  let offset = 0n;
  if (zone) {
    // `GMT+3` has the sign of POSIX: the offset to add to reach GMT.
    offset = offsetOf(zone[1] ?? 'Z') * (zone[1] !== undefined && /^\s*[A-Z]/i.test(zone[0]) ? -1n : 1n);
    after = after.slice(zone[0].length);
  }
  const { year, month, date } = dateOf(`${rest} ${after}`) ?? bad();
  if (offset <= -day || offset >= day) return bad();
  return Moment.of({ year, month, day: date, hour: hours, minute, second: seconds, microsecond: micros }, offset);
}

function dateOf(text: string): { year: number; month: number; date: number } | undefined {
  const tokens = text.match(/\d+|[A-Za-z]+|[^\dA-Za-z]+/g) ?? [];
  const numbers: string[] = [];
  let named: { month: number; at: number } | undefined;
  for (const token of tokens) {
    if (/^\d+$/.test(token)) {
      if (token.length === 8) numbers.push(token.slice(0, 4), token.slice(4, 6), token.slice(6));
      else if (token.length === 6) numbers.push(token.slice(0, 2), token.slice(2, 4), token.slice(4));
      else if (token.length <= 4) numbers.push(token);
      else return undefined;
    } else if (/^[A-Za-z]+$/.test(token)) {
      const word = token.toLowerCase();
      const month = months.findIndex(
        (name) =>
          word === name.toLowerCase() ||
          word === name.slice(0, 3).toLowerCase() ||
          (word === 'sept' && name === 'September'),
      );
      const isDay = weekdays.some((name) => word === name.toLowerCase() || word === name.slice(0, 3).toLowerCase());
      if (month >= 0 && !named) named = { month: month + 1, at: numbers.length };
      else if (!isDay && !['t', 'of', 'and', 'ad', 'st', 'nd', 'rd', 'th', 'at', 'on', 'm', 'd', 'y'].includes(word))
        return undefined;
    } else if (/[^\s\-/.,?;']/.test(token)) return undefined;
  }
  if (numbers.length !== (named ? 2 : 3)) return undefined;
  const isYear = (part: string): boolean => part.length > 2 || Number(part) > 31;
  const full = (part: string): number =>
    part.length > 2 ? Number(part) : Number(part) + (Number(part) < 76 ? 2000 : 1900);
  const [a = '', b = '', c = ''] = numbers;
  if (named) {
    const yearFirst = isYear(a) || (named.at === 1 && !isYear(b) && Number(a) > 31);
    return yearFirst
      ? { year: full(a), month: named.month, date: Number(b) }
      : { year: full(b), month: named.month, date: Number(a) };
  }
  if (isYear(a)) {
    return Number(b) <= 12 ? { year: full(a), month: Number(b), date: Number(c) } : undefined;
  }
  return Number(a) > 12
    ? { year: full(c), month: Number(b), date: Number(a) }
    : { year: full(c), month: Number(a), date: Number(b) };
}
