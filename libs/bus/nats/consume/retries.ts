/**
 * The records of messages that were in hand before: when each attempt ended, and with which error. JetStream counts
 * deliveries. Some deliveries are no attempts (given back), and some attempts are no deliveries (an event that is
 * retried in place). So the record says how many attempts there were at which delivery.
 */
import type { JetStreamConnection } from '../connection.ts';
import type { Address } from '../names.ts';
import type { NatsPublisher } from '../publisher.ts';

/** One failed attempt of a message. */
export interface NatsAttempt {
  readonly at: string;
  readonly error: string;
}

/** The attempts of a message that failed, which the server does not count as we do. */
export interface RetryRecord {
  readonly deliveries: number;
  readonly attempts: number;
  readonly history: readonly NatsAttempt[];
}

/** A record with its position in the stream, which is needed to remove it. */
export interface StoredRetry extends RetryRecord {
  readonly at: number;
}

const historyKept = 32;
const untold = 'The consumer died during this attempt.';

/** The records of attempts that ended, and the delays before the next ones. */
export class NatsRetries {
  readonly #connection: JetStreamConnection;
  readonly #publisher: NatsPublisher;

  constructor(connection: JetStreamConnection, publisher: NatsPublisher) {
    this.#connection = connection;
    this.#publisher = publisher;
  }

  async find(address: Address, seq: number): Promise<StoredRetry | undefined> {
    const { names } = this.#connection;
    const kept = await this.#connection.last(names.stream.retries, names.retry(address.durable, seq, '*'));
    return kept && { ...kept.json<RetryRecord>(), at: kept.seq };
  }

  /**
   * `due` is the time of the next offer, in milliseconds; 0 while the message is in hand. Replaces the earlier record.
   */
  async keep(parameters: {
    address: Address;
    seq: number;
    record: RetryRecord;
    due: number;
    before: StoredRetry | undefined;
  }): Promise<StoredRetry> {
    const { address, seq, record, due, before } = parameters;
    const { names } = this.#connection;
    const kept = await this.#publisher.publish({
      subject: names.retry(address.durable, seq, Math.round(due)),
      bytes: JSON.stringify({ ...record, history: record.history.slice(-historyKept) }),
    });
    if (before) this.drop(before);
    return { ...record, at: kept.seq };
  }

  /** Not awaited: a record that remains belongs to a message that no longer exists, and ages out. */
  drop(record: StoredRetry): void {
    this.#connection.forget(this.#connection.names.stream.retries, record.at).catch(() => undefined);
  }

  /** Messages that wait for their next attempt, by sequence number. */
  async waiting(address: Address): Promise<Map<number, number>> {
    const { names } = this.#connection;
    const due = new Map<number, number>();
    for (const subject of (
      await this.#connection.subjects(names.stream.retries, names.retries(address.durable))
    ).keys()) {
      const [seq, at] = subject.split('.').slice(-2).map(Number);
      if (seq !== undefined && at !== undefined) due.set(seq, Math.max(at, due.get(seq) ?? 0));
    }
    for (const [seq, at] of due) if (at === 0) due.delete(seq);
    return due;
  }
}

/**
 * The number of the attempt that this delivery makes: at least one more than had ended. A server that was killed has
 * forgotten its latest deliveries, and counts them again.
 */
export const deliveryAttempt = (deliveries: number, record: RetryRecord | undefined): number =>
  record ? record.attempts + Math.max(1, deliveries - record.deliveries) : deliveries;

/** The failures before `attempt`. The process died in an attempt that left no record. */
export function historyBefore(attempt: number, record: RetryRecord | undefined, now: Date): NatsAttempt[] {
  const history = [...(record?.history ?? [])];
  while (history.length < Math.min(attempt - 1, historyKept)) history.push({ at: now.toISOString(), error: untold });
  return history;
}
