/** The stop of a process: the steps of its parts, in reverse order of their start, each with a deadline. */
import type { Logger } from 'pino';

/** The steps that stop a process, each added when its part has started. */
export class Teardown {
  readonly #log: Logger;
  readonly #steps: (() => Promise<void>)[] = [];
  readonly #stopping = new AbortController();
  #done: Promise<void> | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Aborted when the stop begins. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  add(step: () => Promise<void>): void {
    this.#steps.push(step);
  }

  /** Runs the steps, last one first. A step that fails does not keep the others from running. Later calls wait. */
  run(): Promise<void> {
    return (this.#done ??= this.#run());
  }

  async #run(): Promise<void> {
    this.#stopping.abort();
    for (const step of this.#steps.toReversed()) {
      await step().catch((error: unknown) =>
        this.#log.error({ err: error }, 'step of the stop failed; continuing with the next step'),
      );
    }
  }
}

/** Waits for the stop of a service at most so many seconds. A later stop is logged and left. Rejects when `work` does. */
export async function withDeadline(options: {
  work: Promise<void>;
  seconds: number;
  name: string;
  log: Logger;
}): Promise<void> {
  const { work, seconds, name, log } = options;
  const { promise, resolve: giveUp } = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => giveUp('late'), seconds * 1000);
  const outcome = await Promise.race([work, promise]).finally(() => clearTimeout(timer));
  if (outcome === 'late') {
    log.warn(
      { service: name, seconds },
      'work in progress not finished in time; released, to be done again at the next start',
    );
  }
}
