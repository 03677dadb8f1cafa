/** The answers of the requests of a host, kept until the server has accepted them. */
import type { HostProgress, HostReboot, HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { RefusedError, type AgentConnection, type ClaimedBatch } from './connection.ts';
import type { Journal, JournalEntry } from './journal.ts';
import type { Log } from './log.ts';
import { mayYetSucceed, untilDone } from './patience.ts';
import { removeRun, tidyRun } from './run-folder.ts';

/** Answered requests that stay in the journal, with their run folders. */
const keepAnswered = 200;
/** How long the report of a reboot is tried. */
const reportRebootMs = 15_000;

interface AnswersOptions {
  readonly connection: AgentConnection;
  readonly journal: Journal;
  /** The folder of the agent. */
  readonly directory: string;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Sends answers in the order in which their requests finished. The journal says after a restart which are not accepted yet. */
export class Answers {
  readonly #options: AnswersOptions;
  #waiting: JournalEntry[] = [];
  /** Whether the server takes answers with a claim. */
  #goWithClaims = false;

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /** Finished requests whose answers go with the next claim. */
  get waiting(): readonly JournalEntry[] {
    return this.#waiting;
  }

  /** Sends the answer of a finished request with the next claim; at once to a server that takes none with a claim. */
  async add(entry: JournalEntry): Promise<void> {
    if (this.#goWithClaims) this.#waiting.push(entry);
    else await this.send(entry);
  }

  /** Notes what the server did with the answers of a claim. Sends them one by one when it did not take them. */
  async claimed(sent: readonly JournalEntry[], { answered, takesAnswers }: ClaimedBatch): Promise<void> {
    this.#goWithClaims = takesAnswers;
    await (answered ? this.#noteAnswered(sent) : this.sendAll());
  }

  /** Sends the waiting answers one by one. */
  async sendAll(): Promise<void> {
    for (const entry of this.#waiting.splice(0)) await this.send(entry);
  }

  /** Posts the answer of a request, and takes the request out of the host's queue. Retries without a limit. */
  async send(entry: JournalEntry): Promise<void> {
    if (entry.result) await this.say(entry.result as unknown as Json);
    await this.removeRequest(entry);
    await this.#noteAnswered([entry]);
  }

  /** Answers a request that the agent does not run and has no entry for. Retries without a limit. */
  async refuse(request: { message_id: string; claim_id: string | null }, answer: HostResponse): Promise<void> {
    await this.say(answer as unknown as Json);
    await this.removeRequest(request);
  }

  /** Takes a request out of the host's queue. */
  async removeRequest({ message_id, claim_id }: { message_id: string; claim_id: string | null }): Promise<void> {
    const { connection, signal, log } = this.#options;
    const what = 'removing a request';
    await untilDone(() => connection.remove({ message_id, claim_id, signal }), { signal, log, what });
  }

  /** Posts a message until the server accepts or refuses it. */
  async say(body: Json): Promise<void> {
    const { connection, signal, log } = this.#options;
    const what = 'posting to the server';
    try {
      await untilDone(() => connection.post({ bodies: [body], signal }), { signal, log, what });
    } catch (error) {
      // Retrying would block the queue behind it forever. The message stays in the journal and in this log line.
      if (!(error instanceof RefusedError) || mayYetSucceed(error)) throw error;
      log.error({ err: error }, 'server refused a message of this host; the agent continues without it');
    }
  }

  /** Reports the start of a config after the answers to the configs before it. A lost report costs nothing. */
  async reportStart(id: string, at: string): Promise<void> {
    const { connection, signal, log } = this.#options;
    const before = [...this.#waiting];
    try {
      await connection.post({ bodies: [...answerBodies(before), { id, progress: 'started', at }], signal });
      await this.#noteAnswered(before);
    } catch (error) {
      log.debug({ err: error }, 'progress not posted');
    }
  }

  /**
   * Reports that the host reboots for a config, or is back, after the answers to the configs before it. The host reboots
   * whether or not the report arrives.
   */
  async reportReboot(id: string, reboot: HostReboot): Promise<void> {
    const { connection, log } = this.#options;
    const before = [...this.#waiting];
    const progress: HostProgress = { id, progress: 'started', reboot };
    const bodies = [...answerBodies(before), progress as unknown as Json];
    const signal = AbortSignal.any([this.#options.signal, AbortSignal.timeout(reportRebootMs)]);
    const what = 'reporting a reboot';
    try {
      await untilDone(() => connection.post({ bodies, signal }), { signal, log, what, slowestMs: 2_000 });
      await this.#noteAnswered(before);
    } catch (error) {
      log.warn({ err: error, request: id }, 'reboot not reported; the server learns of it by the answer');
    }
  }

  async #noteAnswered(entries: readonly JournalEntry[]): Promise<void> {
    const { journal, directory } = this.#options;
    this.#waiting = this.#waiting.filter((entry) => !entries.includes(entry));
    for (const entry of entries) {
      journal.put({ ...entry, state: 'answered' });
      await tidyRun(directory, entry.id);
    }
    for (const id of journal.trim(keepAnswered)) await removeRun(directory, id);
  }
}

/** The messages of the answers of these requests. */
export const answerBodies = (entries: readonly JournalEntry[]): Json[] =>
  entries.flatMap(({ result }) => (result ? [result as unknown as Json] : []));

/** A config fails by its exit status, an error of its tool, or an output that its config declares as an error. */
export function hasFailed({ result, request }: JournalEntry): boolean {
  if (result?.status_code !== 0 || result.error !== undefined) return true;
  const sent = new Set(result.stored);
  const isPresent = (value: Json | undefined): boolean => value !== undefined && value !== null && value !== '';
  return request.outputs.some(
    ({ name, error_output }) => error_output === true && (sent.has(name) || isPresent(result.outputs[name])),
  );
}
