/** A bash that runs the commands of one page, one after the other, as a reader's terminal does. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface PageShellResult {
  status: number;
  stdout: string;
  stderr: string;
}

export interface PageShell {
  /** Runs one command; variables and background processes stay. @throws Error when it takes longer than two minutes */
  run(command: string): Promise<PageShellResult>;
  /** Ends the shell with everything that it has started. */
  close(): Promise<void>;
}

const limitMs = 120_000;

export function openShell({ cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }): PageShell {
  // Its own process group, so that background processes end with it.
  const child = spawn('bash', ['--noprofile', '--norc'], { cwd, env, detached: true });
  const printed = { stdout: '', stderr: '' };
  let changed = (): void => undefined;
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text;
      changed();
    });
  }
  const exited = once(child, 'close');
  let number = 0;
  /** Waits for the line that ends a command on this stream, and returns what came before and the status. */
  const until = async (name: 'stdout' | 'stderr', mark: string, signal: AbortSignal) => {
    const end = new RegExp(`\n?${mark} (\\d+)\n`);
    for (;;) {
      const found = end.exec(printed[name]);
      if (found) return { text: printed[name].slice(0, found.index), status: Number(found[1]) };
      signal.throwIfAborted();
      await new Promise<void>((resolve) => {
        changed = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
        void exited.then(() => resolve());
      });
      if (child.exitCode !== null) throw new Error(`bash ended with ${child.exitCode}: ${printed.stderr}`);
    }
  };
  return {
    async run(command) {
      printed.stdout = printed.stderr = '';
      const mark = `@@${process.pid}-${(number += 1)}@@`;
      child.stdin.write(
        `${command}\n__status=$?; printf '\\n${mark} %s\\n' "$__status"; printf '\\n${mark} 0\\n' >&2\n`,
      );
      const signal = AbortSignal.timeout(limitMs);
      try {
        const { text: stdout, status } = await until('stdout', mark, signal);
        const { text: stderr } = await until('stderr', mark, signal);
        return { status, stdout, stderr };
      } catch (error) {
        throw new Error(`\`${command}\` did not end within ${limitMs / 1000} s: ${printed.stdout}${printed.stderr}`, {
          cause: error,
        });
      }
    },
    async close() {
      try {
        process.kill(-Number(child.pid), 'SIGKILL');
      } catch {
        // The shell has already ended.
      }
      await exited;
    },
  };
}
