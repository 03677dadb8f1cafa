/**
 * `npm run demo`: the whole system, live, in less than a minute. The demo checks every statement that it prints. It exits
 * with 0 only when all checks pass, and leaves no process running.
 *
 *     node test/demo/main.ts [--real] [--bus URL] [--store URL] [--keep] [--open] [--help]
 *
 * `--real` boots machines in QEMU instead, in some minutes. `--open` shows it in the web console, and keeps everything at the end until Ctrl-C.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import type { AnnealEvent } from '@anneal/client/events.ts';
import { openConsole, untilInterrupted } from './console.ts';
import { deleteStacks, failingConfig, checkNothingRuns, orderedConfigs, twoTiers } from './steps.ts';
import { ownNames } from './backends.ts';
import { createChildren, killAllOf } from './children.ts';
import { buildRealMachines, realServer, releaseReal, showRealMachines } from './real.ts';
import { machines, showLab, startListener, startDemoServer } from './start.ts';
import type { DemoContext } from './context.ts';
import { elapsedSeconds, reportFailure, heading, reportQuote, say } from './report.ts';

const usage = `npm run demo -- [options]: shows the whole system, live, and checks every statement that it prints.

  --real       boot machines in QEMU with firmware, disks and our ramdisk, in some minutes; it says which programs it needs
  --open       show it in the web console, and keep everything until Ctrl-C
  --keep       keep the folder of the demo at the end
  --bus URL    use this broker instead of the embedded one
  --store URL  use this database instead of the embedded one
`;

const { values: flags } = parseArgs({
  options: {
    bus: { type: 'string' },
    store: { type: 'string' },
    real: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    open: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (flags.help) {
  process.stdout.write(usage);
  process.exit(0);
}
const dataDirectory = await mkdtemp(join(tmpdir(), 'anneal-demo-'));
const interrupted = new AbortController();
// A reader of the output, such as `tee`, may end at the same Ctrl-C. The processes are stopped all the same.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error) => interrupted.abort(new Error(`the output has no reader: ${error.message}`)));
}
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

const keepLine = (line: string): void => {
  log.push(line);
  if (log.length > 500) log.shift();
};
const backendFlags = [
  ...(backends.bus === undefined ? [] : ['--bus', backends.bus]),
  ...(backends.store === undefined ? [] : ['--store', backends.store]),
  // With an external broker and database, each service can run in its own process.
  ...(flags.bus !== undefined && flags.store !== undefined ? ['--separate'] : []),
];

async function simulatedDemo(): Promise<void> {
  const client = await startDemoServer({
    children,
    dataDirectory,
    flags: ['--port', '0', '--lab', String(machines), ...backendFlags],
    signal,
    log: keepLine,
  });
  const received: AnnealEvent[] = [];
  let refused = 0;
  const demo: DemoContext = { client, children, signal, dataDirectory, received, refused: () => refused };
  if (flags.open) await openConsole(demo);
  await showLab(demo);
  await startListener({ client, children, signal, received, onRefused: () => (refused += 1) });
  await orderedConfigs(demo);
  await twoTiers(demo);
  await failingConfig(demo);
  if (flags.open) await untilInterrupted(signal);
  else await deleteStacks(demo);
}

async function realDemo(): Promise<void> {
  const files = await buildRealMachines();
  const { flags: own, environment } = await realServer(files);
  const started = { children, dataDirectory, flags: [...own, ...backendFlags], environment, signal, log: keepLine };
  const client = await startDemoServer(started);
  const demo: DemoContext = { client, children, signal, dataDirectory, received: [], refused: () => 0 };
  if (flags.open) await openConsole(demo);
  await showRealMachines(demo, files);
  if (flags.open) await untilInterrupted(signal);
  else await releaseReal(demo);
}

async function runDemo(): Promise<void> {
  await (flags.real ? realDemo() : simulatedDemo());
  heading('Stopping');
  await children.stop();
  // Ctrl-C has ended the demo with `--open`; the end of every process is still checked.
  await checkNothingRuns(dataDirectory, flags.open ? new AbortController().signal : signal);
}

let status = 0;
try {
  await runDemo();
  say('');
  say(`Done in ${elapsedSeconds().toFixed(1)} seconds.`);
} catch (error) {
  status = 1;
  reportFailure(`The demo failed after ${elapsedSeconds().toFixed(1)} seconds.`);
  reportQuote(
    error instanceof Error
      ? error.name === 'FailedCheck'
        ? error.message
        : (error.stack ?? error.message)
      : String(error),
  );
  if (log.length > 0) {
    say('The end of the server’s log:');
    reportQuote(log.slice(-40).join('\n'));
  }
} finally {
  await killAllOf(dataDirectory);
  await backends
    .clear()
    .catch((error: unknown) => say(`Cannot remove the demo’s data from the broker and the database: ${String(error)}`));
  if (flags.keep) say(`The files of the demo are in ${dataDirectory}.`);
  else await rm(dataDirectory, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(status);
