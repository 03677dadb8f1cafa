/**
 * Builds the web console, the documentation and the commands beside the running server, when their sources have changed.
 * They are used once they are there.
 */
import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { isBuilt, type BuiltFolder } from '@anneal/runtime/service/built-folder.ts';

interface BuildOptions {
  signal: AbortSignal;
  /** Gets the reason why a build failed. The server works without it. */
  onFailure: (reason: string) => void;
}

/** Resolves when the build has started, or is not needed. */
export async function buildBeside(folder: BuiltFolder, options: BuildOptions): Promise<void> {
  if (!(await isBuilt(folder))) startBuild(folder.program, options);
}

function startBuild(program: string, { signal, onFailure }: BuildOptions): void {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  });
  let said = '';
  child.stderr.on('data', (bytes: Buffer) => (said = (said + bytes.toString()).slice(-4000)));
  child.on('spawn', () => {
    // The build must not slow down the start of the services.
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  });
  child.on('error', (error) => {
    if (!signal.aborted) onFailure(error.message);
  });
  child.on('exit', (code) => {
    if (code === 0 || code === null || signal.aborted) return;
    // The stack behind the message of an error helps no user.
    onFailure(/^\w*Error: .*$/m.exec(said)?.[0] ?? (said.trim() || `exit status ${code}`));
  });
}
