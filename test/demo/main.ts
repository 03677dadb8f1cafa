/**
 * `npm run demo`: the whole of Anneal, live, in less than a minute. What it shows it also checks; it ends with 0 only when
 * all of it was true, and leaves nothing running however it ends.
 *
 *     node test/demo/main.ts [--bus URL] [--store URL] [--keep]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import type { AnnealEvent } from '@anneal/client/events.ts';
import { closing, failingConfig, nothingLeft, orderedConfigs, twoTiers } from './acts.ts';
import { ownNames } from './backends.ts';
import { createChildren, killAllOf } from './children.ts';
import { showLab, startListener, startServer } from './opening.ts';
import type { Scene } from './scene.ts';
import { elapsedSeconds, failed, heading, quote, say } from './stage.ts';

const { values: flags } = parseArgs({
  options: { bus: { type: 'string' }, store: { type: 'string' }, keep: { type: 'boolean', default: false } },
});
const dataDirectory = await mkdtemp(join(tmpdir(), 'anneal-demo-'));
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (interrupted.signal.aborted) void killAllOf(dataDirectory).finally(() => process.exit(1));
    interrupted.abort(new Error(`stopped by ${signal}`));
  });
}
const { signal } = interrupted;
const backends = ownNames({ bus: flags.bus, store: flags.store });

const log: string[] = [];
const children = createChildren({
  environment: {
    ...Object.fromEntries(
      Object.entries(process.env).filter(
        (entry): entry is [string, string] => entry[1] !== undefined && !/^(ANNEAL|OS)_/.test(entry[0]),
      ),
    ),
    PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
    ANNEAL_DATA: dataDirectory,
    ...(process.stdout.isTTY && { FORCE_COLOR: '1' }),
  },
  signal,
});

async function play(): Promise<void> {
  const serverFlags = [
    ...(backends.bus === undefined ? [] : ['--bus', backends.bus]),
    ...(backends.store === undefined ? [] : ['--store', backends.store]),
    // With a broker and a database to share, each service runs in a process of its own.
    ...(flags.bus !== undefined && flags.store !== undefined ? ['--separate'] : []),
  ];
  const client = await startServer({
    children,
    dataDirectory,
    flags: serverFlags,
    signal,
    log: (line) => {
      log.push(line);
      if (log.length > 500) log.shift();
    },
  });
  const received: AnnealEvent[] = [];
  let refused = 0;
  const scene: Scene = { client, children, signal, dataDirectory, received, refused: () => refused };
  await showLab(scene);
  await startListener({ client, children, signal, received, onRefused: () => (refused += 1) });
  await orderedConfigs(scene);
  await twoTiers(scene);
  await failingConfig(scene);
  await closing(scene);
  heading('Stopping');
  await children.stop();
  await nothingLeft(dataDirectory, signal);
}

let status = 0;
try {
  await play();
  say('');
  say(`All of it in ${elapsedSeconds().toFixed(1)} seconds.`);
} catch (error) {
  status = 1;
  failed(`The demo failed after ${elapsedSeconds().toFixed(1)} seconds.`);
  quote(
    error instanceof Error
      ? error.name === 'WrongClaim'
        ? error.message
        : (error.stack ?? error.message)
      : String(error),
  );
  if (log.length > 0) {
    say('The last lines of the server’s log:');
    quote(log.slice(-40).join('\n'));
  }
} finally {
  await killAllOf(dataDirectory);
  await backends
    .clear()
    .catch((error: unknown) => say(`What it made on the broker and the database is left there: ${String(error)}`));
  if (flags.keep) say(`Its files are kept in ${dataDirectory}.`);
  else await rm(dataDirectory, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(status);
