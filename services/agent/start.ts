/**
 * The agent of a host: takes requests in order, one at a time, applies each once, and resends each answer until the
 * server accepts it.
 *
 * A1 One request at a time, in the order of the server. The agent may take several at once, and hands their answers
 *    over with its next claim, so that a list of configs costs one round trip. The server takes the answers first.
 * A2 Its death at any line loses nothing and runs nothing twice, because the journal determines the next step.
 * A3 It retries without a limit, because the server may be away for hours.
 * A4 No config stops it: a failure of one request is the result of that request.
 * A5 It starts a request of a batch only within `startWithinMs` of receiving it, and none after a failed one. It claims
 *    the others again, so that the server can withdraw them.
 *
 * `stop` leaves a running program to the next agent of the same folder. `kill` simulates a power cut.
 */
import { chmodSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostReboot, HostRequest, HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { BootSeed } from '@anneal/contracts/calls/boot.ts';
import type { Log } from './log.ts';
import { Answers, answerBodies, hasFailed } from './answers.ts';
import { connectAgent, RefusedError, type AgentConnection, type OfferedRequest } from './connection.ts';
import { execute } from './execute.ts';
import { hostFacts } from './facts.ts';
import { fetchConfig, type FetchedRequest } from './fetch-config.ts';
import { FollowedRun } from './follow-run.ts';
import { openJournal, type JournalEntry, type Journal } from './journal.ts';
import type { Machine } from './machine.ts';
import { mayYetSucceed, untilDone } from './patience.ts';
import {
  afterRun,
  fixedMachine,
  hasRebooted,
  isCutByReboot,
  rebootHost,
  watchShutdown,
  type RebootOptions,
} from './reboot.ts';
import { freeSpace, runFolder, trimAllStreams } from './run-folder.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import { noteForShell, shellStateOf } from './shell-journal.ts';
import { processesOfRun, revoke, signalGroup, statusOf, wrapperOf } from './supervise.ts';
import type { Tool } from './tools/tool.ts';

export interface AgentOptions {
  readonly seed: BootSeed;
  /** Reads the seed again: its token may have been renewed. */
  readonly reread?: () => BootSeed;
  /** Its own folder: journal, runs, hooks. An agent that restarts in the same folder resumes its work. */
  readonly directory: string;
  /** The environment of every program. `HOST_ADDRESS` is also reported as a fact. */
  readonly environment: Record<string, string>;
  readonly log: Log;
  readonly newId: () => string;
  readonly now: () => Date;
  /** The machine that it reboots for configs. Without one it reboots nothing, and such configs fail. */
  readonly machine?: Machine;
  /** Seconds that a claim is held without a heartbeat. Default 60. */
  readonly claimSeconds?: number;
  /** The journal of the sh agent of this host: `shell-journal.ts`. */
  readonly shellJournal?: string | undefined;
  /** Answers what it has begun, notes it in the journal of the sh agent, and takes nothing else. */
  readonly finishes?: boolean;
  /** Seconds that one claim call may wait at the server for a request; the server may answer earlier. Default 240. */
  readonly waitSeconds?: number;
  /** Milliseconds between two trims of the streams of all runs. Default 5,000. */
  readonly streamsEveryMs?: number;
}

export interface Agent {
  /** Resolves when an agent that only finishes has done so; rejects when it could not. */
  readonly finished: Promise<void>;
  stop(): Promise<void>;
  kill(): void;
}

/** Values of inputs that later requests may refer to again. */
const valuesInMemory = 4;
/** The most requests to take at once. */
const mostAtOnce = 10;
const startWithinMs = 2_000;
/** A config that runs longer reports its start. The answer of a shorter one does. */
const reportStartAfterMs = 250;
/** Pause after a refusal that only an operator can resolve: an unknown token or queue. */
const refusedPauseMs = 15_000;
const errorPauseMs = 2_000;
const defaultStreamsEveryMs = 5_000;

export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { directory, seed, reread, log } = options;
  mkdirSync(directory, { recursive: true });
  await freeSpace(directory);
  const journal = openJournal(join(directory, 'journal.db'));
  const stopping = new AbortController();
  const client_id = seed.client_id ?? clientIdOf(directory, options.newId);
  const connection = connectAgent({ seed, reread, client_id });
  const loop = new Loop({ options, journal, connection, signal: stopping.signal });
  const finished = loop.run();
  const done = Promise.all([finished, loop.watchStreams()]).catch((error: unknown) => {
    if (!stopping.signal.aborted) {
      log.fatal({ err: error }, 'agent stopped by an error; fix the cause and start it again');
    }
  });
  return {
    finished,
    async stop() {
      stopping.abort();
      await done;
      journal.close();
    },
    kill() {
      stopping.abort();
      loop.endPrograms();
      // Closing the journal cuts off writes in progress, as a power cut does.
      journal.close();
    },
  };
}

