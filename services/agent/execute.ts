/**
 * Takes one request from the journal to its result, even when the agent or the machine restarts in between.
 *
 * X1 A running program is never started again: the agent finds it by its run folder and waits for it.
 * X2 A program that vanished is started again until `maxAttempts` is reached, unless `options.on_interrupt` is `fail`.
 *    A reboot that `options.reboot: allowed` permits is no such end: the program runs again after it, within B3.
 * X3 At the deadline of the request, and when the server withdraws it, the agent ends every process of the run. This is
 *    the result, whatever the ended program leaves, and also when the agent dies meanwhile.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  graceMs,
  outputLimit,
  stoppedReason,
  type HostRequest,
  type HostResponse,
} from '@anneal/contracts/calls/host-messages.ts';
import type { Log } from './log.ts';
import type { JournalEntry, Journal } from './journal.ts';
import type { Machine } from './machine.ts';
import { readTail } from './output.ts';
import { againAfterReboot, isCutByReboot, rebootHint, rebootVariables } from './reboot.ts';
import { runFolder, trimStreams, workFolder } from './run-folder.ts';
import {
  awaitEnd,
  endAll,
  stopReasonOf,
  launch,
  revoke,
  statusOf,
  wrapperOf,
  type StopReason,
  type ProcessEnd,
} from './supervise.ts';
import { findTool, hookFolders } from './tools/find.ts';
import type { Tool, ToolResult } from './tools/tool.ts';

export interface ExecuteOptions {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly journal: Journal;
  readonly log: Log;
  readonly machine: Machine;
  readonly now: () => Date;
  /** Stops the waiting. The program keeps running. */
  readonly signal: AbortSignal;
  /** Called with the process group of a program when it is known, so that a simulated power cut can end it. */
  readonly onGroup: (pid: number) => void;
  readonly onTool: (tool: Tool) => void;
  readonly onStarted: (at: string) => void;
  /** Reports that the host is back from a reboot that the config itself has caused. */
  readonly onRebooted: (number: number) => Promise<void>;
  /** Aborted when the server withdraws the run. */
  readonly stop: AbortSignal;
  /** Sends an output as bytes. Resolves with the mistake when the server does not store it. */
  readonly storeOutput: (name: string, file: string) => Promise<string | undefined>;
}

export const maxToolRuns = 3;
/** How long a preparation waits for space on a full disk. */
const spaceWaitMs = 10_000;
/** Exit status at the deadline, the same as that of `timeout` in coreutils. */
const deadlineStatus = 124;
/** Exit status of a withdrawn run, the same as that of a shell whose program SIGTERM ended. */
const stoppedStatus = 143;
const interruptedStatus = 125;
const notRunStatus = 126;
const noToolStatus = 127;

/** Ends every run with a result, whatever the run does to the host. Throws only when the agent stops. */
export async function execute(options: ExecuteOptions, entry: JournalEntry): Promise<HostResponse> {
  try {
    return await applied(options, entry);
  } catch (error) {
    options.signal.throwIfAborted();
    const current = options.journal.get(entry.id) ?? entry;
    options.log.error({ err: error, request: entry.id }, 'config not applied; its result contains the error');
    const why = error instanceof Error ? error.message : String(error);
    return failed(current, options.now(), { status_code: notRunStatus, error: `the agent could not apply it: ${why}` });
  }
}

async function applied(options: ExecuteOptions, entry: JournalEntry): Promise<HostResponse> {
  const { directory, journal, machine, now } = options;
  const { request } = entry;
  const found = await findTool(hookFolders(directory, options.environment), request.group);
  if ('unknown' in found) return failed(entry, now(), { status_code: noToolStatus, error: found.unknown });
  options.onTool(found.tool);
  const run = runFolder(directory, request.id);

  let current = entry;
  let ending = await resume(options, current, run);
  while (ending.kind === 'not begun' || ending.kind === 'vanished') {
    if (options.stop.aborted) return failed(current, now(), { status_code: stoppedStatus, error: stoppedReason });
    if (leftOf(current, now()) <= 0) {
      ending = { kind: 'deadline' };
      break;
    }
    if (ending.kind === 'vanished') {
      const again = runsAgain(current, machine.boot());
      if (typeof again === 'string') return failed(current, now(), { status_code: interruptedStatus, error: again });
      if (again.reboots !== current.reboots) await options.onRebooted(again.reboots ?? 1);
      current = again;
      options.log.warn(
        { request: request.id, attempt: current.attempts },
        'program of a config disappeared; running it again',
      );
    }
    const attempt = current.attempts + 1;
    const began = now().toISOString();
    const started_at = current.started_at ?? began;
    let launched: number | undefined;
    try {
      const program = await whenDiskHasSpace(options.signal, async () => {
        await mkdir(workFolder(run), { recursive: true, mode: 0o700 });
        const environment = { ...options.environment, ...rebootVariables(current) };
        return found.tool.prepare({ request, run, environment });
      });
      await Promise.all(['stdout', 'stderr'].map((stream) => rm(join(run, stream), { force: true })));
      current = begunAgain({ ...current, state: 'started', attempts: attempt, started_at }, began, machine.boot());
      journal.put(current);
      launched = await launch({ run, attempt, program });
    } catch (error) {
      return failed(current, now(), {
        status_code: notRunStatus,
        error: `cannot start its program: ${error instanceof Error ? error.message : String(error)}`,
      });
    }
    options.onStarted(started_at);
    ending = cut(await watch(options, current, { run, launched }), current, machine);
  }
  return report(options, { entry: current, tool: found.tool, ending, run });
}

