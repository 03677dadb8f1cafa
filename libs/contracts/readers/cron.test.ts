import { describe, expect, it } from 'vitest';
import { cronProblem, parseCron } from './cron.ts';

const valuesOf = (expression: string) => {
  const { minutes, hours, days, months, weekdays } = parseCron(expression) ?? {};
  const listed = (values?: ReadonlySet<number>): string => [...(values ?? [])].toSorted((a, b) => a - b).join(' ');
  return {
    minute: listed(minutes),
    hour: listed(hours),
    day: listed(days),
    month: listed(months),
    weekday: listed(weekdays),
  };
};

describe('a field of an expression of cron', () => {
  it.each([
    ['0 0 * * fri-sun', { weekday: '0 5 6' }],
    ['0 0 * * FRI-MON', { weekday: '0 1 5 6' }],
    ['0 0 * * 5-7', { weekday: '0 5 6' }],
    ['0 0 * * 7', { weekday: '0' }],
    ['0 0 * * 7-2', { weekday: '0 1 2' }],
    ['0 0 * * 0-7', { weekday: '0 1 2 3 4 5 6' }],
    ['0 0 * * sun-sun', { weekday: '0' }],
    ['0 0 * * */2', { weekday: '0 2 4 6' }],
    ['0 22-2 * * *', { hour: '0 1 2 22 23' }],
    ['0 22-2/2 * * *', { hour: '0 2 22' }],
    ['0 0 1 nov-feb *', { month: '1 2 11 12' }],
    ['0 0 1 Nov-2 *', { month: '1 2 11 12' }],
    ['0 0 28-3 * *', { day: '1 2 3 28 29 30 31' }],
    ['50-10/5 0 * * *', { minute: '0 5 10 50 55' }],
    ['1-10/3,30 0 * * *', { minute: '1 4 7 10 30' }],
    ['*/15 0 * * *', { minute: '0 15 30 45' }],
    ['5/20 0 * * *', { minute: '5 25 45' }],
    ['*/99 0 * * *', { minute: '0' }],
    ['05 09 01 01 01', { minute: '5', hour: '9', day: '1', month: '1', weekday: '1' }],
    ['0 0 ? * mon', { day: parseCronDays(), weekday: '1' }],
    [' @Monthly ', { minute: '0', hour: '0', day: '1' }],
    ['0 0 1 1 * 0', { minute: '0', month: '1' }],
  ])('of %s is read as %j', (expression, expected) => {
    expect(cronProblem(expression)).toBeUndefined();
    expect(valuesOf(expression)).toMatchObject(expected);
  });

  function parseCronDays(): string {
    return Array.from({ length: 31 }, (_, at) => at + 1).join(' ');
  }

  it.each([
    ['', 'it has 0 fields'],
    ['* * * *', 'it has 4 fields; it needs 5'],
    ['* * * * * * *', 'it has 7 fields'],
    ['60 * * * *', 'its minute is wrong: a number is between 0 and 59'],
    ['* 24 * * *', 'its hour is wrong'],
    ['* * 0 * *', 'its day is wrong: a number is between 1 and 31'],
    ['* * * 13 *', 'its month is wrong'],
    ['* * * * 8', 'its weekday is wrong: a number is between 0 and 7'],
    ['* * * foo *', 'or a name from jan to dec'],
    ['* * * * mo', 'or a name from sun to sat'],
    ['*/0 * * * *', 'a step is at least 1'],
    ['1-2-3 * * * *', 'its minute is wrong'],
    ['1,,2 * * * *', 'its minute is wrong'],
    ['-5 * * * *', 'its minute is wrong'],
    ['1.5 * * * *', 'its minute is wrong'],
    ['? * * * *', '"?" is for day and weekday'],
    ['0 0 L * *', 'does not know the last day ("L")'],
    ['0 0 * * 5L', 'does not know the last day ("L")'],
    ['0 0 15W * *', 'the nearest workday ("W")'],
    ['0 0 * * 1#2', 'the nth weekday of a month ("#")'],
    ['@reboot', 'there is no such nickname'],
    ['0 0 30 2 *', 'its date never comes'],
    ['0 0 31 4,6,9,11 *', 'its date never comes'],
    ['0 0 1 1 * 30', 'seconds'],
  ])('is refused in %s: %s', (expression, reason) => {
    expect(cronProblem(expression)?.message).toContain(reason);
  });

  it('is refused before any work when it is too long, or a list of too many parts', () => {
    const before = process.cpuUsage();
    for (const text of ['*,'.repeat(10_000_000), `${'0-59,'.repeat(41)}0 * * * *`, `${'1,'.repeat(70)}1 * * * *`])
      expect(cronProblem(text)?.message).toMatch(/the limit is/);
    expect(cronProblem('0-59/1000000000 * * * *')?.message).toContain('its minute is wrong');
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2_000);
  });

  it('of another system is known as such', () => {
    expect(['0 0 L * *', '0 0 * * fri#2', '0 0 1 1 * 30'].map((each) => cronProblem(each)?.isForeign)).toEqual([
      true,
      true,
      true,
    ]);
    expect(['x 0 * * *', '0 0 LW * *'].map((each) => cronProblem(each)?.isForeign)).toEqual([false, false]);
  });

  it('may be a 30 February when the weekday is enough', () => {
    expect(cronProblem('0 0 30 2 mon')).toBeUndefined();
  });
});
