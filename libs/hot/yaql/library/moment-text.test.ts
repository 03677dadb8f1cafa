/** Formats of dates. Python's `strftime` and `strptime` wrote the expected values. */
import { describe, expect, it } from 'vitest';
import { Moment } from './moment.ts';
import { formatMoment, readMoment } from './moment-text.ts';

const moment = ([year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, microsecond = 0]: readonly number[]) =>
  Moment.of({ year, month, day, hour, minute, second, microsecond }, 0n);
const directives =
  '%Y|%m|%d|%H|%I|%M|%S|%f|%y|%C|%b|%h|%B|%a|%A|%p|%P|%j|%w|%u|%U|%W|%V|%G|%g|%e|%k|%l|%D|%T|%R|%r|%F|%c';
const written: readonly (readonly [readonly number[], string])[] = [
  [
    [2015, 8, 9, 5, 7, 9, 42],
    '2015|08|09|05|05|07|09|000042|15|20|Aug|Aug|August|Sun|Sunday|AM|am|221|0|7|32|31|32|2015|15| 9| 5| 5|08/09/15|05:07:09|05:07|05:07:09 AM|2015-08-09|Sun Aug  9 05:07:09 2015',
  ],
  [
    [2016, 1, 1, 0, 0, 0, 0],
    '2016|01|01|00|12|00|00|000000|16|20|Jan|Jan|January|Fri|Friday|AM|am|001|5|5|00|00|53|2015|15| 1| 0|12|01/01/16|00:00:00|00:00|12:00:00 AM|2016-01-01|Fri Jan  1 00:00:00 2016',
  ],
  [
    [2021, 1, 3, 12, 0, 0, 0],
    '2021|01|03|12|12|00|00|000000|21|20|Jan|Jan|January|Sun|Sunday|PM|pm|003|0|7|01|00|53|2020|20| 3|12|12|01/03/21|12:00:00|12:00|12:00:00 PM|2021-01-03|Sun Jan  3 12:00:00 2021',
  ],
  [
    [2020, 12, 31, 23, 59, 59, 999999],
    '2020|12|31|23|11|59|59|999999|20|20|Dec|Dec|December|Thu|Thursday|PM|pm|366|4|4|52|52|53|2020|20|31|23|11|12/31/20|23:59:59|23:59|11:59:59 PM|2020-12-31|Thu Dec 31 23:59:59 2020',
  ],
  [
    [2024, 2, 29, 13, 5, 6, 7],
    '2024|02|29|13|01|05|06|000007|24|20|Feb|Feb|February|Thu|Thursday|PM|pm|060|4|4|08|09|09|2024|24|29|13| 1|02/29/24|13:05:06|13:05|01:05:06 PM|2024-02-29|Thu Feb 29 13:05:06 2024',
  ],
  [
    [2018, 12, 31, 11, 1, 1, 1],
    '2018|12|31|11|11|01|01|000001|18|20|Dec|Dec|December|Mon|Monday|AM|am|365|1|1|52|53|01|2019|19|31|11|11|12/31/18|11:01:01|11:01|11:01:01 AM|2018-12-31|Mon Dec 31 11:01:01 2018',
  ],
  [
    [2019, 1, 7, 9, 0, 0, 0],
    '2019|01|07|09|09|00|00|000000|19|20|Jan|Jan|January|Mon|Monday|AM|am|007|1|1|01|01|02|2019|19| 7| 9| 9|01/07/19|09:00:00|09:00|09:00:00 AM|2019-01-07|Mon Jan  7 09:00:00 2019',
  ],
];

describe('a moment as text', () => {
  it.each(written)('of %j has the text of each directive', (parts, expected) => {
    expect(formatMoment(moment(parts), directives).split('|')).toEqual(expected.split('|'));
  });

  it('follows the flags of GNU, and keeps what is no directive', () => {
    const at = moment([2015, 8, 9, 5, 7, 9, 42]);
    expect(formatMoment(at, '%-d|%_d|%^a|%-j|%_m|%-H|%^B|%Ey|%Od')).toBe('9| 9|SUN|221| 8|5|AUGUST|15|09');
    expect(formatMoment(at, '%Q %')).toBe('%Q %');
    expect(formatMoment(at, '%n%t%%')).toBe('\n\t%');
  });

  it('shows its offset', () => {
    const offset = Moment.of(
      { year: 1970, month: 1, day: 2, hour: 0, minute: 0, second: 1, microsecond: 0 },
      3_600_000_000n,
    );
    expect(formatMoment(offset, '%z|%Z|%s')).toBe('+0100||86401');
    expect(formatMoment(moment([1970, 1, 2]), '%z|%Z|%s')).toBe('+0000|UTC|86400');
  });
});

describe('a text as a moment', () => {
  it.each([
    ['2015-08-29 22:01:02', '%Y-%m-%d %H:%M:%S', '2015-08-29T22:01:02.000000'],
    ['29 Aug 15 10 PM', '%d %b %y %I %p', '2015-08-29T22:00:00.000000'],
    ['12 AM 1', '%I %p %d', '1900-01-01T00:00:00.000000'],
    ['68', '%y', '2068-01-01T00:00:00.000000'],
    ['69', '%y', '1969-01-01T00:00:00.000000'],
    ['060 2024', '%j %Y', '2024-02-29T00:00:00.000000'],
    ['Sat Aug 29 22:00:00 2015', '%c', '2015-08-29T22:00:00.000000'],
    ['5%.25', '%d%%.%f', '1900-01-05T00:00:00.250000'],
  ])('%j in the format %j is %s', (text, format, expected) => {
    expect(formatMoment(readMoment(text, format), '%FT%T.%f')).toBe(expected);
  });

  it.each([
    ['2015', '%Q', "'Q' is a bad directive in format '%Q'"],
    ['2015', '%', "'' is a bad directive in format '%'"],
    ['1 1', '%d %d', 'The directive %d stands twice'],
    ['2015-13', '%Y-%m', "does not match format '%Y-%m'"],
  ])('%j in the format %j is refused with the reason', (text, format, reason) => {
    expect(() => readMoment(text, format)).toThrow(reason);
  });

  it('may have blanks of any kind where the format has one, but only the characters of the format', () => {
    expect(formatMoment(readMoment('2015 \t 08', '%Y %m'), '%F')).toBe('2015-08-01');
    expect(() => readMoment('2015x08', '%Y.%m')).toThrow('does not match');
  });
});
