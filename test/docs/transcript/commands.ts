/**
 * The commands `anneal` and `npx anneal` for pages. They run the command line in this process: a page of ten commands does
 * not load the program ten times.
 */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createOutput } from '@anneal/cli/output.ts';
import { findLogin } from '@anneal/cli/login.ts';
import { runCommand } from '@anneal/cli/run.ts';
import { takeServer } from '@anneal/cli/server-option.ts';
import { connect, type Client } from '@anneal/client/connect.ts';
import { connectTo } from '@anneal/client/parts.ts';

export interface PageCommands {
  /** The folder for the PATH. */
  readonly folder: string;
  close(): Promise<void>;
}

/** Sends the words and the working folder to the process of the test, and shows what it answers. */
const program = (folder: string): string => `#!/bin/sh
call=$(mktemp -d "${folder}/call.XXXXXX")
for word; do printf '%s\\0' "$word"; done > "$call/words"
pwd > "$call/cwd"
status=$(curl -fsS --unix-socket "${folder}/socket" "http://anneal/$(basename "$call")") || exit 70
cat "$call/stdout"
cat "$call/stderr" >&2
exit "$status"
`;

function collector(onOutput: (part: string) => void = () => {}) {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer | string, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      onOutput(String(chunk));
      done();
    },
  });
  return { stream: Object.assign(stream, { columns: 120 }), content: () => Buffer.concat(chunks) };
}

/** The output of a command, and its exit status. */
export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}
/** Runs the words after `anneal`. */
export type CommandLine = (
  words: readonly string[],
  at: {
    readonly cwd: string;
    /** The Ctrl-C. */
    readonly interrupt?: AbortSignal;
    /** Called with each part of the standard output as it is printed. */
    readonly onOutput?: (part: string) => void;
  },
) => Promise<CommandResult>;

/** @param env the environment of the commands, with the server that they talk to */
export function createCommandLine(env: NodeJS.ProcessEnv): CommandLine {
  /** By the name of the server, which is undefined for that of the folder. */
  const clients = new Map<string | undefined, Promise<Client>>();
  return async (given, { cwd, interrupt = new AbortController().signal, onOutput }) => {
    const [stdout, stderr] = [collector(onOutput), collector()];
    const { words, server: chosen } = takeServer([...given]);
    const login = () => findLogin({ environment: env, cwd, server: chosen });
    const status = await runCommand({
      context: {
        words,
        output: createOutput({ stdout: stdout.stream, stderr: stderr.stream, environment: env }),
        environment: env,
        cwd,
        interrupt,
        terminal: stdout.stream as unknown as NodeJS.WriteStream,
        now: () => Date.now(),
        client: () => {
          const client = clients.get(chosen) ?? login().then((found) => connect(found));
          clients.set(chosen, client);
          return client;
        },
        part: async (name, options) => (await connectTo(await login(), [name], options))[name],
        parts: async (names, options) => connectTo(await login(), names, options),
      },
      stdout: stdout.stream,
      stderr: stderr.stream,
    });
    return { status, stdout: stdout.content().toString(), stderr: stderr.content().toString() };
  };
}

/** @param env the environment of the commands, with the server that they talk to */
export async function openCommands(env: NodeJS.ProcessEnv): Promise<PageCommands> {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-page-bin-'));
  for (const [name, text] of [
    ['anneal', program(folder)],
    ['npx', `#!/bin/sh\n[ "$1" = anneal ] || exit 64\nshift\nexec "${folder}/anneal" "$@"\n`],
  ] as const) {
    await writeFile(join(folder, name), text);
    await chmod(join(folder, name), 0o755);
  }
  const interrupt = new AbortController();
  const commandLine = createCommandLine(env);
  const run = async (call: string): Promise<number> => {
    const [words, cwd] = await Promise.all([
      readFile(join(call, 'words'), 'utf8'),
      readFile(join(call, 'cwd'), 'utf8'),
    ]);
    const { status, stdout, stderr } = await commandLine(words.split('\0').slice(0, -1), {
      cwd: cwd.trimEnd(),
      interrupt: interrupt.signal,
    });
    await writeFile(join(call, 'stdout'), stdout);
    await writeFile(join(call, 'stderr'), stderr);
    return status;
  };
  const server = createServer((request, response) => {
    run(join(folder, String(request.url).slice(1))).then(
      (status) => response.end(String(status)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await once(server.listen(join(folder, 'socket')), 'listening');
  return {
    folder,
    async close() {
      interrupt.abort();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
