/** Runs one command line with the streams, signals and environment of this process. */
import type { Login } from '@anneal/client/connection.ts';
import type { CliContext } from './context.ts';
import { exitCodes } from './exit.ts';
import { createOutput } from './output.ts';

/** Returns the exit status. Call it once, because it handles the signals of the process. */
export async function start(given: readonly string[]): Promise<number> {
  const { interrupt } = handleSignals();
  const { words, server } = takeServer(given);
  const context = openContext(interrupt, server);
  // Completion uses the context too, and needs no commands.
  const { runCommand } = await import('./run.ts');
  return runCommand({ context, words, stdout: process.stdout, stderr: process.stderr });
}

/** Takes `--server <name>`, which each command accepts, out of a command line. */
export function takeServer(words: readonly string[]): { words: readonly string[]; server: string | undefined } {
  const at = words.findIndex((word) => word === '--server' || word.startsWith('--server='));
  const [option = '', next] = words.slice(at);
  if (at === -1) return { words, server: undefined };
  const isJoined = option.includes('=');
  const server = isJoined ? option.slice('--server='.length) : (next ?? '');
  return { words: words.toSpliced(at, isJoined ? 1 : 2), server };
}

/** The context of this process. `server`: the name of a server that the user has logged in to. */
export function openContext(interrupt: AbortSignal, server?: string): CliContext {
  const environment = { ...process.env };
  const cwd = process.cwd();
  const login = async (): Promise<Login> => (await import('./login.ts')).findLogin({ environment, cwd, server });
  const hasTerminal = process.stdin.isTTY && process.stdout.isTTY;
  let client: ReturnType<CliContext['client']> | undefined;
  return {
    output: createOutput({ stdout: process.stdout, stderr: process.stderr, environment }),
    environment,
    cwd,
    interrupt,
    terminal: process.stdout,
    ask: hasTerminal ? (question) => askOnTerminal(question, interrupt) : undefined,
    askSecret: hasTerminal ? (question) => askOnTerminal(question, interrupt, { hidden: true }) : undefined,
    now: () => Date.now(),
    client(options) {
      client ??= import('@anneal/client/connect.ts').then(async ({ connect }) => connect(await login(), options));
      return client;
    },
    async part(names, options) {
      const { connectTo } = await import('@anneal/client/parts.ts');
      return connectTo(await login(), names, options);
    },
  };
}

/** Loads the reader of lines only for a question. */
async function askOnTerminal(
  question: string,
  signal: AbortSignal,
  { hidden = false } = {},
): Promise<string | undefined> {
  const { createInterface } = await import('node:readline/promises');
  const { Writable } = await import('node:stream');
  // A reader of a terminal echoes to its output itself.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({
    input: process.stdin,
    output: hidden ? nowhere : process.stderr,
    ...(hidden && { terminal: true }),
  });
  if (hidden) process.stderr.write(question);
  const { promise: closed, resolve } = Promise.withResolvers<undefined>();
  reader.once('close', () => resolve(undefined));
  // The reader takes Ctrl-C from the terminal, so pass it on to the handler of signals.
  reader.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return await Promise.race([reader.question(question, { signal }), closed]);
  } finally {
    if (hidden) process.stderr.write('\n');
    reader.close();
  }
}

function handleSignals(): { interrupt: AbortSignal } {
  const interrupted = new AbortController();
  // End quietly on a broken pipe, by which `| head` shows that it has read enough.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(exitCodes.done);
      throw error;
    });
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // The first signal stops in order, the second at once. `serve` handles the second itself, to leave no process
      // running.
      if (!interrupted.signal.aborted) interrupted.abort();
      else if (process.listenerCount(signal) === 1) process.exit(exitCodes.interrupted);
    });
  }
  return { interrupt: interrupted.signal };
}
