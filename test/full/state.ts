/** The kept state of a run, so that `--resume` continues it, and the next run removes what a killed one left. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processes } from '../processes.ts';
import { RefusedRun, type FullRun } from './choose.ts';
import { isPartFolder, killPart, removeTraces, type PartTrace } from './ending.ts';

/** The folder of the state, the logs and the report. Git ignores it. */
export const stateFolder = '.anneal-test';
const file = join(stateFolder, 'run.json');

/** A run with its part that runs. */
export interface KeptRun extends FullRun {
  readonly running?: { readonly runner: number; readonly trace: PartTrace };
}

/** The last run of this clone. */
export function readRun(): KeptRun | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as KeptRun;
  } catch {
    return undefined; // There was none.
  }
}

/** Writes a file of the folder so that a kill leaves the old or the new one. */
export function keepFile(path: string, text: string): void {
  mkdirSync(stateFolder, { recursive: true });
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

/** Keeps a run. */
export const writeRun = (run: KeptRun): void => keepFile(file, `${JSON.stringify(run, null, 2)}\n`);

/** Ends what a killed run left. @throws when the run is still in progress */
export async function recoverFrom({ running }: KeptRun): Promise<void> {
  if (!running) return;
  const { runner, trace } = running;
  if (processes().some(({ pid, command }) => pid === runner && command.includes('full/main.ts'))) {
    throw new RefusedRun(`Another run of this clone is in progress (process ${runner}): wait for it, or end it.`);
  }
  // A damaged file must not name another folder, whose processes would be killed.
  if (!isPartFolder(trace.folder)) return;
  await killPart(trace);
  removeTraces(trace);
}
