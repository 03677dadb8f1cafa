/** The processes of this machine. */
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Every process of this machine. None where there is no `/proc`. */
export function processes(): Process[] {
  try {
    return readdirSync('/proc').flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      try {
        const [, rest = ''] = readFileSync(`/proc/${name}/stat`, 'utf8').split(/\) . /);
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 300);
        return [{ pid: Number(name), parent: Number.parseInt(rest, 10), command }];
      } catch {
        return []; // It ended meanwhile.
      }
    });
  } catch {
    return [];
  }
}

/** True for a child that was started and has not ended. */
export const isRunningChild = (child: ChildProcess | undefined): child is ChildProcess =>
  child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
