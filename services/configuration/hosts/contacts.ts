/**
 * The contacts of hosts that are up: kept in memory, and written together after a few seconds. Ten thousand idle hosts
 * are in contact all the time, and only the search for silent hosts and people read when a host was last seen.
 *
 * C1 A request of a host is written within `writeAfterMs`. The report that a host waits on an open connection is
 *    written only when the written contact is older than `refreshAfterMs`, so an idle host costs a write in that time.
 * C2 A crash forgets the contacts that are not written. Silence counts from the start of the service at the earliest,
 *    so no host becomes silent because of it.
 * C3 A host is not silent while its message may still wait for this service: silence takes longer by the latest delay.
 */
import { change } from '@anneal/store/change.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { HostDocument } from '../collections.ts';

interface ContactsOptions {
  readonly hosts: Collection<HostDocument>;
  readonly onError: (error: unknown) => void;
  readonly writeAfterMs?: number;
  /** The most that a written contact may be older than the latest one. */
  readonly refreshAfterMs: number;
}

type Contact = Pick<HostDocument, 'id' | 'last_seen_at'>;

interface Latest {
  at: string;
  written: string;
}

const atOnce = 250;
/** A longer delay is a wrong clock. */
const mostDelayMs = 600_000;
const isLater = (at: string, than: string | null): boolean => than === null || at > than;

export class Contacts {
  readonly #options: ContactsOptions;
  /** The latest contact of each host, in this process. */
  readonly #latest = new Map<string, Latest>();
  /** The hosts whose latest contact must be written. With the document, if the contact came with it. */
  readonly #due = new Map<string, HostDocument | undefined>();
  #delayMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing = Promise.resolve();

  constructor(options: ContactsOptions) {
    this.#options = options;
  }

  /** Notes that a host that is up asked or answered now. */
  note(host: HostDocument, at: string): void {
    this.#latest.set(host.id, { at, written: this.#latest.get(host.id)?.written ?? host.last_seen_at ?? '' });
    this.#writeLater(host.id, host);
  }

  /**
   * Notes that these hosts wait on open connections. Returns those that this process does not know to be up; none of
   * them is noted.
   */
  notePresent(ids: readonly string[], at: string): string[] {
    const refresh = new Date(Date.parse(at) - this.#options.refreshAfterMs).toISOString();
    return ids.filter((id) => {
      const known = this.#latest.get(id);
      if (!known) return true;
      if (at > known.at) known.at = at;
      if (known.written <= refresh) this.#writeLater(id);
      return false;
    });
  }

  /** C3: how long the latest message about hosts waited. */
  get delayMs(): number {
    return this.#delayMs;
  }

  /** Notes a message about hosts that was sent at a time and is handled now. */
  noteDelay(sentAt: string, now: number): void {
    this.#delayMs = Math.min(mostDelayMs, Math.max(0, now - Date.parse(sentAt)));
  }

  /** The last contact of a host, also one that is not written yet. */
  lastOf({ id, last_seen_at }: Contact): string | null {
    const latest = this.#latest.get(id);
    return latest && isLater(latest.at, last_seen_at) ? latest.at : last_seen_at;
  }

  /** A host with its last contact. */
  seen(host: HostDocument): HostDocument {
    const last_seen_at = this.lastOf(host);
    return last_seen_at === host.last_seen_at ? host : { ...host, last_seen_at };
  }

  /** Forgets a host that is not up any more. */
  forget(id: string): void {
    this.#latest.delete(id);
    this.#due.delete(id);
  }

  /** Writes what is noted. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#writing;
    for (const [id, { at, written }] of this.#latest)
      if (at > written && !this.#due.has(id)) this.#due.set(id, undefined);
    await this.#write();
    clearTimeout(this.#timer);
  }

  #writeLater(id: string, host?: HostDocument): void {
    this.#due.set(id, host ?? this.#due.get(id));
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#write();
    }, this.#options.writeAfterMs ?? 5_000);
  }

  async #write(): Promise<void> {
    const due = [...this.#due];
    this.#due.clear();
    try {
      for (let first = 0; first < due.length; first += atOnce) await this.#writeThese(due.slice(first, first + atOnce));
    } catch (error) {
      // The next contact of a host makes it due again.
      this.#options.onError(error);
    }
  }

  async #writeThese(batch: readonly (readonly [string, HostDocument | undefined])[]): Promise<void> {
    const { hosts } = this.#options;
    const missing = batch.flatMap(([id, host]) => (host ? [] : [id]));
    const read = new Map((await hosts.getMany(missing)).map((host) => [host.id, host]));
    const writes = batch.flatMap(([id, given]) => {
      const [host, latest] = [given ?? read.get(id), this.#latest.get(id)];
      if (!host) this.forget(id);
      return host && latest && isLater(latest.at, host.last_seen_at) ? [{ host, latest, at: latest.at }] : [];
    });
    const outcomes = await hosts.bulk(
      writes.map(({ host, at }) => ({
        kind: 'replace',
        document: { ...host, last_seen_at: at },
        version: host.version,
      })),
    );
    for (const [index, { host, latest, at }] of writes.entries()) {
      if (outcomes[index] === 'stale') {
        await change(hosts, host.id, (current) =>
          isLater(at, current.last_seen_at) ? { ...current, last_seen_at: at } : undefined,
        );
      }
      latest.written = at;
    }
  }
}
