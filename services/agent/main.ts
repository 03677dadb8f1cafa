/** The agent on a real host. Started by the init system, which should leave its children alone when it stops it. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { bootSeedSchema, type BootSeed } from '@anneal/contracts/provisioning.ts';
import { createLog } from '@anneal/runtime/log.ts';
import { z } from 'zod';
import type { Log } from './log.ts';
import { untilDone } from './patience.ts';
import { startAgent } from './start.ts';

const usage = `Usage: node main.ts --seed FILE|URL --directory DIR

Takes the configs of this host from its queue, applies them in order and answers.

  --seed FILE|URL   the seed of this host: where the server is, its queues and its token
  --directory DIR   where the agent keeps its journal, runs and hooks; the same after every restart
  --help            this text

SIGTERM stops it; a config that is being applied goes on, and the next start waits for it and answers.
`;

const { values } = parseArgs({
  options: { seed: { type: 'string' }, directory: { type: 'string' }, help: { type: 'boolean' } },
});
if (values.help) {
  process.stdout.write(usage);
} else if (values.seed === undefined || values.directory === undefined) {
  process.stderr.write(`--seed and --directory are needed.\n\n${usage}`);
  process.exitCode = 2;
} else {
  await run(values.seed, values.directory);
}

async function run(seedPlace: string, directory: string): Promise<void> {
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
  const seed = await readSeed(seedPlace, log, stopping.signal);
  const agent = await startAgent({
    seed,
    directory,
    environment: cleanEnvironment(process.env),
    log,
    newId: randomUUID,
    now: () => new Date(),
  });
  await stopped;
  await agent.stop();
}

async function readSeed(place: string, log: Log, signal: AbortSignal): Promise<BootSeed> {
  const text = /^https?:/.test(place)
    ? await untilDone(
        async () => {
          const response = await fetch(place, { signal: AbortSignal.any([signal, AbortSignal.timeout(30_000)]) });
          if (!response.ok) throw new Error(`${place} answered ${response.status}`);
          return response.text();
        },
        { signal, log, what: 'fetching the seed' },
      )
    : await readFile(place, 'utf8');
  const parsed = bootSeedSchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error(`${place} is not a seed.\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** What is the agent's own business is not passed on to scripts. */
function cleanEnvironment(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !/^(ANNEAL_|NODE_|npm_)/.test(entry[0]),
    ),
  );
}
