/**
 * Reboots of the host for a config that asks for them (`options.reboot`).
 *
 * B1 A reboot is in the journal, with the boot that it ends, before it is ordered. After the next start of the agent the
 *    boot tells whether the host has rebooted: if not, the agent orders it again.
 * B2 From the journal entry until the answer the agent takes no other config.
 * B3 A run has at most `mostReboots` reboots. A host that does not go down within `options.reboot_timeout`, or refuses
 *    the order, is the failure of the config.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostReboot, HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import { mostReboots, rebootLimitMs, rebootOf, rebootPage, rebootStatus } from '@anneal/contracts/reboot-option.ts';
import { hasFailed } from './answers.ts';
import type { JournalEntry } from './journal.ts';
import type { Log } from './log.ts';
import { isSameBoot, type Machine } from './machine.ts';

/** The variable with which a config learns how often its host has rebooted for it. */
const countName = 'ANNEAL_REBOOTS';
/** Exit status of a run whose reboot failed, as of one that was interrupted. */
const failedStatus = 125;
const lookEveryMs = 250;
const shutdownEveryMs = 1_000;
/** How long processes that a config left behind may take to order the reboot that it may have. */
const backgroundMs = 10_000;

/** The machine of an agent that was given none: it never reboots. */
export const fixedMachine: Machine = {
  boot: () => undefined,
  reboot: () => Promise.reject(new Error('this agent cannot reboot its host')),
  goesDown: () => Promise.resolve(false),
};

/** The variables of a config that may reboot its host. */
export const rebootVariables = ({ request, reboots = 0 }: JournalEntry): Record<string, string> =>
  rebootOf(request.options) === undefined ? {} : { [countName]: String(reboots) };

/** True when the host has rebooted since the latest attempt began. */
export const hasRebooted = ({ boot }: JournalEntry, now: string | undefined): boolean =>
  boot !== undefined && now !== undefined && !isSameBoot(boot, now);

/**
 * True when the reboot that the config itself caused ended its program: by a signal, or without a status. Only with
 * `options.reboot: allowed`.
 */
export const isCutByReboot = (entry: JournalEntry, status: number | undefined, now: string | undefined): boolean =>
  rebootOf(entry.request.options) === 'allowed' && hasRebooted(entry, now) && (status === undefined || status > 128);

/** The entry whose program runs again after a reboot, with the whole limit of time. A text: why it may not. */
export function againAfterReboot(entry: JournalEntry): JournalEntry | string {
  const reboots = (entry.reboots ?? 0) + 1;
  if (reboots > mostReboots) return tooMany;
  const { reboot: _over, again_at: _before, ...rest } = entry;
  return { ...rest, reboots, again: true };
}

const tooMany = `its host has rebooted ${mostReboots} times for it, which is the most: ${rebootPage}`;

/** The part of a text about an interruption by a reboot that no option allows. */
export const rebootHint = (entry: JournalEntry, now: string | undefined): string =>
  hasRebooted(entry, now) ? `; its host has rebooted, which a config may do with options.reboot: ${rebootPage}` : '';

export interface AfterRun {
  readonly machine: Machine;
  readonly now: () => Date;
  /** True while processes of the run live, which may reboot the host. */
  readonly lives: () => Promise<boolean>;
  readonly signal: AbortSignal;
}

/** Decides what follows the end of a run: its entry with the result, or with the reboot that comes first. */
export async function afterRun(options: AfterRun, entry: JournalEntry, result: HostResponse): Promise<JournalEntry> {
  const done = withResult(entry, result);
  const kind = await rebootFor(options, done);
  if (kind === 'none') return done;
  const number = (entry.reboots ?? 0) + 1;
  const at = options.now();
  if (number > mostReboots) return withFailure(done, tooMany, at);
  if (entry.boot === undefined || options.machine.boot() === undefined) {
    return withFailure(done, 'nothing on this host tells one boot from another', at);
  }
  const reboot = { number, at: at.toISOString(), ...(kind.isOwn && { is_own: true }) };
  // The result of a run that goes on after the reboot is no answer.
  return { ...done, reboot, ...(kind.runsAgain && { result: null }) };
}

