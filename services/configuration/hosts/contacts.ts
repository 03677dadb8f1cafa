/**
 * The contacts of hosts that are up: kept in memory, and written together after a few seconds. Ten thousand idle hosts
 * ask hundreds of times a second, and only the timer of silence and people read when a host was last seen.
 *
 * A crash forgets the contacts of these seconds. Silence counts from the start of the service at the earliest, so no
 * host becomes silent because of it.
 */
import { change } from '@anneal/store/change.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { HostDocument } from '../collections.ts';

interface ContactsOptions {
  readonly hosts: Collection<HostDocument>;
  readonly onError: (error: unknown) => void;
  readonly writeAfterMs?: number;
}

type Contact = Pick<HostDocument, 'id' | 'last_seen_at'>;

const atOnce = 250;
const isLater = (at: string, than: string | null): boolean => than === null || at > than;

export class Contacts {
  readonly #options: ContactsOptions;
  readonly #noted = new Map<string, { readonly host: HostDocument; readonly at: string }>();
  #timer: NodeJS.Timeout | undefined;
  #writing = Promise.resolve();

  constructor(options: ContactsOptions) {
    this.#options = options;
  }

  /** Notes that a host asked or answered now. */
  note(host: HostDocument, at: string): void {
    this.#noted.set(host.id, { host, at });
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#write();
    }, this.#options.writeAfterMs ?? 5_000);
  }

  /** The last contact of a host, also one that is not written yet. */
  lastOf({ id, last_seen_at }: Contact): string | null {
    const noted = this.#noted.get(id);
    return noted && isLater(noted.at, last_seen_at) ? noted.at : last_seen_at;
  }

  /** Writes what is noted. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#writing;
    await this.#write();
    clearTimeout(this.#timer);
  }

  async #write(): Promise<void> {
    const all = [...this.#noted];
    try {
      for (let first = 0; first < all.length; first += atOnce) await this.#writeThese(all.slice(first, first + atOnce));
    } catch (error) {
      // The next contact of a host notes it again.
      this.#options.onError(error);
    }
    for (const [id, noted] of all) if (this.#noted.get(id) === noted) this.#noted.delete(id);
  }

  async #writeThese(batch: readonly (readonly [string, { host: HostDocument; at: string }])[]): Promise<void> {
    const { hosts } = this.#options;
    const outcomes = await hosts.bulk(
      batch.map(([, { host, at }]) => ({
        kind: 'replace',
        document: { ...host, last_seen_at: at },
        version: host.version,
      })),
    );
    for (const [index, [id, { at }]] of batch.entries()) {
      if (outcomes[index] !== 'stale') continue;
      await change(hosts, id, (current) =>
        isLater(at, current.last_seen_at) ? { ...current, last_seen_at: at } : undefined,
      );
    }
  }
}
