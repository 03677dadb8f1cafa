/**
 * Time limits for the waiting and the running of a run. Pure.
 *
 * | phase | limit | counted from |
 * | --- | --- | --- |
 * | waits for other deployments, or behind others in the queue of its host | that of the stack's action | – |
 * | first in the queue of its host | `options.queue_timeout` | becoming the first |
 * | taken by the host | `options.timeout` | its start, or when it was taken while no start is reported |
 *
 * The limit of the stack's action ends every phase.
 */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { rebootProblem } from '@anneal/contracts/reboot-option.ts';

/** The longest limit. A longer one is a typing error, and a timer could not hold it. */
const mostSeconds = 30 * 86_400;

/** The options that are limits. */
export const limitNames = ['timeout', 'queue_timeout', 'grace', 'reboot_timeout'];

export const secondsOf = (value: Json | undefined): number | undefined => {
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : numberOf(value);
  return seconds !== undefined && seconds > 0 && seconds <= mostSeconds ? seconds : undefined;
};

/** @throws AnnealError InvalidRequest for limits that are no numbers of seconds, and for another choice of a reboot. */
export function checkOptions(options: JsonObject, resource: string): void {
  const mistakes: Mistake[] = limitNames.flatMap((name) => {
    const value = options[name];
    if (value === undefined || value === null || secondsOf(value) !== undefined) return [];
    const message = `must be a number of seconds above 0 and at most ${mostSeconds}, not ${shownOption(value)}`;
    return [{ code: 'InvalidTimeout', path: `resources.${resource}.properties.options.${name}`, message }];
  });
  const problem = rebootProblem(options['reboot']);
  if (problem !== undefined) {
    const message = `${problem}, not ${shownOption(options['reboot'])}`;
    mistakes.push({ code: 'InvalidReboot', path: `resources.${resource}.properties.options.reboot`, message });
  }
  if (mistakes.length === 0) return;
  const text = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('InvalidRequest', `The options of ${resource} are not valid: ${text}`, { mistakes });
}

const shownOption = (value: Json | undefined): string =>
  isObject(value) ? 'a map or a hidden value' : JSON.stringify(value);

export const runSeconds = (options: JsonObject, fallbackMs: number): number =>
  secondsOf(options.timeout) ?? fallbackMs / 1000;
export const queueMs = (options: JsonObject, fallbackMs: number): number =>
  (secondsOf(options.queue_timeout) ?? fallbackMs / 1000) * 1000;

/** Extra time for the answer to arrive after the host ended a script at its limit. */
const answerMs = (runMs: number): number => Math.min(30_000, runMs);

/** When a run that began at `from` fails without an answer. */
export function answerDueAt(request: Pick<HostRequest, 'timeout'>, from: number, latest: number): number {
  if (request.timeout === undefined) return latest;
  const runMs = request.timeout * 1000;
  return Math.min(latest, from + runMs + answerMs(runMs));
}

/** The request as a host receives it now: how long it may run from here, in seconds and as a time. */
export function handedOut(request: HostRequest, at: { now: number; takenAt: number }): HostRequest {
  const latest = Date.parse(request.deadline);
  // End a little before the stack's own limit, so that the output still arrives.
  const before = latest - Math.min(10_000, Math.max(0, (latest - at.now) * 0.1));
  const end = request.timeout === undefined ? before : Math.min(before, at.takenAt + request.timeout * 1000);
  const leftMs = Math.max(1000, end - at.now);
  return {
    ...request,
    ...(request.timeout !== undefined && { timeout: Math.min(request.timeout, leftMs / 1000) }),
    deadline: new Date(at.now + leftMs).toISOString(),
  };
}
