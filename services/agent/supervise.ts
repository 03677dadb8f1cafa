/**
 * Runs a program that outlives its agent, detached under a few lines of `sh` that record its exit status.
 *
 * V1 An attempt starts at most once: the wrapper first creates a symbolic link `started.<n>` to its own process id,
 *    which only one process can create. An agent that must know whether an attempt began tries to create the link
 *    itself.
 * V2 The exit status is the target of the symbolic link `status.<n>` before the wrapper ends, unless it was killed.
 * V3 A process counts as the wrapper only while its command line names this run, because process ids are reused.
 * V4 An agent that ends an attempt first creates the link `ended.<n>` to the reason. The status that the ended program
 *    leaves is not its own, also for the next agent.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdir, readdir, readFile, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readWhole } from './output.ts';
import { workFolder } from './run-folder.ts';

export interface ToolProgram {
  /** Executed directly, without a shell. */
  readonly command: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string>>;
}

export type ProcessEnd =
  | { readonly kind: 'exited'; readonly status: number }
  /** The program ended without a status: the power was cut, or a user killed it. */
  | { readonly kind: 'vanished' };

/**
 * The status is a symbolic link too: it is created atomically and needs no space on a full disk. The streams are opened
 * for appending, so that the agent can trim them meanwhile.
 *
 * A trap that does nothing is reset in the child, so that a signal to the group ends the program and not the wrapper.
 */
const wrapper = `
trap : TERM INT HUP
run=$1 attempt=$2; shift 2
ln -s "$$" "$run/started.$attempt" 2>/dev/null || exit 0
"$@" <"$run/stdin" >>"$run/stdout" 2>>"$run/stderr"
status=$?
ln -s "$status" "$run/status.$attempt" || { rm -f "$run/stdin" && ln -s "$status" "$run/status.$attempt"; }
`;
/** The target of `started.<n>` instead of a process id, when an agent has revoked the attempt. */
const revoked = 'revoked';
const stopReasons = ['deadline', 'stopped'] as const;
/** Why an agent ends a program. */
export type StopReason = (typeof stopReasons)[number];
/** Every process of a run has its folder in this variable, also in another session. */
const markName = 'anneal_run';
const lookEveryMs = 100;
/** The looks of 100 ms after which an attempt without any trace counts as one that never began. */
const patienceLooks = 150;

/**
 * Resolves with the process id of the wrapper when it runs; rejects when it cannot be started (an environment that is too
 * large, …).
 */
export async function launch(options: {
  run: string;
  attempt: number;
  program: ToolProgram;
}): Promise<number | undefined> {
  const { run, attempt, program } = options;
  const child = spawn('/bin/sh', ['-c', wrapper, 'anneal-run', run, String(attempt), ...program.command], {
    cwd: workFolder(run),
    env: { ...program.environment, [markName]: run },
    // A session and process group of its own: it survives the agent, and can be ended as a whole.
    detached: true,
    stdio: 'ignore',
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  child.unref();
  return child.pid;
}

/** The process id of the wrapper. Undefined until the attempt is known to have started. */
export async function wrapperOf(run: string, attempt: number): Promise<number | undefined> {
  try {
    const target = await readlink(join(run, `started.${attempt}`));
    return /^\d+$/.test(target) ? Number(target) : undefined;
  } catch {
    return undefined;
  }
}

/** Prevents an attempt from beginning. False when it has already begun. */
export async function revoke(run: string, attempt: number): Promise<boolean> {
  const mark = join(run, `started.${attempt}`);
  try {
    // A program may have deleted the folder.
    await mkdir(run, { recursive: true, mode: 0o700 });
    await symlink(revoked, mark);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return (await readlink(mark)) === revoked;
  }
}

export async function statusOf(run: string, attempt: number): Promise<number | undefined> {
  const mark = join(run, `status.${attempt}`);
  // Earlier versions wrote the status into a file. Their program may still run after an upgrade of the agent.
  const text = await readlink(mark).catch(async () => (await readWhole(mark, 16).catch(() => '')).toString().trim());
  return /^\d{1,3}$/.test(text) ? Number(text) : undefined;
}

/** Waits for the end of an attempt, including one that an earlier agent process began. */
export async function awaitEnd(options: {
  run: string;
  attempt: number;
  /** The wrapper, when it is known. */
  pid?: number | undefined;
  signal: AbortSignal;
  /** Called at every poll. */
  whileItRuns: () => Promise<void>;
}): Promise<ProcessEnd> {
  const { run, attempt, signal, whileItRuns } = options;
  let { pid } = options;
  for (let looks = 0; ; looks += 1) {
    signal.throwIfAborted();
    const status = await statusOf(run, attempt);
    if (status !== undefined) return { kind: 'exited', status };
    // Short scripts are the common case, so poll often at first.
    await sleep(Math.min(lookEveryMs, 5 + looks * 2), undefined, { signal });
    await whileItRuns();
    // The link is gone when the program deletes its folder.
    pid = (await wrapperOf(run, attempt)) ?? pid;
    if (pid === undefined) {
      // The wrapper was killed on its first line, before the attempt began. Revoking it keeps it from beginning later.
      if (looks > patienceLooks && (await revoke(run, attempt))) return { kind: 'vanished' };
      continue;
    }
    if (await isWrapper(pid, run)) continue;
    const last = await statusOf(run, attempt);
    return last === undefined ? { kind: 'vanished' } : { kind: 'exited', status: last };
  }
}

export async function isWrapper(pid: number, run: string): Promise<boolean> {
  const line = process.platform === 'linux' ? await commandLineOfProc(pid) : await commandLineOfPs(pid);
  return line.includes(run);
}

async function commandLineOfProc(pid: number): Promise<string> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

async function commandLineOfPs(pid: number): Promise<string> {
  try {
    return (await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)])).stdout;
  } catch {
    return '';
  }
}

