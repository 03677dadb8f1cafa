/**
 * Publishes with awaited confirmations, many at a time.
 *
 * P1 A publish resolves when the stream has the message. An unconfirmed message is published again under the same
 *    `Nats-Msg-Id`, so that a broker that was away stores it once.
 * P2 At most one window of messages is unconfirmed; messages that wait for room or are published again keep their
 *    order.
 * P3 Each publish ends by its deadline: confirmed, refused with the broker's reason, or Unavailable.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { createInbox, headers, type Msg, type MsgHdrs, type Subscription } from '@nats-io/transport-node';
import { BrokerAway } from '../broker.ts';
import type { JetStreamConnection } from './connection.ts';

const windowSize = 1_024;
const deadlineMs = 15_000;
const repeatMs = 2_000;
const sweepMs = 250;

/** A message to publish. One id published twice within the duplicate window is stored once. */
export interface Publication {
  readonly subject: string;
  readonly bytes: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Names a publication that another call may repeat; else a name is made. */
  readonly id?: string;
}

/** The answer of the server: where the message is stored, and whether it was there already. */
export interface Confirmation {
  readonly seq: number;
  readonly duplicate: boolean;
}

interface Pending {
  readonly subject: string;
  readonly bytes: string | Uint8Array;
  readonly headers: MsgHdrs;
  readonly deadline: number;
  sentAt: number;
  readonly resolve: (confirmation: Confirmation) => void;
  readonly reject: (error: unknown) => void;
}

interface PubAck {
  readonly seq?: number;
  readonly duplicate?: boolean;
  readonly error?: { readonly description?: string };
}

/** Sends, and resolves when the stream has stored the message. A repeat with the same id is stored once. */
export class NatsPublisher {
  readonly #connection: JetStreamConnection;
  readonly #inbox = createInbox();
  readonly #replies: Subscription;
  readonly #pending = new Map<string, Pending>();
  readonly #waiting: Pending[] = [];
  #waitingFrom = 0;
  #count = 0;
  #sweep: NodeJS.Timeout | undefined;

  constructor(connection: JetStreamConnection) {
    this.#connection = connection;
    this.#replies = connection.nc.subscribe(`${this.#inbox}.*`, {
      callback: (_error, reply) => this.#confirmed(reply),
    });
    connection.onChange((connected) => {
      if (connected) this.#repeat(0);
    });
  }

  publish(publication: Publication): Promise<Confirmation> {
    if (this.#connection.closed) return Promise.reject(new AnnealError('Unavailable', 'The bus is closed.'));
    this.#count += 1;
    const named = headers();
    named.set('Nats-Msg-Id', publication.id ?? `${this.#connection.id}:${this.#count}`);
    if (publication.headers) for (const [name, value] of Object.entries(publication.headers)) named.set(name, value);
    return new Promise((resolve, reject) => {
      const { subject, bytes } = publication;
      const deadline = performance.now() + deadlineMs;
      const pending: Pending = { subject, bytes, headers: named, deadline, sentAt: 0, resolve, reject };
      if (this.#pending.size >= windowSize || this.#waiting.length > this.#waitingFrom) this.#waiting.push(pending);
      else this.#send(`${this.#count}`, pending);
      this.#sweep ??= setInterval(() => this.#repeat(repeatMs), sweepMs);
    });
  }

  close(): void {
    clearInterval(this.#sweep);
    this.#replies.unsubscribe();
    const error = new AnnealError('Unavailable', 'The bus is closed.');
    for (const { reject } of [...this.#pending.values(), ...this.#waiting.slice(this.#waitingFrom)]) reject(error);
    this.#pending.clear();
    this.#waiting.length = 0;
    this.#waitingFrom = 0;
  }

  #send(token: string, pending: Pending): void {
    this.#pending.set(token, pending);
    pending.sentAt = performance.now();
    try {
      const { subject, bytes, headers: named } = pending;
      this.#connection.nc.publish(subject, bytes, { headers: named, reply: `${this.#inbox}.${token}` });
    } catch (cause) {
      this.#end(token)?.reject(
        new AnnealError('Unavailable', `Cannot send a message to NATS: ${textOf(cause)}.`, { cause }),
      );
    }
  }

  #confirmed(reply: Msg): void {
    const token = reply.subject.slice(this.#inbox.length + 1);
    if (reply.headers?.code === 503) {
      // JetStream is not up yet, or moves to another server: the sweep publishes the message again.
      return;
    }
    const pending = this.#end(token);
    if (!pending) return;
    const { seq = 0, duplicate = false, error } = reply.json<PubAck>();
    if (!error) {
      pending.resolve({ seq, duplicate });
      return;
    }
    pending.reject(new AnnealError('Unavailable', `JetStream refused a message: ${error.description}.`));
  }

  #end(token: string): Pending | undefined {
    const pending = this.#pending.get(token);
    if (!pending) return undefined;
    this.#pending.delete(token);
    const next = this.#waiting[this.#waitingFrom];
    if (next) {
      this.#waitingFrom += 1;
      if (this.#waitingFrom === this.#waiting.length) {
        this.#waiting.length = 0;
        this.#waitingFrom = 0;
      }
      this.#count += 1;
      this.#send(`${this.#count}`, next);
    }
    return pending;
  }

  #repeat(olderThanMs: number): void {
    const now = performance.now();
    for (const [token, pending] of this.#pending) {
      if (now > pending.deadline) {
        const reason = this.#connection.trouble ?? 'JetStream did not confirm the message';
        this.#end(token)?.reject(new BrokerAway(`A message was not sent within ${deadlineMs} ms. ${reason}.`));
      } else if (this.#connection.connected && now - pending.sentAt > olderThanMs) {
        this.#send(token, pending);
      }
    }
    if (this.#pending.size === 0) {
      clearInterval(this.#sweep);
      this.#sweep = undefined;
    }
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