async function rebootFor(
  options: AfterRun,
  done: JournalEntry,
): Promise<'none' | { readonly runsAgain: boolean; readonly isOwn: boolean }> {
  const status = done.result?.status_code ?? 0;
  switch (rebootOf(done.request.options)) {
    case undefined:
      return 'none';
    case 'after':
      return hasFailed(done) ? 'none' : { runsAgain: false, isOwn: false };
    case 'on status 194':
      return status === rebootStatus ? { runsAgain: true, isOwn: false } : 'none';
    case 'allowed': {
      // The shutdown that the config ordered may have ended its program.
      const isCut = status > 128;
      if (hasFailed(done) && !isCut) return 'none';
      return (await willGoDown(options)) ? { runsAgain: isCut, isOwn: true } : 'none';
    }
  }
}

/** Whether the machine goes down. What a config left in the background has some seconds to order that. */
async function willGoDown({ machine, lives, signal }: AfterRun): Promise<boolean> {
  const end = performance.now() + backgroundMs;
  while (!(await machine.goesDown())) {
    if (performance.now() > end || !(await lives())) return machine.goesDown();
    await sleep(lookEveryMs, undefined, { signal });
  }
  return true;
}

/** Reports once that the machine goes down while a config runs that may reboot it. Ends with the signal. */
export async function watchShutdown(options: RebootOptions, entry: JournalEntry): Promise<void> {
  const { machine, signal, report } = options;
  if (rebootOf(entry.request.options) !== 'allowed') return;
  try {
    while (!(await machine.goesDown())) await sleep(shutdownEveryMs, undefined, { signal });
    await report({ number: Math.min((entry.reboots ?? 0) + 1, mostReboots) });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function withResult(entry: JournalEntry, result: HostResponse): JournalEntry {
  const { reboots } = entry;
  return { ...entry, result: { ...result, ...(reboots !== undefined && { reboots }) } };
}

function withFailure(entry: JournalEntry, why: string, at: Date): JournalEntry {
  const { reboot: _failed, ...rest } = entry;
  const result = rest.result ?? { id: entry.id, stdout: '', stderr: '', truncated: false, outputs: {} };
  const error = `cannot reboot the host: ${why}`;
  const finished_at = at.toISOString();
  return { ...rest, result: { finished_at, ...result, status_code: failedStatus, error } };
}

export interface RebootOptions {
  readonly machine: Machine;
  readonly log: Log;
  readonly now: () => Date;
  /** Stops the waiting: the agent stops, perhaps because its host goes down. */
  readonly signal: AbortSignal;
  /** Reports the reboot to the server. Takes a few seconds at most, and never rejects. */
  readonly report: (reboot: HostReboot) => Promise<void>;
}

/** Reboots the host, and resolves when it is back: with the result, or with the entry that runs again. */
export async function rebootHost(options: RebootOptions, entry: JournalEntry): Promise<JournalEntry> {
  const { machine, log, now, signal, report } = options;
  const { reboot: pending, request } = entry;
  if (!pending) return entry;
  const isOver = (): boolean => hasRebooted(entry, machine.boot());
  if (!isOver()) {
    await report({ number: pending.number });
    signal.throwIfAborted();
    if (pending.is_own !== true) {
      log.warn({ request: request.id, number: pending.number }, 'rebooting the host for a config');
      try {
        await machine.reboot();
      } catch (error) {
        return withFailure(entry, error instanceof Error ? error.message : String(error), now());
      }
    }
    const limitMs = rebootLimitMs(request.options);
    const end = Date.parse(pending.at) + limitMs;
    while (!isOver()) {
      if (now().getTime() >= end) {
        return withFailure(entry, `it has not gone down within ${limitMs / 1000} s (options.reboot_timeout)`, now());
      }
      await sleep(lookEveryMs, undefined, { signal });
    }
  }
  return afterReboot(options, entry);
}

/** The entry of a reboot that is over. */
async function afterReboot({ now, report }: RebootOptions, entry: JournalEntry): Promise<JournalEntry> {
  const number = entry.reboot?.number ?? 1;
  const { reboot: _over, again_at: _before, ...rest } = entry;
  const { result } = rest;
  if (result) {
    return { ...rest, reboots: number, result: { ...result, reboots: number, finished_at: now().toISOString() } };
  }
  await report({ number, over: true });
  return { ...rest, reboots: number, again: true };
}