/** Signals the whole process group. False when the group no longer exists. */
export function signalGroup(pid: number, name: 'SIGTERM' | 'SIGKILL'): boolean {
  try {
    process.kill(-pid, name);
    return true;
  } catch {
    return false;
  }
}

/** The processes of a run, found by their environment. Empty where there is no `/proc`. */
export async function processesOfRun(run: string): Promise<number[]> {
  const mark = `\0${markName}=${run}\0`;
  const names = await readdir('/proc').catch(() => []);
  const found = await Promise.all(
    names.map(async (name) => {
      if (!/^\d+$/.test(name)) return [];
      const environment = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '');
      return `\0${environment}\0`.includes(mark) ? [Number(name)] : [];
    }),
  );
  return found.flat();
}

function signalOne(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

const killRounds = 40;

/** Why an agent has begun to end the attempt. */
export async function stopReasonOf(run: string, attempt: number): Promise<StopReason | undefined> {
  const target = await readlink(join(run, `ended.${attempt}`)).catch(() => '');
  return stopReasons.find((each) => each === target);
}

/**
 * Ends a run with everything that it started, also what left its process group: SIGTERM, and SIGKILL after the grace
 * period. A repeat keeps the first reason, and goes on where an agent that died left it.
 */
export async function endAll(
  { run, attempt, reason }: { run: string; attempt: number; reason: StopReason },
  graceMs: number,
): Promise<void> {
  // It exists after a death of the agent. A program may have deleted the folder.
  await symlink(reason, join(run, `ended.${attempt}`)).catch(() => undefined);
  const wrapperPid = await wrapperOf(run, attempt);
  const group = wrapperPid !== undefined && (await isWrapper(wrapperPid, run)) ? wrapperPid : undefined;
  const signalAll = async (name: 'SIGTERM' | 'SIGKILL'): Promise<number> => {
    const pids = await processesOfRun(run);
    if (group !== undefined) signalGroup(group, name);
    for (const pid of pids) if (pid !== group || name === 'SIGKILL') signalOne(pid, name);
    return pids.length;
  };
  await signalAll('SIGTERM');
  const until = performance.now() + graceMs;
  while (performance.now() < until) {
    if ((await statusOf(run, attempt)) !== undefined && (await processesOfRun(run)).length === 0) return;
    await sleep(50);
  }
  // A process may start another one between the look and the signal.
  for (let round = 0; round < killRounds && (await signalAll('SIGKILL')) > 0; round += 1) await sleep(25);
}
