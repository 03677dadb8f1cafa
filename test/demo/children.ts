/** The processes of the demo: started here, watched here, gone when the demo is. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const cli = fileURLToPath(new URL('../../services/cli/main.ts', import.meta.url));

export interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

export interface Children {
  /** The `anneal` command to its end. `inherit` gives it the terminal. */
  anneal(words: readonly string[], options?: { inherit?: boolean; onLine?: (line: string) => void }): Promise<Ended>;
  /** A program that stays; `onLine` is told what it prints. */
  stay(parameters: {
    program: string;
    words: readonly string[];
    environment?: Record<string, string>;
    onLine: (line: string) => void;
    onErrorLine: (line: string) => void;
  }): ChildProcess;
  /** Asks all that stay to stop, then makes them. */
  stop(): Promise<void>;
}

export const cliProgram = cli;

export function createChildren(parameters: { environment: Record<string, string>; signal: AbortSignal }): Children {
  const { environment, signal } = parameters;
  const staying = new Set<ChildProcess>();
  return {
    async anneal(words, { inherit = false, onLine } = {}) {
      signal.throwIfAborted();
      const child = spawn(process.execPath, [cli, ...words], {
        cwd: root,
        env: environment,
        stdio: inherit ? 'inherit' : ['ignore', 'pipe', 'pipe'],
      });
      const stop = (): void => void child.kill('SIGKILL');
      signal.addEventListener('abort', stop, { once: true });
      const [stdout, stderr] = [readAll(child.stdout, onLine), readAll(child.stderr, onLine)];
      const [status] = (await once(child, 'close')) as [number | null];
      signal.removeEventListener('abort', stop);
      signal.throwIfAborted();
      return { status, stdout: await stdout, stderr: await stderr };
    },
    stay({ program, words, environment: own, onLine, onErrorLine }) {
      const child = spawn(process.execPath, [program, ...words], {
        cwd: root,
        env: { ...environment, ...own },
        stdio: ['pipe', 'pipe', 'pipe'],
        // Ctrl-C is ours to hand on: in order, and with a deadline.
        detached: true,
      });
      staying.add(child);
      child.once('close', () => staying.delete(child));
      for (const [stream, tell] of [
        [child.stdout, onLine],
        [child.stderr, onErrorLine],
      ] as const) {
        readAll(stream, tell).catch((error: unknown) => onErrorLine(`what ${program} printed: ${String(error)}`));
      }
      return child;
    },
    async stop() {
      const ends = [...staying].map(async (child) => {
        const closed = once(child, 'close');
        child.stdin?.end();
        child.kill('SIGTERM');
        const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
        await closed;
        clearTimeout(timer);
      });
      await Promise.all(ends);
    },
  };
}

async function readAll(stream: NodeJS.ReadableStream | null, onLine?: (line: string) => void): Promise<string> {
  if (!stream) return '';
  let all = '';
  let line = '';
  stream.setEncoding('utf8');
  for await (const text of stream as AsyncIterable<string>) {
    all += text;
    if (!onLine) continue;
    const lines = (line + text).split('\n');
    line = lines.pop() ?? '';
    for (const complete of lines) onLine(complete);
  }
  if (onLine && line !== '') onLine(line);
  return all;
}

/** Processes that name a folder in their environment, their arguments or their working folder: pid and command. */
export async function processesOf(folder: string): Promise<{ pid: number; command: string }[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter(
    (name) => /^\d+$/.test(name) && Number(name) !== process.pid,
  );
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [environment, words] = await Promise.all([
        readFile(`/proc/${pid}/environ`, 'utf8').catch(() => ''),
        readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
      ]);
      const ours = environment.includes(folder) || words.includes(folder);
      return ours && words !== ''
        ? [{ pid: Number(pid), command: words.replaceAll('\0', ' ').trim().slice(0, 120) }]
        : [];
    }),
  );
  return found.flat();
}

/** For when things went wrong: nothing survives it. */
export async function killAllOf(folder: string): Promise<void> {
  for (let round = 0; round < 50; round += 1) {
    const left = await processesOf(folder);
    if (left.length === 0) return;
    for (const { pid } of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Ended meanwhile.
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
