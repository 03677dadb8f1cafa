/** Runs a part of the tests: shows and keeps its output, ends it at its limit, and leaves nothing behind. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRunningChild } from '../processes.ts';
import type { PartResult } from './choose.ts';
import { endPart, killLeftovers, newTrace, removeTraces, type PartTrace } from './ending.ts';
import type { PartCommand, TestPart } from './parts.ts';
import { failingLines } from './report.ts';

/** The root of the repository, where the programs run. */
const root = join(import.meta.dirname, '..', '..');
/** Enough for the failed tests at the end of the output. */
const keptCharacters = 1_000_000;
/** Time to end in order, before everything is killed. */
const defaultPatienceMs = 10_000;

/** The surroundings of a part. */
export interface PartRun {
  /** The file that keeps the output. */
  readonly log: string;
  /** Ends the part as stopped. */
  readonly stop: AbortSignal;
  readonly patienceMs?: number;
  /** Receives the marks of the part before it starts a process. */
  readonly onBegin: (trace: PartTrace) => void;
  readonly show: (output: string) => void;
}

interface RunningPart extends PartRun {
  readonly part: TestPart;
  readonly trace: PartTrace;
  /** Aborted at the limit, and when the operator stops the run. */
  readonly end: AbortSignal;
}

interface EndedCommand {
  readonly output: string;
  /** Undefined when it did what it should. */
  readonly failure: string | undefined;
}

async function runCommand({ words, fails }: PartCommand, running: RunningPart): Promise<EndedCommand> {
  const { trace, end, part, patienceMs = defaultPatienceMs, show } = running;
  let output = '';
  const child = spawn(process.execPath, words, {
    cwd: root,
    // A separate process group, so that a signal reaches all of it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...part.env, TMPDIR: trace.folder },
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-keptCharacters);
      show(text);
    });
  }
  const closed = once(child, 'close').catch(() => undefined);
  const exited = once(child, 'exit').then(([status, signal]: unknown[]) => status ?? signal, String);
  const hasEnded = (): boolean => !isRunningChild(child);
  const aborted = Promise.withResolvers<void>();
  const abort = (): void => aborted.resolve();
  end.addEventListener('abort', abort);
  if (end.aborted) abort();
  await Promise.race([exited, aborted.promise]);
  end.removeEventListener('abort', abort);
  const group = { group: child.pid ?? 0, patienceMs };
  if (end.aborted && child.pid !== undefined) await endPart(trace, { ...group, hasEnded });
  const left = child.pid === undefined ? [] : await killLeftovers(trace, group);
  const status = await exited;
  // A process that could not be killed may keep the output open.
  await Promise.race([closed, sleep(patienceMs, undefined, { ref: false })]);
  if (left.length > 0) return { output, failure: `left ${left.join(', ')}` };
  if (fails === undefined) return { output, failure: status === 0 ? undefined : `ended with ${String(status)}` };
  const isFound = status === 1 && fails.test(output);
  return { output, failure: isFound ? undefined : `did not fail as it must: ${words.join(' ')}` };
}

/** Runs a part to its end, its limit or the stop of the run. */
export async function runPart(part: TestPart, run: PartRun): Promise<Omit<PartResult, 'log'>> {
  const begin = performance.now();
  const trace = newTrace();
  run.onBegin(trace);
  const log = createWriteStream(run.log);
  const show = (output: string): void => {
    log.write(output);
    run.show(output);
  };
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), part.limit * 60_000);
  const end = AbortSignal.any([run.stop, limit.signal]);
  const failures: string[] = [];
  const lines: string[] = [];
  for (const command of part.commands) {
    if (end.aborted) break;
    const { output, failure } = await runCommand(command, { ...run, part, trace, end, show });
    if (failure === undefined) continue;
    failures.push(failure);
    lines.push(...failingLines(output));
  }
  clearTimeout(timer);
  const left = removeTraces(trace);
  await new Promise<void>((resolve) => void log.end(resolve));
  const ended = { name: part.name, seconds: (performance.now() - begin) / 1000 };
  if (run.stop.aborted) return { ...ended, outcome: 'stopped' };
  // The end at the limit is a failure by itself.
  if (limit.signal.aborted) failures.splice(0, Infinity, `did not end within its limit of ${part.limit} min`);
  else if (left.length > 0) failures.push(`left ${left.join(', ')}`);
  if (failures.length === 0) return { ...ended, outcome: 'passed' };
  return { ...ended, outcome: 'failed', reason: failures.join('; '), lines: [...new Set(lines)].slice(0, 20) };
}