/** Stays the same after a restart, so that the server recognises a repeated claim. */
function clientIdOf(directory: string, newId: () => string): string {
  const file = join(directory, 'client-id');
  try {
    const known = readFileSync(file, 'utf8').trim();
    if (known !== '') return known;
  } catch {
    // The first start in this folder.
  }
  const id = newId();
  writeFileSync(file, id, { mode: 0o600 });
  chmodSync(file, 0o600);
  return id;
}

const notRun = (id: string, at: Date, error: string): HostResponse => ({
  id,
  status_code: 126,
  stdout: '',
  stderr: '',
  truncated: false,
  outputs: {},
  error,
  finished_at: at.toISOString(),
});

class Loop {
  readonly #options: AgentOptions;
  readonly #journal: Journal;
  readonly #connection: AgentConnection;
  readonly #answers: Answers;
  readonly #signal: AbortSignal;
  readonly #claimSeconds: number;
  /** Process groups that this agent started and that may still run. */
  readonly #groups = new Set<number>();
  readonly #machine: Machine;
  #running: { run: string; attempt: () => number } | undefined;
  readonly #values = new Recent<Json>(valuesInMemory);

  constructor(parts: { options: AgentOptions; journal: Journal; connection: AgentConnection; signal: AbortSignal }) {
    this.#options = parts.options;
    this.#journal = parts.journal;
    this.#connection = parts.connection;
    this.#signal = parts.signal;
    const { directory, log, machine = fixedMachine } = parts.options;
    this.#machine = machine;
    this.#answers = new Answers({ ...parts, directory, log });
    this.#claimSeconds = parts.options.claimSeconds ?? 60;
  }

