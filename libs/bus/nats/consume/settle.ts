/**
 * Settles a message in hand: acknowledge, refuse for a while, record, or store as a dead letter. It knows nothing of
 * places and lanes (`consumer.ts`).
 *
 * D1 A dead letter is durable before its message is acknowledged.
 * D2 A message that goes back untried, or is retried, is recorded before it is refused.
 */
import type { Msg } from '@nats-io/transport-node';
import type { ConsumerVerdict } from '../../broker.ts';
import { givenUpOf, subjectHeader, type DeliveryFacts } from './delivery.ts';
import type { NatsDeadLetters } from './dead-letters.ts';
import type { JetStreamConnection } from '../connection.ts';
import type { Address } from '../names.ts';
import { historyBefore, type StoredRetry, type NatsRetries } from './retries.ts';
import type { Topology } from '../topology.ts';

const againMs = 500;
const confirmedMs = 2_000;

/** The shared parts of the consumers of a process. */
export interface ConsumptionParts {
  readonly connection: JetStreamConnection;
  readonly topology: Topology;
  readonly retries: NatsRetries;
  readonly graveyard: NatsDeadLetters;
  readonly now: () => Date;
}

/** A message that a consumer has not settled yet. */
export interface InHand {
  readonly facts: DeliveryFacts;
  readonly message: Msg;
  attempt: number;
  record: Promise<StoredRetry | undefined>;
}

/** Ends a delivery: acknowledged, delayed or dead. */
export class Settlement {
  readonly #parts: ConsumptionParts;
  readonly #address: Address;

  constructor(parts: ConsumptionParts, address: Address) {
    this.#parts = parts;
    this.#address = address;
  }

  /** Only a message that has a record needs another, because the broker itself counts first attempts. */
  begun(held: InHand): void {
    const { attempt } = held;
    held.record = held.record.then((before) =>
      before ? this.#keep(held, { attempts: attempt, due: 0, before }) : undefined,
    );
  }

  async untried(held: InHand): Promise<void> {
    await this.#keep(held, { attempts: held.attempt - 1, due: 0, before: await held.record });
  }

  /** Returns the time of the next attempt, and its record. */
  async failed(
    held: InHand,
    verdict: ConsumerVerdict & { kind: 'retry' },
  ): Promise<{ due: number; kept: InHand['record'] }> {
    const at = this.#parts.now();
    const before = await held.record;
    const due = at.getTime() + Math.max(1, verdict.delayMs);
    const history = this.#history(held, before, { at, error: verdict.error });
    return { due, kept: this.#keep(held, { attempts: held.attempt, due, before, history }) };
  }

  /** Tries until it succeeds. Returns false when the message is no longer ours. */
  async bury(held: InHand, verdict: ConsumerVerdict & { kind: 'dead' }, isOurs: () => boolean): Promise<boolean> {
    const { connection, graveyard, now } = this.#parts;
    const { queue, stream, durable } = this.#address;
    const at = now();
    const history = this.#history(held, await held.record, { at, error: verdict.error });
    const { failure } = verdict;
    const attempts = givenUpOf(held.message)?.deliveries ?? held.attempt;
    while (isOurs() && !connection.closed) {
      try {
        await graveyard.bury({
          id: verdict.id,
          letter: { queue, diedAt: at.toISOString(), attempts, failure, history },
          bytes: held.message.data,
          subject: held.message.headers?.get(subjectHeader),
          origin: `${stream}:${durable}:${held.facts.seq}:${held.facts.storedAtMs}`,
        });
        return true;
      } catch (error) {
        connection.log.warn({ err: error, queue }, 'dead letter not stored; retrying');
        await new Promise((resolve) => setTimeout(resolve, againMs));
      }
    }
    return false;
  }

  /**
   * With `confirmed`, the server confirms the acknowledgement. A message without an acknowledgement is delivered again.
   */
  async done(held: InHand, { confirmed }: { confirmed: boolean }): Promise<void> {
    const { connection, retries } = this.#parts;
    const { ack } = held.facts;
    void held.record.then((record) => record && retries.drop(record));
    if (confirmed) {
      await connection.nc.request(ack, '+ACK', { timeout: confirmedMs }).catch(() => undefined);
      return;
    }
    connection.nc.publish(ack, '+ACK');
    await this.#written();
  }

  /** Never at once, because a failure that comes back in the same instant would spin. */
  async refuse(held: InHand, delayMs: number): Promise<void> {
    this.#parts.connection.nc.publish(held.facts.ack, `-NAK {"delay": ${Math.round(Math.max(1, delayMs) * 1e6)}}`);
    await this.#written();
  }

  async #written(): Promise<void> {
    try {
      await this.#parts.connection.written();
    } catch {
      // The connection is lost: the message is delivered again.
    }
  }

  #history(held: InHand, before: StoredRetry | undefined, last: { at: Date; error: string }): StoredRetry['history'] {
    return [...historyBefore(held.attempt, before, last.at), { at: last.at.toISOString(), error: last.error }];
  }

  /** A failed write costs one entry of the history; the broker's own count continues. */
  async #keep(
    held: InHand,
    options: { attempts: number; due: number; before: StoredRetry | undefined; history?: StoredRetry['history'] },
  ): Promise<StoredRetry | undefined> {
    const { attempts, due, before } = options;
    const history = options.history ?? before?.history ?? [];
    const { deliveries, seq } = held.facts;
    try {
      const record = { deliveries, attempts, history };
      return await this.#parts.retries.keep({ address: this.#address, seq, record, due, before });
    } catch (error) {
      this.#parts.connection.log.warn(
        { err: error, queue: this.#address.queue },
        'history of a retry not stored; it lacks one attempt',
      );
      return before;
    }
  }
}
