import { parseCron } from '@anneal/contracts/readers/cron.ts';
import { describe, expect, it } from 'vitest';
import { nextCronTime } from './cron.ts';

const minuteMs = 60_000;
const next = (expression: string, from: string, zone = 'UTC'): string | undefined => {
  const cron = parseCron(expression);
  const at = cron && nextCronTime(cron, zone, Date.parse(from));
  return at === undefined ? undefined : new Date(at).toISOString();
};

describe('the next time of a cron expression', () => {
  it.each([
    ['* * * * *', '2026-03-01T10:00:00Z', '2026-03-01T10:01:00.000Z'],
    ['*/15 * * * *', '2026-03-01T10:50:30Z', '2026-03-01T11:00:00.000Z'],
    ['30 8 * * mon-fri', '2026-03-06T08:30:00Z', '2026-03-09T08:30:00.000Z'],
    ['0 0 29 2 *', '2026-03-01T00:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['0 */12 29 2 */6', '2096-03-01T00:00:00Z', '2116-02-29T00:00:00.000Z'],
    ['0 0 1 * mon', '2026-03-02T00:00:00Z', '2026-03-09T00:00:00.000Z'],
    ['@daily', '2026-12-31T23:59:59Z', '2027-01-01T00:00:00.000Z'],
    ['0 0 30 2 *', '2026-03-01T00:00:00Z', undefined],
  ])('%s after %s is %s', (expression, from, expected) => {
    expect(next(expression, from)).toBe(expected);
  });

  it.each([
    // In Berlin the clock goes from 2 to 3 on 2026-03-29, and from 3 to 2 on 2026-10-25.
    ['0 9 * * *', '2026-03-28T09:00:00Z', '2026-03-29T07:00:00.000Z'],
    ['30 2 * * *', '2026-03-28T02:00:00Z', '2026-03-29T01:00:00.000Z'],
    ['30 2 * * *', '2026-03-29T01:00:00Z', '2026-03-30T00:30:00.000Z'],
    ['30 2 * * *', '2026-10-24T12:00:00Z', '2026-10-25T00:30:00.000Z'],
    ['30 2 * * *', '2026-10-25T00:30:00Z', '2026-10-26T01:30:00.000Z'],
    ['30 * * * *', '2026-10-25T00:30:00Z', '2026-10-25T01:30:00.000Z'],
    ['30 */2 * * *', '2026-03-28T23:30:00Z', '2026-03-29T02:30:00.000Z'],
  ])('%s after %s in Berlin is %s', (expression, from, expected) => {
    expect(next(expression, from, 'Europe/Berlin')).toBe(expected);
  });

  it('is known in little time, also in 40 years or never, because the event loop waits', () => {
    const before = process.cpuUsage();
    for (let run = 0; run < 20; run += 1) {
      next('0 0 29 2 */6', '2096-03-01T00:00:00Z', 'Europe/Berlin');
      next('59 */23 29 2 */6', '2096-03-01T00:00:00Z', 'Europe/Berlin');
      next('0 0 30 2 *', '2026-03-01T00:00:00Z');
    }
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(5_000);
  });
});

/** Local times of a span, minute by minute, from Intl alone: `YYYY-MM-DD HH:MM`, and the weekday. */
function walk(zone: string, from: number, to: number) {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  const found: { at: number; local: string }[] = [];
  for (let at = from; at <= to; at += minuteMs) found.push({ at, local: format.format(at) });
  return found;
}

/** Whether a schedule has a local time. */
function fitsIn(expression: string): (local: string) => boolean {
  const cron = parseCron(expression);
  if (!cron) throw new Error(expression);
  const days = new Map<string, boolean>();
  const isDay = (date: string): boolean => {
    const at = new Date(`${date}T00:00:00Z`);
    const [byDay, byWeekday] = [cron.days.has(at.getUTCDate()), cron.weekdays.has(at.getUTCDay())];
    const fits = cron.limitsDays && cron.limitsWeekdays ? byDay || byWeekday : byDay && byWeekday;
    return fits && cron.months.has(at.getUTCMonth() + 1);
  };
  return (local) => {
    const date = local.slice(0, 10);
    const known = days.get(date) ?? isDay(date);
    days.set(date, known);
    return known && cron.hours.has(Number(local.slice(11, 13))) && cron.minutes.has(Number(local.slice(14)));
  };
}

const two = (number: number): string => String(number).padStart(2, '0');
const minutesOfDay = Array.from({ length: 1440 }, (_, at) => `${two(Math.floor(at / 60))}:${two(at % 60)}`);

/** The instants of a schedule by its two rules, over a walk. */
function reference(expression: string, walked: readonly { at: number; local: string }[]): number[] {
  const [, hour = ''] = expression.split(' ');
  const fits = fitsIn(expression);
  if (/[*/]/.test(hour)) return walked.flatMap(({ at, local }) => (fits(local) ? [at] : []));
  const dates = [...new Set(walked.map(({ local }) => local.slice(0, 10)))].toSorted();
  const wanted = dates.flatMap((date) => minutesOfDay.map((time) => `${date} ${time}`)).filter(fits);
  const instants = new Set<number>();
  let place = 0;
  for (const time of wanted) {
    while (place < walked.length && (walked[place]?.local ?? '') < time) place += 1;
    const found = walked[place];
    if (found) instants.add(found.at);
  }
  return [...instants];
}

/** Numbers that look random and are the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function someExpression(pick: (below: number) => number): string {
  const one = (...choices: (() => string)[]): string => (choices[pick(choices.length)] ?? (() => '*'))();
  const minute = one(
    () => '0',
    () => '30',
    () => String(pick(60)),
    () => '*/20',
    () => '50-10/5',
    () => '1,31',
  );
  const hour = one(
    () => '*',
    () => '*/2',
    () => '0',
    () => String(pick(4)),
    () => '22-3',
    () => '0-4/2',
    () => '23',
    () => '2,3',
    () => String(pick(24)),
  );
  const day = one(
    () => '*',
    () => '*',
    () => '28-2',
    () => '*/2',
    () => '?',
  );
  const weekday = one(
    () => '*',
    () => '*',
    () => 'fri-sun',
    () => '6-1',
    () => '*/2',
  );
  return `${minute} ${hour} ${day} * ${weekday}`;
}