  async run(): Promise<void> {
    if (this.#options.finishes) return this.#finishBegun();
    await this.#answers.say({ hello: true, facts: hostFacts(this.#options.environment, this.#options.seed.hostname) });
    for (const entry of this.#journal.open()) await this.#surviving(() => this.#resume(entry));
    for (;;) {
      this.#signal.throwIfAborted();
      await this.#surviving(async () =>
        this.#takeAll(await this.#nextOffers({ wait: this.#options.waitSeconds ?? 240, batch: mostAtOnce })),
      );
    }
  }

  /** Runs an interrupted request again only when the server still offers it, as always. */
  async #finishBegun(): Promise<void> {
    for (const entry of this.#journal.open()) await this.#resume(entry);
    for (;;) {
      await this.#answers.sendAll();
      const left = this.#journal.open().filter(({ state }) => state === 'started');
      const [offer] = left.length > 0 ? await this.#nextOffers({ wait: 0, batch: 1 }) : [];
      if (!offer) break;
      if (left.some(({ id }) => id === offer.request?.id)) await this.#take(offer);
      else {
        const { claim_id } = offer;
        await this.#withRetries('releasing a claim', () =>
          this.#connection.release({ claim_id, signal: this.#signal }),
        );
        break;
      }
    }
    const { shellJournal } = this.#options;
    if (shellJournal !== undefined) for (const entry of this.#journal.all()) noteForShell(shellJournal, entry);
  }

  /** A5: runs a batch in its order, as long as it may. */
  async #takeAll(offers: readonly OfferedRequest[]): Promise<void> {
    const received = performance.now();
    for (const [index, offer] of offers.entries()) {
      if (index > 0 && (this.#answers.waiting.some(hasFailed) || performance.now() - received > startWithinMs)) return;
      await this.#take(offer);
    }
  }

  /**
   * A4: no error ends the loop. The request is offered again when its claim ends. The pause limits repeated log lines.
   */
  async #surviving(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#signal.throwIfAborted();
      this.#options.log.error({ err: error }, 'request not handled; the agent continues');
      await sleep(errorPauseMs, undefined, { signal: this.#signal });
    }
  }

  /** Trims the streams of all runs, because processes that a run started may outlive it and still write. */
  async watchStreams(): Promise<void> {
    const { streamsEveryMs = defaultStreamsEveryMs } = this.#options;
    for (;;) {
      await sleep(streamsEveryMs, undefined, { signal: this.#signal });
      await trimAllStreams(this.#options.directory);
    }
  }

  /** Kills the running programs with their children, as a power cut does. */
  endPrograms(): void {
    const running = this.#running;
    if (running) {
      try {
        this.#groups.add(Number(readlinkSync(join(running.run, `started.${running.attempt()}`))));
      } catch {
        // The attempt has not begun.
      }
    }
    for (const pid of this.#groups) if (pid > 1) signalGroup(pid, 'SIGKILL');
    this.#groups.clear();
  }

  #withRetries<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    return untilDone(attempt, { signal: this.#signal, log: this.#options.log, what });
  }

  async #nextOffers({ wait, batch }: { wait: number; batch: number }): Promise<readonly OfferedRequest[]> {
    const asked = performance.now();
    const sent = [...this.#answers.waiting];
    const answers = answerBodies(sent);
    try {
      const claimed = await untilDone(
        () => this.#connection.claim({ wait, ttl: this.#claimSeconds, batch, answers, signal: this.#signal }),
        {
          signal: this.#signal,
          log: this.#options.log,
          what: 'asking for work',
          worthwhile: (error) => !(error instanceof RefusedError) || error.status >= 500,
        },
      );
      await this.#answers.claimed(sent, claimed);
      const { offers } = claimed;
      // Pause when the server answers without waiting, so that the agent does not poll in a tight loop.
      if (offers.length === 0 && answers.length === 0 && performance.now() - asked < 500) {
        await sleep(1_000, undefined, { signal: this.#signal });
      }
      return offers;
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      if (answers.length > 0 && !mayYetSucceed(error)) {
        // One of them is refused. Each alone is accepted, or refused without an effect on the others.
        await this.#answers.sendAll();
        return [];
      }
      this.#options.log.error(
        { err: error },
        'server refused this host, because its token or queue does not exist; retrying later',
      );
      await sleep(refusedPauseMs * (0.5 + Math.random()), undefined, { signal: this.#signal });
      return [];
    }
  }

  async #take(offer: OfferedRequest): Promise<void> {
    const { message_id, claim_id } = offer;
    const fetched = offer.request ? await this.#whole(offer.request) : { mistake: offer.mistake };
    // The server withdrew it meanwhile, so nothing waits for an answer.
    if (!fetched) return;
    if (!('request' in fetched)) {
      const { mistake = 'it cannot be read' } = fetched;
      this.#options.log.error({ message: message_id, mistake }, 'request not readable; answered with an error');
      // The message id is the request id, unless a user posted the message.
      const error = `the agent cannot read the request: ${mistake}`;
      await this.#answers.refuse(offer, notRun(offer.request?.id ?? message_id, this.#options.now(), error));
      return;
    }
    const { request } = fetched;
    const known = this.#journal.get(request.id);
    if (!known && (await this.#isOfShell(request.id, offer))) return;
    const entry: JournalEntry = known
      ? { ...known, message_id, claim_id }
      : {
          id: request.id,
          state: 'accepted',
          request,
          message_id,
          claim_id,
          attempts: 0,
          started_at: null,
          result: null,
        };
    try {
      this.#journal.put(entry);
    } catch (cause) {
      // J3: the program was not started, so the answer need not be in the journal.
      const why = cause instanceof Error ? cause.message : String(cause);
      const error = `the agent did not start it, because it could not write its journal (is the disk full?): ${why}`;
      return this.#answers.send({ ...entry, result: entry.result ?? notRun(request.id, this.#options.now(), error) });
    }
    await this.#finish(entry);
  }

  /** Ends a request that the sh agent of this host began. False for any other. */
  async #isOfShell(id: string, offer: OfferedRequest): Promise<boolean> {
    const state = shellStateOf(this.#options.shellJournal, id);
    if (state === 'unknown') return false;
    const error = 'interrupted: the sh agent of this host began it and did not answer; no agent starts a config twice';
    const answer: HostResponse = { ...notRun(id, this.#options.now(), error), status_code: 125 };
    await (state === 'begun' ? this.#answers.refuse(offer, answer) : this.#answers.removeRequest(offer));
    return true;
  }

  /** The request with its config. The journal has the config of a request that it knows. */
  async #whole(request: HostRequest): Promise<FetchedRequest> {
    const known = this.#journal.get(request.id);
    if (known) return { request: known.request };
    return fetchConfig(request, {
      connection: this.#connection,
      signal: this.#signal,
      log: this.#options.log,
      values: this.#values,
    });
  }

  /** Resumes a request that was open when the agent last stopped. */
  async #resume(entry: JournalEntry): Promise<void> {
    if (entry.state === 'finished') return this.#answers.send(entry);
    if (entry.state === 'started' && (await this.#mayGoOn(entry))) return this.#finish(entry);
    if (entry.reboot) this.#journal.put(await this.#rebooted(entry));
    // The request may be obsolete. Release its claim, so that the server offers it again at once if it is still needed.
    const { claim_id } = entry;
    if (claim_id !== null) {
      await this.#withRetries('releasing a claim', () => this.#connection.release({ claim_id, signal: this.#signal }));
    }
  }

  /** True when its program still runs, or ended while no agent was running. */
  async #mayGoOn(entry: JournalEntry): Promise<boolean> {
    const { id, attempts, result } = entry;
    const boot = this.#machine.boot();
    // B2: a reboot that is not over goes on. After it the result is sent; a program runs again only when it is offered.
    if (entry.reboot) return result !== null || !hasRebooted(entry, boot);
    if (entry.again === true) return false;
    const run = runFolder(this.#options.directory, id);
    const status = await statusOf(run, attempts);
    if (status !== undefined) return !isCutByReboot(entry, status, boot);
    return !(await revoke(run, attempts)) && (await wrapperOf(run, attempts)) !== undefined;
  }

  async #finish(entry: JournalEntry): Promise<void> {
    if (entry.result && !entry.reboot) return this.#answers.send(entry);
    const { directory, log } = this.#options;
    const over = new AbortController();
    const signal = AbortSignal.any([this.#signal, over.signal]);
    const heartbeat = this.#beat(entry, signal);
    this.#running = {
      run: runFolder(directory, entry.id),
      attempt: () => this.#journal.get(entry.id)?.attempts ?? 0,
    };
    const reports: Promise<void>[] = [];
    const followed = new FollowedRun({
      connection: this.#connection,
      id: entry.id,
      run: runFolder(directory, entry.id),
      isResumed: entry.attempts > 0,
      log,
      signal,
    });
    const following = followed.follow();
    let report: NodeJS.Timeout | undefined;
    try {
      log.info({ request: entry.id, name: entry.request.name, group: entry.request.group }, 'applying a config');
      const onStarted = (at: string): void => {
        followed.restarted();
        clearTimeout(report);
        // Send it once and do not wait for it, because the response reports the same time.
        report = setTimeout(() => reports.push(this.#answers.reportStart(entry.id, at)), reportStartAfterMs);
      };
      const ended = await this.#untilEnded(entry, { followed, onStarted });
      const { result } = ended;
      this.#signal.throwIfAborted();
      over.abort();
      await following;
      await followed.flush(this.#signal);
      const finished: JournalEntry = { ...ended, state: 'finished' };
      this.#journal.put(finished);
      clearTimeout(report);
      await Promise.all(reports);
      log.info({ request: entry.id, status_code: result?.status_code, error: result?.error }, 'applied a config');
      await this.#answers.add(finished);
    } finally {
      clearTimeout(report);
      this.#running = undefined;
      over.abort();
      await Promise.all([heartbeat, following]);
    }
  }

  /** Runs a config, and reboots the host when it asks for that, until it has a result. */
  async #untilEnded(
    entry: JournalEntry,
    { followed, onStarted }: { followed: FollowedRun; onStarted: (at: string) => void },
  ): Promise<JournalEntry> {
    const { directory, environment, log, now } = this.#options;
    const machine = this.#machine;
    for (let current = entry; ;) {
      if (!current.reboot) {
        const options = {
          directory,
          environment,
          journal: this.#journal,
          log,
          machine,
          now,
          signal: this.#signal,
          onGroup: (pid: number) => this.#groups.add(pid),
          onStarted,
          onRebooted: (number: number) => this.#answers.reportReboot(entry.id, { number, over: true }),
          onTool: (tool: Tool) => followed.sendOnly(tool.streams),
          stop: followed.stop,
          storeOutput: (name: string, file: string) => followed.storeOutput(name, file, this.#signal),
        };
        const result = await this.#watched(current, () => execute(options, current));
        this.#signal.throwIfAborted();
        const lives = async (): Promise<boolean> => (await processesOfRun(runFolder(directory, entry.id))).length > 0;
        const after = { machine, now, lives, signal: this.#signal };
        current = await afterRun(after, this.#journal.get(entry.id) ?? current, result);
        if (!current.reboot) return current;
        this.#journal.put(current); // B1
      }
      current = await this.#rebooted(current);
      if (current.result) return current;
      this.#journal.put(current);
    }
  }

  #rebooted(entry: JournalEntry): Promise<JournalEntry> {
    return rebootHost(this.#rebootOptions(entry, this.#signal), entry);
  }

  #rebootOptions({ id }: JournalEntry, signal: AbortSignal): RebootOptions {
    const { log, now } = this.#options;
    const report = (state: HostReboot): Promise<void> => this.#answers.reportReboot(id, state);
    return { machine: this.#machine, log, now, signal, report };
  }

  /** Runs a program, and reports when the machine goes down meanwhile. */
  async #watched<T>(entry: JournalEntry, run: () => Promise<T>): Promise<T> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#signal, over.signal]);
    const watching = watchShutdown(this.#rebootOptions(entry, signal), entry);
    try {
      return await run();
    } finally {
      over.abort();
      await watching;
    }
  }

  /** Keeps the claim while a program runs. A lost claim does not stop the program, because its answer still counts. */
  async #beat({ claim_id, id }: JournalEntry, signal: AbortSignal): Promise<void> {
    if (claim_id === null) return;
    const ttl = this.#claimSeconds;
    while (!signal.aborted) {
      try {
        await sleep((ttl * 1000) / 3, undefined, { signal });
        await this.#connection.renew({ claim_id, ttl, signal });
      } catch (error) {
        if (!signal.aborted) this.#options.log.warn({ err: error, request: id }, 'claim not renewed; retrying');
      }
    }
  }
}
