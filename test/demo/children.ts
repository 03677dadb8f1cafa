/** The processes of the demo. All of them end with the demo. */
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
  /** Runs the `anneal` command until it exits. With `inherit` it uses the terminal. */
  anneal(args: readonly string[], options?: { inherit?: boolean; onLine?: (line: string) => void }): Promise<Ended>;
  /** Starts a program that runs until `stop`; `onLine` receives each line that it prints. */
  start(parameters: {
    program: string;
    args: readonly string[];
    environment?: Record<string, string>;
    onLine: (line: string) => void;
    onErrorLine: (line: string) => void;
  }): ChildProcess;
  /** Stops the started programs with SIGTERM, and after 15 s with SIGKILL. */
  stop(): Promise<void>;
}

export const cliProgram = cli;

export function createChildren(parameters: { environment: Record<string, string>; signal: AbortSignal }): Children {
  const { environment, signal } = parameters;
  const running = new Set<ChildProcess>();
  return {
    async anneal(args, { inherit = false, onLine } = {}) {
      signal.throwIfAborted();
      const child = spawn(process.execPath, [cli, ...args], {
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
    start({ program, args, environment: own, onLine, onErrorLine }) {
      const child = spawn(process.execPath, [program, ...args], {
        cwd: root,
        env: { ...environment, ...own },
        stdio: ['pipe', 'pipe', 'pipe'],
        // In a separate process group, so that Ctrl-C reaches only the demo, which stops its programs in order.
        detached: true,
      });
      running.add(child);
      child.once('close', () => running.delete(child));
      for (const [stream, onStreamLine] of [
        [child.stdout, onLine],
        [child.stderr, onErrorLine],
      ] as const) {
        readAll(stream, onStreamLine).catch((error: unknown) =>
          onErrorLine(`cannot read the output of ${program}: ${String(error)}`),
        );
      }
      return child;
    },
    async stop() {
      const ends = [...running].map(async (child) => {
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

/** Processes that name the folder in their environment or arguments: pid and command. */
export async function childrenOf(folder: string): Promise<{ pid: number; command: string }[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter(
    (name) => /^\d+$/.test(name) && Number(name) !== process.pid,
  );
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [environment, args] = await Promise.all([
        readFile(`/proc/${pid}/environ`, 'utf8').catch(() => ''),
        readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
      ]);
      const belongs = environment.includes(folder) || args.includes(folder);
      return belongs && args !== ''
        ? [{ pid: Number(pid), command: args.replaceAll('\0', ' ').trim().slice(0, 120) }]
        : [];
    }),
  );
  return found.flat();
}

/** Kills every process of the demo, also after a failure. */
export async function killAllOf(folder: string): Promise<void> {
  for (let round = 0; round < 50; round += 1) {
    const left = await childrenOf(folder);
    if (left.length === 0) return;
    for (const { pid } of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The process has already ended.
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
