import { describe, expect, it } from 'vitest';
import { lastCronTime, nextCronTime, parseCron } from './cron.ts';

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
    ['0 0 1 * mon', '2026-03-02T00:00:00Z', '2026-03-09T00:00:00.000Z'],
    ['@daily', '2026-12-31T23:59:59Z', '2027-01-01T00:00:00.000Z'],
    ['0 0 30 2 *', '2026-03-01T00:00:00Z', undefined],
  ])('%s after %s is %s', (expression, from, expected) => {
    expect(next(expression, from)).toBe(expected);
  });

  it.each([
    // In Berlin the clock goes from 2 to 3 on 2026-03-29, and from 3 to 2 on 2026-10-25.
    ['0 9 * * *', '2026-03-28T09:00:00Z', '2026-03-29T07:00:00.000Z'],
    ['0 0 * * *', '2026-03-29T00:00:00Z', '2026-03-29T22:00:00.000Z'],
    ['30 2 * * *', '2026-03-28T02:00:00Z', '2026-03-30T00:30:00.000Z'],
    ['0 9 * * *', '2026-10-24T08:00:00Z', '2026-10-25T08:00:00.000Z'],
    ['0 0 * * *', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00.000Z'],
  ])('%s after %s in Berlin is %s', (expression, from, expected) => {
    expect(next(expression, from, 'Europe/Berlin')).toBe(expected);
  });

  it('is the time that a search minute by minute finds, in zones far from UTC', () => {
    for (const [expression, zone] of [
      ['30 23 28 2 *', 'Pacific/Kiritimati'],
      ['0 0 1 3 *', 'Pacific/Pago_Pago'],
      ['15 12 * * sun', 'Asia/Kathmandu'],
    ] as const) {
      const found = next(expression, '2026-02-20T00:00:00Z', zone) ?? '';
      const cron = parseCron(expression);
      // Looking back from the found time finds the same time, and none before it.
      const at = Date.parse(found);
      expect(cron && lastCronTime(cron, zone, { from: at, earliest: at })).toBe(at);
      expect(cron && lastCronTime(cron, zone, { from: at - 1, earliest: Date.parse('2026-02-20T00:01:00Z') })).toBe(
        undefined,
      );
    }
  });

  it('is known not to exist in little time, because the event loop waits', () => {
    const before = process.cpuUsage();
    for (const expression of ['0 0 30 2 *', '0 0 31 4,6,9,11 *']) next(expression, '2026-03-01T00:00:00Z');
    const { user } = process.cpuUsage(before);
    expect(user / 1000).toBeLessThan(5_000);
  });

  it('is found backwards, too', () => {
    const cron = parseCron('30 8 * * mon-fri');
    const from = Date.parse('2026-03-09T08:29:00Z');
    const last = cron && lastCronTime(cron, 'UTC', { from, earliest: from - 7 * 86_400_000 });
    expect(last).toBe(Date.parse('2026-03-06T08:30:00Z'));
  });

  it.each(['', '* * * *', '0 0 L * *', '0 0 * * 1#2'])('does not exist for %j', (expression) => {
    expect(parseCron(expression)).toBeUndefined();
  });
});
