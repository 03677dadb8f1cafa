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
import { change } from '@anneal/store/change.ts';
import type { MessageDocument } from '../../collections.ts';
import { withEvent } from '../../respond.ts';
import { acceptedAt, hasAcceptance, takenAt } from './accepted-at.ts';
import { byRun } from './run.ts';
import type { RunContext } from './run-context.ts';

type Context = Pick<RunContext, 'service' | 'collections' | 'outbox' | 'acceptances'>;

interface AcceptancesOptions {
  readonly context: () => Context;
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

async function recordAccepted(context: Context, run: string): Promise<void> {
  const { document, changed } = await change(
    context.collections.resources,
    () => byRun(context, run),
    async (current) => {
      const { deployment } = current;
      if (deployment?.status !== 'IN_PROGRESS' || hasAcceptance(deployment)) return undefined;
      const accepted_at = await acceptedAt(context, run);
      if (accepted_at === undefined) return undefined;
      const accepted = { ...deployment, accepted_at, reason: `Taken by ${deployment.host_name}` };
      const next = { ...current, outbox: context.outbox.rest(current), deployment: accepted };
      return withEvent(context, next, 'accepted', current.version + 1);
    },
  );
  if (changed && document) await context.outbox.flush(document);
}
