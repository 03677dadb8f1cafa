/**
 * Ends everything that a machine started, daemons included.
 *
 * P1 A process belongs to a machine when its environment names the machine, when it works in the machine's folder, or
 *    when its parent belongs: leaving the session (`setsid`), the group or the terminal (`nohup`) does not hide it.
 * P2 `killProcesses` resolves when a scan finds none left: a process that forks during one scan is found by the next.
 * P3 This process and its ancestors are never touched, whatever folder they were started in.
 */
import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** The environment variable that names the machine's folder. */
export const machineVariable = 'ANNEAL_LAB_MACHINE';

interface Sighting {
  readonly pid: number;
  readonly parent: number;
  /** Machine folders that its environment or its working folder points into. */
  readonly environment: string;
  readonly folder: string;
}

/** Processes that belong to the machine (or any machine) below this folder. */
export async function processesOf(directory: string): Promise<number[]> {
  const all = process.platform === 'linux' ? await sightingsOfProc() : await sightingsOfPs();
  return belonging(all, directory, process.pid);
}

/** Pure: which of the sightings belong to `directory` or a folder below it. */
export function belonging(all: readonly Sighting[], directory: string, self: number): number[] {
  const inside = (path: string): boolean => path === directory || path.startsWith(directory + sep);
  const parentOf = new Map(all.map(({ pid, parent }) => [pid, parent]));
  const spared = new Set<number>();
  for (let pid: number | undefined = self; pid !== undefined && pid > 0 && !spared.has(pid); pid = parentOf.get(pid))
    spared.add(pid);

  const found = new Set<number>();
  for (const { pid, environment, folder } of all) {
    if (!spared.has(pid) && (inside(environment) || inside(folder))) found.add(pid);
  }
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const { pid, parent } of all) if (found.has(parent) && !spared.has(pid)) found.add(pid);
  }
  return [...found];
}

/** Rejects when some survive `deadlineMs` (a process in an uninterruptible wait). */
export async function killProcesses(directory: string, { deadlineMs = 10_000 } = {}): Promise<void> {
  const until = Date.now() + deadlineMs;
  for (;;) {
    const pids = await processesOf(directory);
    if (pids.length === 0) return;
    for (const pid of pids) signal(pid, 'SIGKILL');
    if (Date.now() > until) throw new Error(`Processes ${pids.join(', ')} of ${directory} do not end`);
    await sleep(15);
  }
}

/** Sends SIGTERM to the processes and waits until they have ended, at most `graceMs`. */
export async function terminateProcesses(directory: string, graceMs: number): Promise<void> {
  const until = Date.now() + graceMs;
  const asked = new Set<number>();
  for (;;) {
    const pids = await processesOf(directory);
    if (pids.length === 0 || Date.now() > until) return;
    for (const pid of pids) {
      if (!asked.has(pid)) signal(pid, 'SIGTERM');
      asked.add(pid);
    }
    await sleep(50);
  }
}

function signal(pid: number, name: 'SIGKILL' | 'SIGTERM'): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has already ended.
  }
}

async function sightingsOfProc(): Promise<Sighting[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const seen = await Promise.all(
    pids.map(async (pid): Promise<Sighting | undefined> => {
      const [status, environment, folder] = await Promise.all([
        readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''),
        // Unreadable: the process of another user, or one that has just ended. Neither is ours.
        readFile(`/proc/${pid}/environ`, 'utf8').catch(() => ''),
        readlink(`/proc/${pid}/cwd`).catch(() => ''),
      ]);
      // The name in parentheses may hold spaces and parentheses; state and parent follow the last one.
      const [state, parent] = status.slice(status.lastIndexOf(')') + 2).split(' ');
      if (state === undefined || state === 'Z' || state === 'X') return undefined;
      return { pid: Number(pid), parent: Number(parent), environment: variableIn(environment.split('\0')), folder };
    }),
  );
  return seen.filter((sighting) => sighting !== undefined);
}

/** Outside Linux, `ps` prints the environment of the user's own processes after the command. */
async function sightingsOfPs(): Promise<Sighting[]> {
  const { stdout } = await promisify(execFile)('ps', ['axeww', '-o', 'pid=,ppid=,command='], { maxBuffer: 64 << 20 });
  return stdout.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line);
    if (!match) return [];
    return [
      {
        pid: Number(match[1]),
        parent: Number(match[2]),
        environment: variableIn((match[3] ?? '').split(' ')),
        folder: '',
      },
    ];
  });
}

const variableIn = (variables: readonly string[]): string =>
  variables.find((text) => text.startsWith(`${machineVariable}=`))?.slice(machineVariable.length + 1) ?? '';
