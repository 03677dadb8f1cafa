/**
 * The rate of requests of one user in one project. A user may save up the requests of ten seconds, so that a command or
 * a page with many requests is not slowed down. Each replica counts for itself. Memory is bounded: the user whose last
 * request is the oldest is forgotten first, and begins with the saved requests again.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';

const savedSeconds = 10;

interface RateOptions {
  readonly perSecond: number;
  /** The name of the setting, for the message. */
  readonly setting: string;
  /** Milliseconds of a clock that never goes back. */
  readonly elapsed: () => number;
  readonly mostUsers?: number;
}

export class RequestRates {
  readonly #options: RateOptions;
  /** The requests that each user may still send, as of a time. */
  readonly #left = new Map<string, { readonly count: number; readonly at: number }>();

  constructor(options: RateOptions) {
    this.#options = options;
  }

  /** Counts a request. @throws AnnealError LimitReached when the user must wait; then it counts nothing. */
  count({ user, project }: { user: { readonly id: string; readonly name: string }; project: string | null }): void {
    const { perSecond, setting, elapsed, mostUsers = 10_000 } = this.#options;
    const key = `${user.id} ${project ?? ''}`;
    const at = elapsed();
    const most = perSecond * savedSeconds;
    const before = this.#left.get(key) ?? { count: most, at };
    const count = Math.min(most, before.count + ((at - before.at) / 1000) * perSecond);
    if (count < 1) {
      const seconds = Math.ceil((1 - count) / perSecond);
      throw new AnnealError(
        'LimitReached',
        `User ${user.name} sends more than ${perSecond} requests per second (${setting}). The next request is possible in ${seconds} s.`,
        { details: { retry_after_seconds: seconds } },
      );
    }
    this.#left.delete(key);
    this.#left.set(key, { count: count - 1, at });
    if (this.#left.size > mostUsers) {
      const [oldest] = this.#left.keys();
      if (oldest !== undefined) this.#left.delete(oldest);
    }
  }
}
