/**
 * Expressions of cron: the one reader of schedules in templates, APIs and alarms. Its work is bounded by the length of the
 * expression, which is checked first. Pure.
 *
 * Minute, hour, day, month and weekday. Each is `*`, a number, a name, a range (`mon-fri`; `fri-sun`, `22-2` and `nov-feb`
 * go over the end), a step (`*` or a range, `/n`), or a list of these. `?` in day and weekday is `*`. 7 is Sunday.
 */
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const nicknames: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};
/** All minutes of an hour in a list have 169 characters. */
const longestField = 200;
const mostParts = 60;
/** February has 29 in a leap year. */
const daysOf = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The times of an expression. */
export interface Cron {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** With both, either is enough, as in cron. */
  readonly limitsDays: boolean;
  readonly limitsWeekdays: boolean;
  /** Its hours are `*` or have a step: it goes on with each hour that passes, also when the clock changes. */
  readonly isEveryHour: boolean;
}

/** Why an expression gives no schedule. */
export interface CronProblem {
  readonly message: string;
  /** Other systems read it, so it is a valid value where Anneal does not run it. */
  readonly isForeign: boolean;
}

interface Field {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly names?: readonly string[];
  /** The number that some write for the lowest one. */
  readonly also?: number;
}
const minute: Field = { name: 'minute', low: 0, high: 59 };
const hour: Field = { name: 'hour', low: 0, high: 23 };
const day: Field = { name: 'day', low: 1, high: 31 };
const month: Field = { name: 'month', low: 1, high: 12, names: months };
const weekday: Field = { name: 'weekday', low: 0, high: 6, names: weekdays, also: 7 };

class CronFault extends Error {
  readonly isForeign: boolean;
  constructor(message: string, { isForeign = false } = {}) {
    super(message);
    this.isForeign = isForeign;
  }
}

/** The times of an expression. Undefined for one without; {@link cronProblem} has the reason. */
export function parseCron(expression: string): Cron | undefined {
  const found = readCron(expression);
  return found instanceof CronFault ? undefined : found.cron;
}

/** Why an expression gives no schedule. Undefined for one that Anneal runs. Leaves out the expression, which may be hidden. */
export function cronProblem(expression: string): CronProblem | undefined {
  const found = readCron(expression);
  const fault = found instanceof CronFault ? found : found.fault;
  return fault && { message: fault.message, isForeign: fault.isForeign };
}

/** An expression of an earlier version may have seconds, which do not count: it has a fault and times. */
function readCron(expression: string): { readonly cron: Cron; readonly fault?: CronFault } | CronFault {
  try {
    return read(expression);
  } catch (error) {
    if (error instanceof CronFault) return error;
    throw error;
  }
}

function read(expression: string): { readonly cron: Cron; readonly fault?: CronFault } {
  if (expression.length > 6 * (longestField + 1))
    throw new CronFault(`it has ${expression.length} characters; the limit is ${longestField} for each field`);
  const text = expression.trim().toLowerCase();
  if (text.startsWith('@') && !Object.hasOwn(nicknames, text))
    throw new CronFault(`there is no such nickname; the nicknames are ${Object.keys(nicknames).join(', ')}`);
  const fields = (nicknames[text] ?? text).split(/\s+/);
  if (fields.length < 5 || fields.length > 6)
    throw new CronFault(
      `it has ${text === '' ? 0 : fields.length} fields; it needs 5: minute, hour, day, month, weekday`,
    );
  const [minuteText = '', hourText = '', dayText = '', monthText = '', weekdayText = '', seconds = '0'] = fields;
  const hours = valuesIn(hourText, hour);
  const cron: Cron = {
    minutes: valuesIn(minuteText, minute),
    hours,
    days: valuesIn(dayText, day),
    months: valuesIn(monthText, month),
    weekdays: valuesIn(weekdayText, weekday),
    limitsDays: !/^[*?]/.test(dayText),
    limitsWeekdays: !/^[*?]/.test(weekdayText),
    isEveryHour: /[*/]/.test(hourText) || hours.size === 24,
  };
  const isReached = [...cron.months].some((each) => [...cron.days].some((number) => number <= (daysOf[each - 1] ?? 0)));
  if (!isReached && !(cron.limitsDays && cron.limitsWeekdays))
    throw new CronFault('its date never comes: none of its months has such a day', { isForeign: true });
  valuesIn(seconds, { name: 'second', low: 0, high: 59 });
  if (/^0+$/.test(seconds)) return { cron };
  return {
    cron,
    fault: new CronFault('seconds, the sixth field, are not supported; leave it out', { isForeign: true }),
  };
}

