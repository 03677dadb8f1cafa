/** Checks a provider that runs outside: over a real broker, as the engine reaches it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBus } from '@anneal/bus/open.ts';
import type { Bus } from '@anneal/bus/port.ts';
import { createMint } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { providerAnnounced, type ProviderAnnouncement } from '@anneal/contracts/resource.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { openStore } from '@anneal/store/open.ts';
import { v7 } from 'uuid';
import { guarantees, type ProviderDeath, type Guarantee, type Subject } from './guarantees.ts';
import { Probe, type SampleResource } from './probe.ts';

/** The provider to check, and how to reach it. */
export interface CheckOptions {
  /** The broker: `amqp://…` or `nats://…`, with the prefix of its names. */
  readonly url: string;
  readonly type: string;
  readonly properties: JsonObject;
  readonly changed?: JsonObject;
  /** Properties of a creation that does not complete. */
  readonly endless?: JsonObject;
  /** The queue of a provider that is announced to a running Anneal. Absent: the check waits for its announcement. */
  readonly queue?: string;
  /** The program of the provider. The check starts it, kills it in the middle of a request, and starts it again. */
  readonly command?: readonly string[];
  /** How long an answer may take, in milliseconds. */
  readonly withinMs: number;
  readonly signal: AbortSignal;
  readonly onVerdict: (verdict: Verdict) => void;
}

/** The result of one check. */
export interface Verdict {
  readonly id: string;
  readonly title: string;
  readonly verdict: 'kept' | 'broken' | 'not checked';
  /** The difference, or the option that the check needs. */
  readonly reason: string;
}

const announcing: Pick<Guarantee, 'id' | 'title'> = {
  id: 'G0',
  title: 'announces its types to templating and to scheduling at its start',
};
const log = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Runs every check and reports each verdict as it is known. Leaves no resource and no queue behind when the provider
 * deletes what it created.
 * @throws AnnealError InvalidRequest for the embedded broker, Unavailable when the broker cannot be reached, TimedOut
 *   when the provider does not announce the type
 */
