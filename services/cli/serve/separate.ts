/**
 * Runs every service in separate processes on this machine, and restarts a process that dies.
 *
 * P1. A process is restarted until the stop, with growing pauses while it keeps dying.
 * P2. No process outlives this one, however this one ends: each has a pipe to it and ends when the pipe closes
 * (orphan.mjs). P3. The start waits without a limit for a process whose broker or database is missing. Wrong settings
 * in one process end all.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { serviceNames, type ServiceName } from '@anneal/contracts/queues.ts';
import { misconfiguredExitCode } from '@anneal/runtime/service/main.ts';
import { serverFlags } from '@anneal/runtime/service/node-flags.ts';
import { freePort } from './port.ts';

export type Replicas = Readonly<Partial<Record<ServiceName, number>>>;

export interface SeparateServices {
  /** Each process has an address of its own for its health. */
  readonly healthUrl?: undefined;
  stop(): Promise<void>;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const misconfigured = `exit status ${misconfiguredExitCode}`;
const orphan = new URL('../orphan.mjs', import.meta.url).href;
/** Long enough for a slow machine. Only a hanging process takes this long, because a process that ends is restarted. */
const readySeconds = 180;
const progressSeconds = 5;
const repeatSeconds = 60;

interface SeparateOptions {
  readonly replicas: Replicas;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly dataDirectory: string;
  readonly onDeath: (death: { name: string; reason: string }) => void;
  /**
   * Called during a long wait: when the missing processes change, and every minute. `reason`: the missing dependency.
   */
  readonly onWaiting: (waiting: { names: readonly string[]; seconds: number; reason: string | undefined }) => void;
  readonly signal: AbortSignal;
}

/** Resolves when all processes are ready. @throws AnnealError Unavailable naming those that are not, and their logs. */
export async function startSeparately(options: SeparateOptions): Promise<SeparateServices> {
  await mkdir(logFolder(options.dataDirectory), { recursive: true, mode: 0o700 });
  const slots = await slotsFor(options.replicas);
  const processes = new KeptProcesses(slots, options);
  const missing = await awaitReady({ slots, refused: processes.refused, options });
  if (missing.length === 0) return processes;
  await processes.stop();
  options.signal.throwIfAborted();
  for (const { name } of processes.refused) {
    const log = (await readFile(logFile(options, name), 'utf8')).trimEnd().split('\n').slice(-2).join('\n');
    throw new AnnealError('InvalidRequest', log);
  }
  const logs = missing.map(({ name }) => logFile(options, name));
  throw new AnnealError(
    'Unavailable',
    `The services are not ready after ${readySeconds} seconds; see ${logs.join(', ')}.`,
  );
}

const logFolder = (dataDirectory: string): string => join(dataDirectory, 'log');
const logFile = ({ dataDirectory }: SeparateOptions, name: string): string =>
  join(logFolder(dataDirectory), `${name}.log`);

/** A replica of a service: its place among the processes, and the process that fills it now. */
interface Slot {
  readonly name: string;
  readonly service: ServiceName;
  readonly healthPort: number;
  child: ChildProcess | undefined;
}

async function slotsFor(replicas: Replicas): Promise<Slot[]> {
  const slots: Slot[] = [];
  for (const service of serviceNames) {
    const count = replicas[service] ?? 1;
    for (let index = 1; index <= count; index += 1) {
      const healthPort = await freePort('127.0.0.1');
      slots.push({ name: count === 1 ? service : `${service}-${index}`, service, healthPort, child: undefined });
    }
  }
  return slots;
}

/** Runs a process in each slot until the stop. */
class KeptProcesses implements SeparateServices {
  /** Slots whose process ended because of wrong settings. */
  readonly refused = new Set<Slot>();
  readonly #slots: readonly Slot[];
  readonly #options: SeparateOptions;
  readonly #stopping = new AbortController();
  readonly #kept: Promise<void>[];
  #lastWrite = Promise.resolve();