function timesWithin(expression: string, { zone, begin, end }: { zone: string; begin: number; end: number }): number[] {
  const cron = parseCron(expression);
  if (!cron) throw new Error(expression);
  const found: number[] = [];
  for (let at = nextCronTime(cron, zone, begin); at !== undefined && at < end; at = nextCronTime(cron, zone, at))
    found.push(at);
  return found;
}

describe('a schedule when the clock changes', () => {
  it.each([
    ['Europe/Berlin', '2026-03-29', 'skips an hour at 2'],
    ['Europe/Berlin', '2026-10-25', 'repeats an hour at 3'],
    ['Australia/Lord_Howe', '2026-10-04', 'skips 30 minutes'],
    ['Australia/Lord_Howe', '2026-04-05', 'repeats 30 minutes'],
    ['Pacific/Apia', '2011-12-30', 'leaves out a day'],
    ['Asia/Beirut', '2026-03-29', 'skips midnight'],
    ['Asia/Beirut', '2026-10-25', 'goes back at midnight'],
    ['America/Santiago', '2026-09-06', 'skips midnight'],
    ['America/Santiago', '2026-04-05', 'goes back at midnight'],
    ['Africa/Cairo', '2026-04-24', 'skips midnight on a Friday'],
    ['Africa/Cairo', '2026-10-30', 'goes back at midnight'],
    ['Africa/Casablanca', '2026-02-15', 'goes back for Ramadan'],
    ['Africa/Casablanca', '2026-03-22', 'goes on after Ramadan'],
    ['Antarctica/Troll', '2026-03-29', 'skips two hours'],
    ['Antarctica/Troll', '2026-10-25', 'repeats two hours'],
    ['America/St_Johns', '2006-10-29', 'goes back at one minute past midnight'],
    ['America/Nuuk', '2026-03-28', 'changes before midnight'],
    ['Asia/Kathmandu', '2026-06-01', 'never changes'],
  ])('in %s around %s, which %s, comes at the instants that a walk finds', (zone, date) => {
    const middle = Date.parse(`${date}T00:00:00Z`);
    const [from, to] = [middle - 3 * 86_400_000, middle + 3 * 86_400_000];
    const walked = walk(zone, from, to);
    const pick = numbers(zone.length * 7919 + middle / 86_400_000);
    for (let run = 0; run < 8; run += 1) {
      const expression = someExpression(pick);
      // The first day of the walk may begin before it, so the comparison begins after it.
      const begin = from + 30 * 3_600_000;
      const expected = reference(expression, walked).filter((at) => at > begin && at < to - 86_400_000);
      const found = timesWithin(expression, { zone, begin, end: to - 86_400_000 });
      const shown = (times: readonly number[]) => times.map((at) => new Date(at).toISOString());
      expect([expression, ...shown(found)]).toEqual([expression, ...shown(expected)]);
    }
  });

  it.each(['0 0 * * *', '15 2 * * *'])(
    '%s comes once for each day of a year, in every zone of the list',
    (expression) => {
      const zones = ['Australia/Lord_Howe', 'Asia/Beirut', 'America/Santiago', 'Africa/Casablanca', 'America/Nuuk'];
      const begin = Date.parse('2026-01-01T12:00:00Z');
      for (const zone of zones) {
        const times = timesWithin(expression, { zone, begin, end: begin + 365 * 86_400_000 });
        const days = times.slice(1).map((at, index) => (at - (times[index] ?? 0)) / 86_400_000);
        expect([zone, days.length, Math.round(Math.min(...days)), Math.round(Math.max(...days))]).toEqual([
          zone,
          364,
          1,
          1,
        ]);
      }
    },
  );
});
