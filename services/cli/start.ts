/** Runs one command line with the streams, signals and environment of this process. */
import type { Login } from '@anneal/client/connection.ts';
import type { CliContext } from './context.ts';
import { exitCodes } from './exit.ts';
import { createOutput } from './output.ts';
import { takeServer } from './server-option.ts';

/** Returns the exit status. Call it once, because it handles the signals of the process. */
export async function start(given: readonly string[]): Promise<number> {
  const { words, server } = takeServer(given);
  const { interrupt } = handleSignals({ stopsInOrder: words[0] === 'serve' });
  const context = openContext(interrupt, { words, server });
  // Completion uses the context too, and needs no commands.
  const { runCommand } = await import('./run.ts');
  return runCommand({ context, stdout: process.stdout, stderr: process.stderr });
}

/** The context of this process. `server`: the name of a server that the user has logged in to. */
export function openContext(
  interrupt: AbortSignal,
  { words, server }: { words: readonly string[]; server: string | undefined },
): CliContext {
  const environment = { ...process.env };
  const cwd = process.cwd();
  const login = async (): Promise<Login> => (await import('./login.ts')).findLogin({ environment, cwd, server });
  const output = createOutput({ stdout: process.stdout, stderr: process.stderr, environment });
  const note = (text: string): void => output.note(text);
  // A script needs no word about an answer that is only slow.
  const reports = { stream: note, ...(output.isNoted && { slow: note }) };
  const hasTerminal = process.stdin.isTTY && process.stdout.isTTY;
  const connectParts: CliContext['parts'] = async (names, options) => {
    // The connection alone needs no schema, so completion starts without zod.
    if (names.some((name) => name !== 'connection')) await import('./interpret.ts');
    const { connectTo } = await import('@anneal/client/parts.ts');
    return connectTo(await login(), names, { reports, ...options });
  };
  let client: ReturnType<CliContext['client']> | undefined;
  return {
    words,
    output,
    environment,
    cwd,
    interrupt,
    terminal: process.stdout,
    ask: hasTerminal ? (question) => askOnTerminal(question, interrupt) : undefined,
    askSecret: hasTerminal ? (question) => askOnTerminal(question, interrupt, { hidden: true }) : undefined,
    now: () => Date.now(),
    client(options) {
      client ??= import('@anneal/client/connect.ts').then(async ({ connect }) =>
        connect(await login(), { reports, ...options }),
      );
      return client;
    },
    async part(name, options) {
      return (await connectParts([name], options))[name];
    },
    parts: connectParts,
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

/** @param options.stopsInOrder true for a server, which leaves a lab running when it ends at once */
function handleSignals({ stopsInOrder }: { stopsInOrder: boolean }): { interrupt: AbortSignal } {
  const interrupted = new AbortController();
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // The terminal is closed. Its SIGHUP ends the command in order.
      if (error.code === 'EIO') return;
      if (error.code !== 'EPIPE') throw error;
      // End quietly on a broken pipe, by which `| head` shows that it has read enough. A program in the same pipe that gets
      // the same Ctrl-C may end before this one has stopped.
      if (!stopsInOrder) process.exit(exitCodes.done);
      interrupted.abort();
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