export async function checkProvider(options: CheckOptions): Promise<Verdict[]> {
  if (options.url.startsWith('sqlite:')) {
    const text = 'The embedded broker belongs to one process. Check the provider on RabbitMQ or NATS.';
    throw new AnnealError('InvalidRequest', text);
  }
  const closers: (() => Promise<unknown>)[] = [];
  const closeAll = async (): Promise<void> => {
    const failures: unknown[] = [];
    // Each is closed, also when another one fails, so that no program and no connection stays open.
    for (const close of closers.toReversed()) await close().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
  try {
    const directory = await mkdtemp(join(tmpdir(), 'anneal-check-'));
    closers.push(() => rm(directory, { recursive: true, force: true }));
    const newId = (): string => v7();
    const now = (): Date => new Date();
    const source = 'anneal/check';
    const store = await openStore({ url: `sqlite:${join(directory, 'store.db')}` });
    closers.push(() => store.close());
    const bus = await openBus({ url: options.url, source, store, registry, newId, now, log });
    closers.push(() => bus.close());
    const program = new Program(options.command ?? []);
    closers.push(() => program.kill());
    const verdicts: Verdict[] = [];
    const report = (verdict: Verdict): void => {
      verdicts.push(verdict);
      options.onVerdict(verdict);
    };
    const announced =
      options.queue === undefined ? await announcement({ ...options, bus, program, report, closers }) : undefined;
    const queue = announced?.queue ?? options.queue ?? '';
    if (!announced) {
      program.start();
      report({ ...announcing, verdict: 'not checked', reason: '--queue is given' });
    }
    const probe = await Probe.open({
      bus,
      queue,
      newId,
      now: () => now().getTime(),
      mint: createMint({ source, newId, now }),
      project: 'check',
      withinMs: options.withinMs,
    });
    closers.push(() => probe.close());
    const supersedes = announced?.types.find(({ type }) => type === options.type)?.supersedes === true;
    const subject = subjectOf(options, { program, supersedes });
    for (const guarantee of guarantees) {
      options.signal.throwIfAborted();
      report(await judge(guarantee, probe, subject));
    }
    return verdicts;
  } finally {
    await closeAll();
  }
}

function subjectOf(
  { type, properties, changed, endless }: CheckOptions,
  { program, supersedes }: { program: Program; supersedes: boolean },
): Subject {
  const sample = (given: JsonObject): SampleResource => ({ type, properties: given });
  return {
    ...sample(properties),
    ...(changed && { changed }),
    ...(endless && { endless: sample(endless) }),
    ...(endless && supersedes && { superseding: properties }),
    ...(program.given && { deaths: [program.death] }),
  };
}

const optionFor = {
  changed: '--changed',
  endless: '--endless',
  superseding: '--endless, and a type that announces `supersedes`',
  deaths: 'the command of the provider, after --',
};

async function judge(guarantee: Guarantee, probe: Probe, subject: Subject): Promise<Verdict> {
  const { id, title, needs, check } = guarantee;
  if (needs && subject[needs] === undefined)
    return { id, title, verdict: 'not checked', reason: `it needs ${optionFor[needs]}` };
  try {
    await check(probe, subject);
    return { id, title, verdict: 'kept', reason: '' };
  } catch (error) {
    return { id, title, verdict: 'broken', reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Takes the announcements in the place of the two services, which must not run at this prefix. */
async function announcement(
  parameters: CheckOptions & {
    bus: Bus;
    program: Program;
    report: (verdict: Verdict) => void;
    closers: (() => Promise<unknown>)[];
  },
): Promise<ProviderAnnouncement> {
  const { bus, program, type, withinMs, report, closers, signal } = parameters;
  const queues = [requestsQueue('templating'), requestsQueue('scheduling')];
  const announced = Promise.withResolvers<ProviderAnnouncement>();
  const heardOn = new Set<string>();
  const all = Promise.withResolvers<void>();
  let problem: string | undefined;
  for (const queue of queues) {
    const { consumers } = await bus.queues.measure(queue);
    if (consumers > 0) {
      const text = `${queue} has a consumer: Anneal runs on this broker at this prefix. Name the queue of the provider (--queue), or use another prefix.`;
      throw new AnnealError('Conflict', text);
    }
    const consumer = await bus.consume(
      queue,
      ({ message }) => {
        const data = message.data as ProviderAnnouncement;
        if (message.type !== providerAnnounced.type || !data.types.some((each) => each.type === type))
          return Promise.resolve();
        heardOn.add(queue);
        announced.resolve(data);
        if (heardOn.size === queues.length) all.resolve();
        return Promise.resolve();
      },
      {
        onDeath: ({ failure }) => {
          problem = failure.message;
          return Promise.resolve();
        },
      },
    );
    // It listens until the end, because a provider announces its types at every start.
    closers.push(() => consumer.stop());
  }
  program.start();
  const late = AbortSignal.any([AbortSignal.timeout(withinMs), signal]);
  const ended = new Promise<'late'>((resolve) => late.addEventListener('abort', () => resolve('late'), { once: true }));
  const first = await Promise.race([announced.promise, ended]);
  if (first === 'late') {
    signal.throwIfAborted();
    const why = problem ?? program.problem ?? 'Start it now, or check its broker URL and prefix.';
    throw new AnnealError('TimedOut', `No provider announced ${type} within ${withinMs / 1000} s. ${why}`);
  }
  const missing = (await Promise.race([all.promise, ended])) === 'late' && queues.find((queue) => !heardOn.has(queue));
  report({
    ...announcing,
    verdict: missing ? 'broken' : 'kept',
    reason: missing ? `It sent no announcement to ${missing}.` : '',
  });
  return first;
}

/** The program of the provider. */
class Program {
  readonly #command: readonly string[];
  #child: ChildProcess | undefined;
  #stderr = '';

  constructor(command: readonly string[]) {
    this.#command = command;
  }

  get given(): boolean {
    return this.#command.length > 0;
  }

  /** The end of its standard error, when it ended by itself. */
  get problem(): string | undefined {
    const { exitCode } = this.#child ?? {};
    return exitCode == null ? undefined : `It ended with status ${exitCode}: ${this.#stderr.slice(-500).trim()}`;
  }

  readonly death: ProviderDeath = {
    name: 'killed after the request was sent',
    arm: () =>
      Promise.resolve(async () => {
        await this.kill();
        this.start();
      }),
  };

  start(): void {
    const [file, ...words] = this.#command;
    if (file === undefined) return;
    const child = spawn(file, words, { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.on('data', (chunk: Buffer) => (this.#stderr = (this.#stderr + chunk.toString()).slice(-4096)));
    child.on('error', (error) => (this.#stderr = error.message));
    this.#child = child;
  }

  /** Resolves when the process is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }
}
