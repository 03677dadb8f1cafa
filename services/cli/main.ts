/** The `anneal` command. */
import { connect, type Client } from '@anneal/client/connect.ts';
import { exitCodes } from './exit.ts';
import { findLogin } from './login.ts';
import { createOutput } from './output.ts';
import { runCommand } from './run.ts';

const environment = { ...process.env };
const cwd = process.cwd();
const interrupted = new AbortController();
let client: Promise<Client> | undefined;

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

process.exitCode = await runCommand({
  context: {
    output: createOutput({ stdout: process.stdout, stderr: process.stderr, environment }),
    environment,
    cwd,
    interrupt: interrupted.signal,
    terminal: process.stdout,
    now: () => Date.now(),
    client: (options) => (client ??= findLogin({ environment, cwd }).then((login) => connect(login, options))),
  },
  words: process.argv.slice(2),
  stdout: process.stdout,
  stderr: process.stderr,
});
