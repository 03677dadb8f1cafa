/** The times of cron triggers. Pure. */
import { isoMoment } from '@anneal/contracts/readers/moment.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { CronPlan } from '../../documents/workflows.ts';
import { cronProblem, parseCron } from '@anneal/contracts/readers/cron.ts';
import { nextCronTime } from '@anneal/runtime/time/cron.ts';

/** The wishes of the client or the template. */
export interface CronWish {
  readonly name: string;
  readonly pattern: string | null;
  readonly first_time: string | null;
  readonly count: number | null;
}

/** The plan of a new trigger. @throws AnnealError InvalidRequest with every mistake */
export function firstPlan({ name, pattern, first_time: first, count }: CronWish, now: number): CronPlan {
  const cron = pattern === null ? undefined : parseCron(pattern);
  const firstAt = first === null ? null : Date.parse(first);
  const found = cron && nextCronTime(cron, 'UTC', now);
  const mistakes: string[] = [];
  if (pattern === null && first === null) mistakes.push('it needs a pattern or a first time');
  const problem = pattern === null ? undefined : cronProblem(pattern);
  if (problem) mistakes.push(`the pattern "${pattern}" is no schedule: ${problem.message}`);
  else if (pattern !== null && found === undefined) mistakes.push(`the pattern "${pattern}" never comes`);
  if (firstAt !== null && !(firstAt > now)) mistakes.push(`the first time ${first} is not in the future`);
  if (pattern === null && count !== null && count > 1) mistakes.push(`${count} executions need a pattern`);
  if (mistakes.length > 0) {
    throw new AnnealError('InvalidRequest', `Cannot create cron trigger ${name}: ${mistakes.join('; ')}.`);
  }
  return {
    pattern,
    next: new Date(firstAt ?? found ?? now).toISOString(),
    remaining: count ?? (pattern === null ? 1 : null),
  };
}

/** The plan after a start. Times that passed while no replica ran are one start. */
export function planAfter({ pattern, remaining }: CronPlan, now: number): CronPlan {
  const left = remaining === null ? null : remaining - 1;
  const cron = pattern === null || left === 0 ? undefined : parseCron(pattern);
  const next = cron && nextCronTime(cron, 'UTC', now);
  return { pattern, remaining: left, next: next === undefined ? null : new Date(next).toISOString() };
}

/** The time of `YYYY-MM-DD HH:MM` in UTC. Undefined for another form, or a date that does not exist. */
export function timeOfText(text: string): string | undefined {
  const at = isoMoment(text.trim());
  return at === undefined ? undefined : new Date(at).toISOString();
}

/** The time as Mistral writes it. */
export const textOfTime = (iso: string | null): string | null =>
  iso === null ? null : iso.slice(0, 19).replace('T', ' ');
