/**
 * A program that outlives its agent: run detached under a few lines of `sh` that write down how it ended.
 *
 * V1 An attempt starts at most once: the wrapper begins by making a symbolic link `started.<n>` to its own process id,
 *    which only one process can make. An agent that must know whether an attempt began tries to make it first.
 * V2 The exit status is in the file `status` before the wrapper is gone, unless it was killed.
 * V3 A process is only taken for the wrapper while its command line names this run: ids are used again.
 */
import { execFile, spawn } from 'node:child_process';
import { readFile, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

export interface Program {
  /** Executed as it is: no shell looks at it. */
  readonly command: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string>>;
}

export type Ending =
  | { readonly kind: 'exited'; readonly status: number }
  /** It is gone and left no status: the power was cut, or somebody killed it. */
  | { readonly kind: 'vanished' };

/** A trap that does nothing is reset in the child, so that a signal to the group ends the program and not its witness. */
const wrapper = `
trap : TERM INT HUP
run=$1 attempt=$2; shift 2
ln -s "$$" "$run/started.$attempt" 2>/dev/null || exit 0
"$@" <"$run/stdin" >"$run/stdout" 2>"$run/stderr"
status=$?
printf '%s\\n' "$status" >"$run/status.$attempt.new" && mv "$run/status.$attempt.new" "$run/status.$attempt"
`;
/** What stands where a process id would, when an agent made sure that an attempt never begins. */
const revoked = 'revoked';
const lookEveryMs = 100;
const patienceLooks = 150;

/** Resolves when the wrapper runs; rejects when it cannot be started (an environment that is too large, …). */
export async function launch(options: { run: string; attempt: number; program: Program }): Promise<void> {
  const { run, attempt, program } = options;
  const child = spawn('/bin/sh', ['-c', wrapper, 'anneal-run', run, String(attempt), ...program.command], {
    cwd: run,
    env: { ...program.environment },
    // A session and process group of its own: it survives the agent, and can be ended as a whole.
    detached: true,
    stdio: 'ignore',
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  child.unref();
}

/** Undefined while it is not known to have started. */
export async function wrapperOf(run: string, attempt: number): Promise<number | undefined> {
  try {
    const target = await readlink(join(run, `started.${attempt}`));
    return /^\d+$/.test(target) ? Number(target) : undefined;
  } catch {
    return undefined;
  }
}

/** Makes sure that an attempt which has not begun never will. False: it has begun. */
export async function revoke(run: string, attempt: number): Promise<boolean> {
  try {
    await symlink(revoked, join(run, `started.${attempt}`));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return (await readlink(join(run, `started.${attempt}`))) === revoked;
  }
}

export async function statusOf(run: string, attempt: number): Promise<number | undefined> {
  try {
    return Number((await readFile(join(run, `status.${attempt}`), 'utf8')).trim());
  } catch {
    return undefined;
  }
}

/** Waits for the end of an attempt that began, whoever began it. */
export async function awaitEnd(options: { run: string; attempt: number; signal: AbortSignal }): Promise<Ending> {
  const { run, attempt, signal } = options;
  for (let looks = 0; ; looks += 1) {
    signal.throwIfAborted();
    const status = await statusOf(run, attempt);
    if (status !== undefined) return { kind: 'exited', status };
    // Short scripts are the common case: look often at first.
    await sleep(Math.min(lookEveryMs, 5 + looks * 2), undefined, { signal });
    const pid = await wrapperOf(run, attempt);
    if (pid === undefined) {
      // It was launched and never began: killed on its first line. Nobody can begin it after this.
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

/** The whole process group. False when there is none any more. */
export function signalGroup(pid: number, name: 'SIGTERM' | 'SIGKILL'): boolean {
  try {
    process.kill(-pid, name);
    return true;
  } catch {
    return false;
  }
}