/**
 * Repeats a preparation that finds the disk full, for some seconds: a program of an earlier config that was just killed
 * holds the space of its files until the kernel has ended it. The preparation must allow a repeat.
 */
async function whenDiskHasSpace<T>(signal: AbortSignal, prepare: () => Promise<T>): Promise<T> {
  const end = performance.now() + spaceWaitMs;
  for (;;) {
    try {
      return await prepare();
    } catch (error) {
      const isFull = (error as NodeJS.ErrnoException).code === 'ENOSPC';
      if (!isFull || performance.now() > end) throw error;
      await sleep(100, undefined, { signal });
    }
  }
}

type RunEnding = ProcessEnd | { readonly kind: StopReason };

/** Waits for the attempt that the agent began before its last restart, or reports that the attempt never began. */
async function resume(
  options: ExecuteOptions,
  entry: JournalEntry,
  run: string,
): Promise<RunEnding | { readonly kind: 'not begun' }> {
  const { attempts } = entry;
  if (attempts === 0 || entry.again === true) return { kind: 'not begun' };
  const reason = await stopReasonOf(run, attempts);
  if (reason) return endedFor(reason, entry, run);
  const status = await statusOf(run, attempts);
  if (status !== undefined) return cut({ kind: 'exited', status }, entry, options.machine);
  // The agent died after it recorded the start and before it started the program. Revoke the attempt; it does not
  // count.
  if (await revoke(run, attempts)) return { kind: 'not begun' };
  return watch(options, entry, { run });
}

/** A program that the reboot of its host ended, although it may have left a status, has vanished. */
const cut = (ending: RunEnding, entry: JournalEntry, machine: Machine): RunEnding =>
  ending.kind === 'exited' && isCutByReboot(entry, ending.status, machine.boot()) ? { kind: 'vanished' } : ending;

/** The entry of a program that begins, in this boot of its host. */
function begunAgain(
  { again, boot: _earlier, ...entry }: JournalEntry,
  began: string,
  boot: string | undefined,
): JournalEntry {
  return { ...entry, ...(boot !== undefined && { boot }), ...(again === true && { again_at: began }) };
}

/** The entry of a program that vanished and runs again. A text: why it does not. */
function runsAgain(entry: JournalEntry, boot: string | undefined): JournalEntry | string {
  const { request, attempts, reboots = 0 } = entry;
  if (isCutByReboot(entry, undefined, boot)) return againAfterReboot(entry);
  const hint = rebootHint(entry, boot);
  if (request.options.on_interrupt === 'fail') {
    return `interrupted: its program ended without an exit status (power failure or kill), and options.on_interrupt is fail${hint}`;
  }
  if (attempts - reboots < maxToolRuns) return entry;
  return `interrupted: its program ended without an exit status ${attempts - reboots} times (power failure or kill)${hint}`;
}

async function endedFor(reason: StopReason, { attempts, request }: JournalEntry, run: string): Promise<RunEnding> {
  await endAll({ run, attempt: attempts, reason }, graceMs(request.options));
  return { kind: reason };
}

