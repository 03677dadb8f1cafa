/**
 * The requests that one user has in progress in one project: also long polls and event streams, which may last. Each
 * replica counts for itself. The bound keeps one user's program from taking every connection to the database.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';

/** Long enough for short requests to end. */
const retrySeconds = 1;

export class RequestsInProgress {
  readonly #most: number;
  readonly #setting: string;
  readonly #counts = new Map<string, number>();

  constructor({ most, setting }: { most: number; setting: string }) {
    this.#most = most;
    this.#setting = setting;
  }

  /**
   * Counts a request until the returned function is called, once.
   * @throws AnnealError LimitReached when the user has too many; then it counts nothing
   */
  begin({
    user,
    project,
  }: {
    user: { readonly id: string; readonly name: string };
    project: string | null;
  }): () => void {
    const key = `${user.id} ${project ?? ''}`;
    const count = this.#counts.get(key) ?? 0;
    if (count >= this.#most) {
      throw new AnnealError(
        'LimitReached',
        `User ${user.name} has ${count} requests in progress, long polls and event streams included, which is the limit (${this.#setting}). Send the next one when one of them has ended.`,
        { details: { retry_after_seconds: retrySeconds } },
      );
    }
    this.#counts.set(key, count + 1);
    return () => {
      const left = (this.#counts.get(key) ?? 1) - 1;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
    };
  }
}
