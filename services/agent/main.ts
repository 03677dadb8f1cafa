/** The agent on a real host. The init system starts it, and should not end its child processes when it stops it. */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { createLog } from '@anneal/runtime/observe/log.ts';
import { agentVersion } from './facts.ts';
import { hostMachine } from './machine.ts';
import { readSeed, rereadSeed } from './seed.ts';
import { startAgent } from './start.ts';

const usage = `Usage: node main.ts --seed FILE|URL --directory DIR

Takes the configs of this host from its queue, applies them in order and posts the answers.

  --seed FILE|URL   seed of this host: the address of the server, its queues and its token. The secret of a boot URL
                    is exchanged for the seed once, and the seed is stored in DIR
  --directory DIR   folder for the journal, runs and hooks; it must stay the same after every restart
  --shell-journal DIR
                    journal of the sh agent that runs, or ran, on this host: nothing in it runs again
  --machine-root DIR, --reboot-program PROGRAM
                    for tests: the folder of the machine's system files, and the program that reboots it
  --finish          finish what this agent has begun, note it in the journal of the sh agent, and end
  --version         print the version of the agent
  --help            show this help

SIGTERM stops the agent. A running config continues, and the next start waits for it and answers.
`;

const stopLimitMs = 10_000;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    directory: { type: 'string' },
    'shell-journal': { type: 'string' },
    'machine-root': { type: 'string' },
    'reboot-program': { type: 'string' },
    finish: { type: 'boolean' },
    version: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
if (values.help) {
  process.stdout.write(usage);
} else if (values.version) {
  process.stdout.write(`${agentVersion}\n`);
} else if (values.seed === undefined || values.directory === undefined) {
  process.stderr.write(`--seed and --directory are required.\n\n${usage}`);
  process.exitCode = 2;
} else {
  // No top-level await: the single executable starts its main file as CommonJS.
  run(values.seed, values.directory, values['shell-journal']).catch((error: unknown) => {
    process.stderr.write(`The agent cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
}

async function run(seedPlace: string, directory: string, shellJournal: string | undefined): Promise<void> {
  const log = createLog({ level: 'info', format: process.stderr.isTTY ? 'pretty' : 'json' });
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        stopping.abort();
        resolve();
      });
    }
  });
  const seed = await readSeed({ place: seedPlace, directory, log, signal: stopping.signal });
  const agent = await startAgent({
    seed,
    reread: () => rereadSeed({ place: seedPlace, directory }) ?? seed,
    directory,
    environment: cleanEnvironment(process.env),
    log,
    newId: randomUUID,
    now: () => new Date(),
    machine: hostMachine({ root: values['machine-root'] ?? '/', program: values['reboot-program'] }),
    shellJournal,
    finishes: values.finish ?? false,
  });
  if (values.finish !== true) await stopped;
  else if (!(await Promise.race([agent.finished.then(() => true), stopped.then(() => false)]))) process.exitCode = 1;
  // The agent ends by itself even when a step hangs, so that the init system need not kill it.
  setTimeout(() => process.exit(1), stopLimitMs).unref();
  await agent.stop();
}

/** Removes the agent's own variables from the environment of scripts, which may update the agent at ANNEAL_AGENT. */
function cleanEnvironment(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !/^(ANNEAL_(?!AGENT$)|NODE_|npm_)/.test(entry[0]),
    ),
  );
}