async function watch(
  options: ExecuteOptions,
  entry: JournalEntry,
  { run, launched }: { run: string; launched?: number | undefined },
): Promise<RunEnding> {
  const { signal, now } = options;
  const attempt = entry.attempts;
  const over = new AbortController();
  const pid = launched ?? (await wrapperOf(run, attempt));
  // The wrapper leads a process group of its own.
  if (pid !== undefined) options.onGroup(pid);
  const left = Math.max(0, leftOf(entry, now()));
  const timer = setTimeout(() => over.abort(), Math.min(left, 2_147_483_647));
  try {
    return await awaitEnd({
      run,
      attempt,
      pid,
      signal: AbortSignal.any([signal, over.signal, options.stop]),
      whileItRuns: () => trimStreams(run),
    });
  } catch (error) {
    if (signal.aborted || !(over.signal.aborted || options.stop.aborted)) throw error;
    return await endedFor(over.signal.aborted ? 'deadline' : 'stopped', entry, run);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Milliseconds that the program may still run. The limit counts from its start, by the clock of this host, because that
 * clock may differ from the server's. Only a request without a `timeout` depends on its absolute deadline.
 */
function leftOf({ request, started_at, again, again_at }: JournalEntry, now: Date): number {
  if (request.timeout === undefined) return Date.parse(request.deadline) - now.getTime();
  const since = again === true ? null : (again_at ?? started_at);
  const ran = since === null ? 0 : now.getTime() - Date.parse(since);
  return request.timeout * 1000 - Math.max(0, ran);
}

async function report(
  options: ExecuteOptions,
  { entry, tool, ending, run }: { entry: JournalEntry; tool: Tool; ending: RunEnding; run: string },
): Promise<HostResponse> {
  const { environment, now } = options;
  const { request } = entry;
  const [stdout, stderr] = await Promise.all([
    readTail(join(run, 'stdout'), outputLimit),
    readTail(join(run, 'stderr'), outputLimit),
  ]);
  const result: ToolResult =
    ending.kind === 'exited'
      ? await tool.collect({ request, run, environment, status: ending.status })
      : endedEarly(request, ending.kind);
  const { stored, mistakes } = await storeFiles(options, result.files ?? new Map());
  const error = [...(result.error === undefined ? [] : [result.error]), ...mistakes].join('; ');
  const truncated = stdout.truncated || stderr.truncated;
  return fitted({
    id: request.id,
    status_code: result.status_code,
    stdout: result.stdout ?? stdout.text,
    stderr: result.stderr ?? stderr.text,
    truncated,
    outputs: result.outputs,
    ...(truncated && { facts: { last_run_directory: run } }),
    ...(entry.started_at !== null && { started_at: entry.started_at }),
    finished_at: now().toISOString(),
    ...(stored.length > 0 && { stored }),
    ...(error !== '' && { error }),
  });
}

function endedEarly({ timeout, deadline }: HostRequest, kind: Exclude<RunEnding['kind'], 'exited'>): ToolResult {
  if (kind === 'stopped') return { status_code: stoppedStatus, outputs: {}, error: stoppedReason };
  const error =
    timeout === undefined
      ? `deadline: it was still running at ${deadline} and was stopped`
      : // The server hands out what is left of the limit, some milliseconds less than its user gave.
        `deadline: it ran longer than ${Number(timeout.toFixed(1))} s and was stopped`;
  return { status_code: deadlineStatus, outputs: {}, error };
}

/** Sends the outputs that are long or no text, as bytes. */
async function storeFiles(
  options: ExecuteOptions,
  files: ReadonlyMap<string, string>,
): Promise<{ stored: string[]; mistakes: string[] }> {
  const stored: string[] = [];
  const mistakes: string[] = [];
  for (const [name, file] of files) {
    const mistake = await options.storeOutput(name, file);
    if (mistake === undefined) stored.push(name);
    else mistakes.push(`cannot read output ${name.slice(0, 100)}: ${mistake}`);
  }
  return { stored, mistakes };
}

function failed(entry: JournalEntry, at: Date, result: { status_code: number; error: string }): HostResponse {
  return {
    id: entry.request.id,
    status_code: result.status_code,
    stdout: '',
    stderr: '',
    truncated: false,
    outputs: {},
    error: result.error,
    ...(entry.started_at !== null && { started_at: entry.started_at }),
    finished_at: at.toISOString(),
  };
}

/** One post holds at most 256 KiB. JSON escapes can make a stream longer than it is. */
const postLimit = 240 * 1024;
const sizeOf = (response: HostResponse): number => Buffer.byteLength(JSON.stringify(response));

export function fitted(response: HostResponse): HostResponse {
  let fit = response;
  for (let keep = outputLimit; sizeOf(fit) > postLimit && keep > 1024; keep /= 2) {
    fit = { ...fit, truncated: true, stdout: fit.stdout.slice(-keep), stderr: fit.stderr.slice(-keep) };
  }
  if (sizeOf(fit) <= postLimit) return fit;
  return {
    ...fit,
    outputs: {},
    status_code: fit.status_code === 0 ? 1 : fit.status_code,
    error: `its outputs together are larger than ${postLimit} bytes`,
  };
}
