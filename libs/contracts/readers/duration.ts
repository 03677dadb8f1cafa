/** Lengths of time: the one reader of those that people and templates write. Pure. */

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
/** So that no length is more than a number holds exactly. */
const short = /^(?<count>\d{1,9})(?<unit>[smhd]?)$/;
const iso = /^PT(?=\d)(?:(?<hours>\d{1,9})H)?(?:(?<minutes>\d{1,9})M)?(?:(?<seconds>\d{1,9})S)?$/i;

/** A hundred years. A later time has no date that every store can read. */
export const mostSeconds = 3_162_240_000;

/** The time some seconds after another one, in milliseconds; at most a hundred years later. */
export const timeAfter = (now: number, seconds: number): string =>
  new Date(now + Math.min(seconds, mostSeconds) * 1000).toISOString();

/** Seconds of `90`, `90s`, `15m`, `6h`, `2d`, or `PT1H30M` of ISO 8601. Undefined for another text. */
export function durationSeconds(text: string): number | undefined {
  const { count, unit = '' } = short.exec(text)?.groups ?? {};
  if (count !== undefined) return Number(count) * (unitSeconds[unit === '' ? 's' : unit] ?? 1);
  const parts = iso.exec(text)?.groups;
  if (!parts) return undefined;
  const { hours = '0', minutes = '0', seconds = '0' } = parts;
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}
