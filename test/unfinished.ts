/**
 * Ends a run of the tests that has stopped: when no test ends for a long time, it names the files that still run, what their
 * processes do, and kills them, so that the run fails.
 * The time limit of a test cannot do that when the process of the test is blocked.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Reporter, TestModule } from 'vitest/node';
import { processes, type Process } from './processes.ts';

/** Longer than the time limit of any test. */
const quietMs = 12 * 60_000;

/** The processes below a process, with their depth. */
function below(parent: number, all: readonly Process[], depth = 0): (Process & { depth: number })[] {
  return all.flatMap((each) =>
    each.parent === parent ? [{ ...each, depth }, ...below(each.pid, all, depth + 1)] : [],
  );
}

/**
 * Reads what a process of Node executes, also when it never returns to its event loop: SIGUSR1 opens its debugger. Rejects
 * for a process that waits for a program of the system.
 */
async function stackOf(pid: number): Promise<string> {
  process.kill(pid, 'SIGUSR1');
  await sleep(1000);
  const listed = await fetch('http://127.0.0.1:9229/json/list', { signal: AbortSignal.timeout(5000) });
  const [target] = (await listed.json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
  const urls = new Map<string, string>();
  const lineOf = ({ functionName, location }: Frame): string =>
    `  ${functionName || '(anonymous)'} ${urls.get(location.scriptId)}:${location.lineNumber + 1}`;
  return new Promise<string>((resolve, reject) => {
    socket.addEventListener('error', () => reject(new Error('the debugger cannot be reached')));
    setTimeout(() => reject(new Error('it does not stop: it waits for an event or a program')), 5000);
    socket.addEventListener('open', () => {
      for (const [id, method] of ['Debugger.enable', 'Debugger.pause'].entries()) {
        socket.send(JSON.stringify({ id, method }));
      }
    });
    socket.addEventListener('message', ({ data }) => {
      const { method, params } = JSON.parse(String(data)) as { method?: string; params: Params };
      if (method === 'Debugger.scriptParsed') urls.set(params.scriptId, params.url);
      if (method === 'Debugger.paused') resolve(params.callFrames.map(lineOf).join('\n'));
    });
  });
}

interface Frame {
  readonly functionName: string;
  readonly location: { readonly scriptId: string; readonly lineNumber: number };
}
/** The parameters of two events of the debugger. */
interface Params {
  readonly scriptId: string;
  readonly url: string;
  readonly callFrames: readonly Frame[];
}

export default class Unfinished implements Reporter {
  readonly #running = new Map<string, TestModule>();
  #timer: NodeJS.Timeout | undefined;

  onTestRunStart(): void {
    this.#again();
  }

  onTestModuleStart(module: TestModule): void {
    this.#running.set(module.id, module);
    this.#again();
  }

  onTestCaseResult(): void {
    this.#again();
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(module.id);
    this.#again();
  }

  onTestRunEnd(): void {
    clearTimeout(this.#timer);
  }

  #again(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#giveUp(), quietMs);
  }

  async #giveUp(): Promise<void> {
    const files = [...this.#running.values()].map(({ relativeModuleId }) => `  ${relativeModuleId}\n`).join('');
    process.stderr.write(`\nNo test has ended for ${quietMs / 60_000} minutes. These files still run:\n${files}`);
    const children = below(process.pid, processes());
    for (const { pid, depth, command } of children) process.stderr.write(`  ${'  '.repeat(depth)}${pid} ${command}\n`);
    for (const { pid, depth, command } of children) {
      if (depth > 0 || !command.includes('/vitest/')) continue;
      const stack = await stackOf(pid).catch((error: unknown) => `unknown: ${String(error)}`);
      process.stderr.write(`\nThe process ${pid} executes:\n${stack}\n`);
      process.kill(pid, 'SIGKILL'); // The next one can open its debugger at the same port.
      await sleep(1000);
    }
  }
}
