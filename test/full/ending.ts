/**
 * Ends everything that a part of the tests has started.
 *
 * N1 A process of a part has the temporary folder of the part in its environment: as TMPDIR, or as part of a path in it when
 *    its parent gave it an environment of its own. So it is found after it has left its process group or lost its parent.
 * N2 A mount of a part is below that folder.
 * N3 A network namespace of a part has the id of the process that made it in its name.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processes, type Process } from '../processes.ts';

const pollMs = 50;
/** The kernel ends a killed process at once, unless it waits for a disk. */
const killMs = 30_000;

/** The marks of what a part starts. */
export interface PartTrace {
  readonly folder: string;
  /** The network namespaces before the part. */
  readonly namespaces: readonly string[];
}

/** Marks for a new part. */
export function newTrace(): PartTrace {
  // A short name, because the path of a Unix socket has at most 107 bytes.
  const folder = mkdtempSync(join(tmpdir(), 'af-'));
  // Like /tmp, because some programs run as other users.
  chmodSync(folder, 0o1777);
  return { folder, namespaces: networkNamespaces() };
}

/** True for a folder that `newTrace` has made. */
export const isPartFolder = (folder: string): boolean => /\/af-\w{6}$/.test(folder);

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // It is gone, or it belongs to another user.
  }
}

/** The processes of a part. None where there is no `/proc`. */
export const partProcesses = ({ folder }: PartTrace): Process[] =>
  processes().filter(({ pid }) => pid !== process.pid && textOf(`/proc/${pid}/environ`).includes(folder));

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

async function until(isTrue: () => boolean, withinMs: number): Promise<void> {
  const end = performance.now() + withinMs;
  while (!isTrue() && performance.now() < end) await sleep(pollMs);
}

/** Kills the processes of a part until none is left. Returns those that it found. */
export async function killPart(trace: PartTrace): Promise<Process[]> {
  const found = new Map<number, Process>();
  await until(() => {
    const left = partProcesses(trace);
    for (const each of left) {
      found.set(each.pid, each);
      send(each.pid, 'SIGKILL');
    }
    return left.length === 0;
  }, killMs);
  return [...found.values()];
}

interface PartGroup {
  /** The process group of its command, and so the id of its first process. */
  readonly group: number;
  readonly patienceMs: number;
}

/** Ends a command that still runs: asks its process group, and kills everything after a while. */
export async function endPart(
  trace: PartTrace,
  { group, patienceMs, hasEnded }: PartGroup & { hasEnded: () => boolean },
): Promise<void> {
  send(-group, 'SIGTERM');
  await until(() => hasEnded() && partProcesses(trace).length === 0, patienceMs);
  send(-group, 'SIGKILL');
  await killPart(trace);
}

/** Waits for the processes of a command that has ended, and kills those that stay. Returns what it killed. */
export async function killLeftovers(trace: PartTrace, { group, patienceMs }: PartGroup): Promise<string[]> {
  await until(() => partProcesses(trace).length === 0, patienceMs);
  const killed = await killPart(trace);
  // A process whose environment names nothing may still be in the group.
  send(-group, 'SIGKILL');
  return killed.map(({ pid, command }) => `process ${pid} (${command.trim().slice(0, 80)})`);
}

function networkNamespaces(): string[] {
  try {
    return readdirSync('/run/netns');
  } catch {
    return []; // There has never been one.
  }
}

function mountsBelow(folder: string): string[] {
  const points = textOf('/proc/self/mountinfo')
    .split('\n')
    .map((line) =>
      (line.split(' ')[4] ?? '').replace(/\\(\d{3})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    );
  // The last mount first, because it may be on another one.
  return points.filter((point) => point === folder || point.startsWith(`${folder}/`)).toReversed();
}

function attempt(program: string, words: readonly string[]): void {
  try {
    execFileSync(program, words, { stdio: 'ignore' });
  } catch {
    // The caller looks at what is left.
  }
}

/** Removes the mounts, network namespaces and the folder of a part without processes. Returns what the part had left. */
export function removeTraces({ folder, namespaces }: PartTrace): string[] {
  const mounts = mountsBelow(folder);
  for (const mount of mounts) attempt('umount', ['-l', mount]);
  const made = networkNamespaces().filter((name) => {
    const maker = /^anneal-(?:try-)?(\d+)/.exec(name)?.[1];
    return maker !== undefined && !namespaces.includes(name) && textOf(`/proc/${maker}/stat`) === '';
  });
  for (const name of made) attempt('ip', ['netns', 'delete', name]);
  const left = [...mounts.map((mount) => `mount ${mount}`), ...made.map((name) => `network namespace ${name}`)];
  // Never remove what is mounted.
  if (mountsBelow(folder).length > 0) return [...left, `folder ${folder}, which could not be removed`];
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    return left;
  } catch (error) {
    return [...left, `folder ${folder}, which could not be removed: ${(error as Error).message}`];
  }
}