  constructor(slots: readonly Slot[], options: SeparateOptions) {
    this.#slots = slots;
    this.#options = options;
    this.#kept = slots.map((slot) => this.#keep(slot));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const { child } of this.#slots) child?.kill('SIGTERM');
    await Promise.all(this.#kept);
  }

  async #keep(slot: Slot): Promise<void> {
    const { signal } = this.#stopping;
    let pauseMs = 100;
    while (!signal.aborted) {
      const started = performance.now();
      const reason = await this.#run(slot);
      if (signal.aborted) return;
      if (reason === misconfigured) {
        this.refused.add(slot);
        return;
      }
      this.#options.onDeath({ name: slot.name, reason });
      pauseMs = performance.now() - started > 10_000 ? 100 : Math.min(pauseMs * 2, 10_000); // P1
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Starts the process of a slot. Resolves with the reason when it has ended. */
  async #run(slot: Slot): Promise<string> {
    const { dataDirectory, environment } = this.#options;
    const log = await open(logFile(this.#options, slot.name), 'a', 0o600);
    const child = spawn(
      process.execPath,
      [...serverFlags(environment), '--import', orphan, join(root, 'services', slot.service, 'main.ts')],
      {
        stdio: ['ignore', log.fd, log.fd, 'pipe'],
        env: {
          // A dead process restarts faster when its program need not be compiled again.
          NODE_COMPILE_CACHE: join(dataDirectory, 'compiled'),
          ...environment,
          ANNEAL_LOG_FORMAT: 'json',
          ANNEAL_HEALTH_PORT: String(slot.healthPort),
        },
      },
    );
    await log.close();
    slot.child = child;
    const { promise, resolve } = Promise.withResolvers<string>();
    child.once('exit', (code, killed) => resolve(killed ?? `exit status ${code}`));
    child.once('error', (error) => resolve(error.message));
    await this.#writeNext();
    return promise;
  }

  /** One write at a time, so that the last one stays. */
  #writeNext(): Promise<void> {
    const write = (): Promise<void> => this.#writeList();
    return (this.#lastWrite = this.#lastWrite.then(write, write));
  }

  /** Writes the list of processes for operators and for tests that kill. */
  async #writeList(): Promise<void> {
    const file = join(this.#options.dataDirectory, 'processes.json');
    const rows = this.#slots.map(({ name, service, healthPort, child }) => ({
      name,
      service,
      pid: child?.pid,
      health_port: healthPort,
    }));
    await writeFile(`${file}.new`, `${JSON.stringify(rows, undefined, 2)}\n`);
    await rename(`${file}.new`, file);
  }
}

/** The slots that are not ready when a process is refused, the wait is aborted, or its time is over. None: all ready. */
async function awaitReady(parameters: {
  slots: readonly Slot[];
  refused: ReadonlySet<Slot>;
  options: Pick<SeparateOptions, 'signal' | 'onWaiting'>;
}): Promise<Slot[]> {
  const { slots, refused, options } = parameters;
  const waiting = new Set(slots);
  const began = performance.now();
  const elapsed = (): number => (performance.now() - began) / 1000;
  let report = { at: 0, text: '' };
  let aloneSince = 0;
  while (waiting.size > 0 && refused.size === 0 && elapsed() - aloneSince < readySeconds && !options.signal.aborted) {
    let reason: string | undefined;
    await Promise.all(
      [...waiting].map(async (slot) => {
        const readiness = await readinessOf(slot.healthPort);
        if (readiness.ready) waiting.delete(slot);
        reason ??= readiness.missing;
      }),
    );
    if (waiting.size === 0) break;
    if (reason !== undefined) aloneSince = elapsed(); // P3
    const names = [...waiting].map(({ name }) => name);
    const text = reason ?? names.join(' ');
    const silent = elapsed() - report.at;
    if (silent >= repeatSeconds || (silent >= progressSeconds && text !== report.text)) {
      report = { at: elapsed(), text };
      options.onWaiting({ names, seconds: Math.round(report.at), reason });
    }
    await delay(100);
  }
  return [...waiting];
}

/** Readiness of a process. `missing`: the broker or database that it waits for. */
async function readinessOf(port: number): Promise<{ ready: boolean; missing: string | undefined }> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(3000) });
    const { checks } = (await response.json()) as { checks: Readonly<Record<string, string>> };
    const missing = [checks['store'], checks['bus']].find((check) => check?.startsWith('waiting for'));
    return { ready: response.ok, missing };
  } catch {
    return { ready: false, missing: undefined };
  }
}
