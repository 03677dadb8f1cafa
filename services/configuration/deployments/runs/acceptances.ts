/**
 * Reports that hosts took their requests: the event `deployment.accepted`.
 *
 * A1 Most configs end within a second, and the record of their end reports the acceptance, too. So it is recorded on its
 *    own only for a run that has neither started nor ended `afterMs` later, and a short config costs no additional write.
 * A2 A crash in this time delays the event and does not lose it: the start of the service notes each request that a host
 *    has taken.
 */
import { change } from '@anneal/store/change.ts';
import { withEvent } from '../../respond.ts';
import { byRun } from './run.ts';
import type { RunContext } from './run-context.ts';

type Context = Pick<RunContext, 'service' | 'collections' | 'outbox'>;

interface AcceptancesOptions {
  readonly context: () => Context;
  readonly afterMs: number;
  readonly onError: (error: unknown) => void;
}

const atOnce = 50;

export class Acceptances {
  readonly #options: AcceptancesOptions;
  readonly #taken = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #recording = Promise.resolve();

  constructor(options: AcceptancesOptions) {
    this.#options = options;
  }

  /** Notes that a host has taken the request of this run. A repeat changes nothing. */
  note(run: string): void {
    this.#taken.add(run);
    this.#timer ??= setTimeout(() => this.#recordTaken(), this.#options.afterMs);
  }

  /** Waits for the records that have begun. The next start notes the others again. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#recording;
  }

  #recordTaken(): void {
    this.#timer = undefined;
    const runs = [...this.#taken];
    this.#taken.clear();
    this.#recording = this.#recording.then(() => this.#record(runs)).catch(this.#options.onError);
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
    (current) => {
      const { deployment } = current;
      if (deployment?.status !== 'IN_PROGRESS' || deployment.accepted === true) return undefined;
      const accepted = { ...deployment, accepted: true as const, reason: `Taken by ${deployment.host_name}` };
      const next = { ...current, outbox: context.outbox.rest(current), deployment: accepted };
      return withEvent(context, next, 'accepted', current.version + 1);
    },
  );
  if (changed && document) await context.outbox.flush(document);
}
