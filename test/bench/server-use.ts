/** Use of the processor and memory by a server's process with its threads since its start, which Linux counts in `/proc`. */
import { readFileSync } from 'node:fs';

interface ProcessUse {
  readonly cpuSeconds: number;
  readonly peakMebibytes: number;
}

/** `pid` is undefined while the server does not run. @throws when there is no such process */
export function useOf({ pid }: { readonly pid: number | undefined }): ProcessUse {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The fields after the name of the program, which may contain blanks. Ticks are hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100, peakMebibytes: Number(peak) / 1024 };
}

/** Time and processor time of the server, both in seconds, of one action. */
export interface Step {
  readonly wall: number;
  readonly cpu: number;
}

export async function timed(server: { readonly pid: number | undefined }, act: () => Promise<unknown>): Promise<Step> {
  const { cpuSeconds: before } = useOf(server);
  const start = performance.now();
  await act();
  return { wall: (performance.now() - start) / 1000, cpu: useOf(server).cpuSeconds - before };
}

/** Bytes that a process has written to files and connections since its start. */
export const bytesWrittenBy = (pid: number): number =>
  Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