function valuesIn(text: string, field: Field): Set<number> {
  if (text.length > longestField)
    throw new CronFault(`its ${field.name} has ${text.length} characters; the limit is ${longestField}`);
  const parts = text.split(',');
  if (parts.length > mostParts)
    throw new CronFault(`its ${field.name} has a list of ${parts.length} parts; the limit is ${mostParts}`);
  return new Set(parts.flatMap((part) => valuesOf(part, field)));
}

const form = /^(?<range>[*?]|(?<from>[a-z]+|\d{1,2})(?:-(?<to>[a-z]+|\d{1,2}))?)(?:\/(?<step>\d{1,2}))?$/;

function valuesOf(part: string, field: Field): number[] {
  const { range, from, to, step: stepText } = form.exec(part)?.groups ?? {};
  if (range === undefined) throw formFault(part, field);
  if (range === '?' && field !== day && field !== weekday) throw wrongPart(field, '"?" is for day and weekday');
  const step = Number(stepText ?? 1);
  if (step === 0) throw wrongPart(field, 'a step is at least 1');
  const { low, high } = field;
  const first = from === undefined ? low : numberOf(from, field);
  const last = to !== undefined ? numberOf(to, field) : from !== undefined && stepText === undefined ? first : high;
  const size = high - low + 1;
  // A range that ends before it begins goes over the end of the field.
  const length = (last - first + size) % size;
  // `0-7` and `7-7` of weekdays.
  const isWhole = from !== undefined && to !== undefined && first === last && from !== to;
  const count = Math.floor((isWhole ? size - 1 : length) / step) + 1;
  return Array.from({ length: count }, (_, at) => low + ((first - low + at * step) % size));
}

function numberOf(text: string, field: Field): number {
  const { low, high, names = [], also } = field;
  const named = names.indexOf(text);
  if (named >= 0) return low + named;
  if (!/^\d+$/.test(text)) throw formFault(text, field);
  const number = Number(text);
  if (number === also) return low;
  if (number >= low && number <= high) return number;
  throw wrongPart(field, `a number is between ${low} and ${also ?? high}`);
}

const wrongPart = ({ name }: Field, why: string): CronFault => new CronFault(`its ${name} is wrong: ${why}`);

/** Quartz and croniter know signs for the last day, the nearest workday, and the nth weekday of a month. */
function formFault(part: string, field: Field): CronFault {
  const signs = {
    l: 'the last day ("L")',
    w: 'the nearest workday ("W")',
    nth: 'the nth weekday of a month ("#")',
  };
  const isDay = field === day || field === weekday;
  const sign = !isDay
    ? undefined
    : part.includes('#')
      ? signs.nth
      : /^(?:l|l\d|\d{1,2}l|l-\d{1,2}|(?:sun|mon|tue|wed|thu|fri|sat)l)$/.test(part)
        ? signs.l
        : /^(?:lw|\d{1,2}w)$/.test(part)
          ? signs.w
          : undefined;
  if (sign === undefined) {
    const names = field.names ? `, or a name from ${field.names[0]} to ${field.names.at(-1)}` : '';
    return wrongPart(field, `expected "*", a number${names}, a range or a step`);
  }
  // The forms that croniter reads, with which Heat checks expressions.
  const isForeign = (field === day ? /^l$/ : /^(?:l[0-7]|[0-7]#[1-5]|[a-z]{3}#[1-5])$/).test(part);
  return new CronFault(`its ${field.name} is not supported: Anneal does not know ${sign}`, { isForeign });
}
