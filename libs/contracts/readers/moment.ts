/** Times in ISO 8601: the one reader of those that clients and templates write. Pure. */

const form =
  /^(?<year>\d{4})(?:(?:-(?<monthDash>\d{1,2})|(?<month>\d{2})(?!$))(?:(?:-(?<dayDash>\d{1,2})|(?<day>\d{2}))(?:[ T](?<hour>\d{2})(?::?(?<minute>\d{2}))?(?::?(?<second>\d{1,2})(?:[.,](?<fraction>\d+))?)?(?<offset>Z|[-+]\d{2}:?(?:\d{2})?)?)?)?)?$/;
/** With 12 digits of the fraction of a second and an offset. */
const longest = 48;

/** Milliseconds since 1970; a text without an offset is in UTC. Undefined when the text is no such time, as 2030-02-30. */
export function isoMoment(text: string): number | undefined {
  const parts = text.length > longest ? undefined : form.exec(text)?.groups;
  if (!parts) return undefined;
  const number = (part: string | undefined, absent = 0): number => Number(part ?? absent);
  const year = number(parts['year']);
  const month = number(parts['monthDash'] ?? parts['month'], 1);
  const day = number(parts['dayDash'] ?? parts['day'], 1);
  const [hour, minute, second] = [parts['hour'], parts['minute'], parts['second']].map((part) => number(part));
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour ?? 0, minute, second);
  const isDay = year > 0 && date.getUTCMonth() + 1 === month && date.getUTCDate() === day;
  // A second of 60 or an hour of 24 rolls over to the next day at the latest, so the parts differ.
  if (!isDay || date.getUTCHours() !== hour || date.getUTCMinutes() !== minute) return undefined;
  const [, sign = '+', hours = '0', minutes = '0'] = /^([-+])(\d{2}):?(\d{2})?$/.exec(parts['offset'] ?? '') ?? [];
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const ahead = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
  return date.getTime() + number(`0.${parts['fraction'] ?? 0}`) * 1000 - ahead * 60_000;
}
