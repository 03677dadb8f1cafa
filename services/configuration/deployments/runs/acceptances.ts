/**
 * Reports when hosts took their requests.
 *
 * A1 Most configs start or end within a second. The record and the events of that carry the time of the acceptance, so a
 *    short config costs no further event, document or read.
 * A2 A run that has neither started nor ended `afterMs` to twice `afterMs` later is recorded on its own, with the event
 *    `deployment.accepted`.
 * A3 The time is durable in the message of the request, which stays until the end of the run is recorded. This process
 *    also keeps the latest ones in memory. After a crash, the start of the service notes each request that a host has
 *    taken.
 */
import { Recent } from '@anneal/runtime/work/recent.ts';
import type { MessageDocument } from '../../collections.ts';
import { takenAt } from '../decisions/acceptance.ts';
import { stateOfRun } from '../decisions/run-states.ts';
import { acceptedAt } from './accepted-at.ts';
import { takeInput } from './carry-out.ts';
import type { RunContext } from './run-context.ts';

interface AcceptancesOptions {
  readonly context: () => RunContext;
  readonly afterMs: number;
  readonly onError: (error: unknown) => void;
}

const atOnce = 50;
/** Each costs some hundred bytes of memory. */
const timesKept = 20_000;

export class Acceptances {
  readonly #options: AcceptancesOptions;
  readonly #times = new Recent<string>(timesKept);
  /** Runs to record, noted since the last look and before it. */
  #young = new Set<string>();
  #old = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #recording = Promise.resolve();

  constructor(options: AcceptancesOptions) {
    this.#options = options;
  }

  /** Notes that a host has taken the request of this run. A repeat changes nothing. */
  note(message: MessageDocument): void {
    this.remember(message);
    if (!this.#old.has(message.id)) this.#young.add(message.id);
    this.#lookLater();
  }

  /** Keeps the time of a request that its host took behind another one. Its own record waits until it is the first. */
  remember(message: MessageDocument): void {
    const at = takenAt(message);
    if (at !== undefined) this.#times.set(message.id, at);
  }

  /** When the host took the request, if it is known without a read. */
  timeOf(run: string): string | undefined {
    return this.#times.get(run);
  }

  /** Forgets a run whose start or end is recorded. */
  settle(run: string): void {
    this.#times.delete(run);
    this.#young.delete(run);
    this.#old.delete(run);
  }

  /** Waits for the records that have begun. The next start notes the others again. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#recording;
  }

  #lookLater(): void {
    this.#timer ??= setTimeout(() => this.#look(), this.#options.afterMs);
  }

  #look(): void {
    this.#timer = undefined;
    const due = [...this.#old];
    this.#old = this.#young;
    this.#young = new Set();
    if (this.#old.size > 0) this.#lookLater();
    if (due.length > 0) this.#recording = this.#recording.then(() => this.#record(due)).catch(this.#options.onError);
  }

  async #record(runs: readonly string[]): Promise<void> {
    for (let from = 0; from < runs.length; from += atOnce)
      await Promise.all(runs.slice(from, from + atOnce).map((run) => recordAccepted(this.#options.context(), run)));
  }
}

/** A2 */
async function recordAccepted(context: RunContext, run: string): Promise<void> {
  await takeInput(context, { run }, async (document) => {
    const accepted_at = stateOfRun(document) === 'queued' ? await acceptedAt(context, run) : undefined;
    return accepted_at === undefined ? undefined : { kind: 'taken', accepted_at };
  });
}
