/**
 * Slows down repeated failures: the first few are free, then each failure doubles the wait. Memory is bounded: the
 * oldest place is dropped first.
 *
 * F1 A failure counts for the address and the name that it tried. A success ends this count.
 * F2 It also counts for the address alone, or one password could be tried on any number of names. No success ends this
 *    count, or a client with one right password could go on for ever. Many clients may share an address, so more
 *    failures are free there, and the waits are short.
 * F3 An IPv6 client has a whole /64 of addresses, so its network counts as one address.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { normalIp, readNetwork } from '@anneal/contracts/readers/ip.ts';

/** The limits of attempts, and the clock. */
export interface AttemptOptions {
  now: () => number;
  /** The attempted action, for the message: `Logging in`. */
  what: string;
  free: number;
  longestWaitMs: number;
  mostPlaces?: number;
}

/** Where a failure came from: the address of the client and, for credentials with a name, the name. */
export interface AttemptPlace {
  readonly address: string;
  readonly name?: string | undefined;
}

interface Count {
  readonly key: string;
  readonly free: number;
  readonly longestWaitMs: number;
  readonly forgetMs: number;
}

interface Record {
  failures: number;
  until: number;
  last: number;
}

const hourMs = 3_600_000;
/** F2 */
const alone = { free: 50, longestWaitMs: 15_000, forgetMs: hourMs } as const;

/** Counts failures by place. */
export class Attempts {
  readonly #options: AttemptOptions;
  readonly #records = new Map<string, Record>();

  constructor(options: AttemptOptions) {
    this.#options = options;
  }

  /** @throws AnnealError LimitReached while the place has to wait. */
  check(place: AttemptPlace): void {
    const now = this.#options.now();
    const waits = this.#countsOf(place)
      .map(({ key }) => this.#records.get(key))
      .filter((record) => record !== undefined && record.until > now)
      .toSorted((a, b) => (b?.until ?? 0) - (a?.until ?? 0));
    const [longest] = waits;
    if (!longest) return;
    const seconds = Math.ceil((longest.until - now) / 1000);
    throw new AnnealError(
      'LimitReached',
      `${this.#options.what} failed ${longest.failures} times from this address; the next attempt is possible in ${seconds} s.`,
      { details: { retry_after_seconds: seconds } },
    );
  }

  failed(place: AttemptPlace): void {
    for (const count of this.#countsOf(place)) this.#add(count);
  }

  /**
   * Counts a failure. One that came while its name has to wait does not make that wait longer, but counts for the address.
   * @throws AnnealError LimitReached while the place has to wait
   */
  refused(place: AttemptPlace): void {
    try {
      this.check(place);
    } catch (error) {
      const [, address] = this.#countsOf(place);
      if (address) this.#add(address);
      throw error;
    }
    this.failed(place);
  }

  succeeded(place: AttemptPlace): void {
    // F2
    const [own] = this.#countsOf(place);
    if (own) this.#records.delete(own.key);
  }

  /** F1, F2. The first is that of the place itself. */
  #countsOf({ address, name }: AttemptPlace): Count[] {
    const { free, longestWaitMs } = this.#options;
    const from = networkOf(address);
    const own = { free, longestWaitMs, forgetMs: 10 * longestWaitMs };
    if (name === undefined) return [{ ...own, key: from }];
    return [
      { ...own, key: `${from} ${name}` },
      { ...alone, key: from },
    ];
  }

  #add({ key, free, longestWaitMs, forgetMs }: Count): void {
    const { now, mostPlaces = 10_000 } = this.#options;
    const at = now();
    const old = this.#records.get(key);
    // Reset the count long after the last failure, or one typing error a day would add up.
    const failures = old && at - old.last < forgetMs ? old.failures + 1 : 1;
    const wait = failures <= free ? 0 : Math.min(longestWaitMs, 1000 * 2 ** Math.min(failures - free - 1, 30));
    this.#records.delete(key);
    this.#records.set(key, { failures, until: at + wait, last: at });
    if (this.#records.size > mostPlaces) {
      const [oldest] = this.#records.keys();
      if (oldest !== undefined) this.#records.delete(oldest);
    }
  }
}

/** F3. The first 64 bits of an IPv6 address; an IPv4 address in IPv6's form as IPv4. Other texts stay. */
export function networkOf(address: string): string {
  const text = normalIp(address);
  const bytes = readNetwork(text)?.bytes ?? [];
  if (bytes.length !== 16) return text;
  const groups = [0, 2, 4, 6].map((at) => (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16));
  return `${groups.join(':')}::/64`;
}
