/** Messages in the form that the publisher takes: destination, bytes, and our own headers. */
import { randomUUID } from 'node:crypto';
import { amqpProperties } from '@anneal/contracts/event-headers.ts';
import { contentType, type Packet } from '../../broker.ts';
import { withoutBrokerHeaders, type RabbitDelivery } from '../consume/delivery.ts';
import { headers, type RabbitNames } from '../names.ts';
import type { OutgoingLetter } from './publisher.ts';

/** Makes letters from messages. */
export class Letters {
  readonly #names: RabbitNames;
  readonly #now: () => Date;
  readonly #declare: (queue: string) => Promise<void>;
  /**
   * Unique to this process. Its letters are numbered, because random bytes for each would cost more than all the rest
   * here.
   */
  readonly #own = randomUUID();
  #count = 0;
  /**
   * Shared by all letters of one millisecond: the driver makes a prototype of it, which is slow for each new object.
   */
  #plain: Readonly<Record<string, unknown>> = {};

  constructor(parts: { names: RabbitNames; now: () => Date; declare: (queue: string) => Promise<void> }) {
    this.#names = parts.names;
    this.#now = parts.now;
    this.#declare = parts.declare;
  }

  /** Only events are ordered by subject: a message that returns to the queue of a group has to carry its subject. */
  to(queue: string, { bytes }: Pick<Packet, 'bytes'>, subject?: string): OutgoingLetter {
    return {
      exchange: '',
      key: this.#names.queue(queue),
      content: contentOf(bytes),
      options: {
        persistent: true,
        mandatory: true,
        contentType,
        messageId: this.#id(),
        headers: this.#headers(subject),
      },
      declare: () => this.#declare(queue),
    };
  }

  event(packet: Packet): OutgoingLetter {
    return {
      exchange: this.#names.events,
      key: packet.type,
      content: contentOf(packet.bytes),
      // Listeners identify an event by the id of its CloudEvent.
      options: {
        persistent: true,
        contentType,
        messageId: packet.id ?? this.#id(),
        headers: { ...amqpProperties(packet.attributes?.() ?? {}), ...this.#headers(packet.subject) },
      },
    };
  }

  /** A question expires, because the requester does not wait longer than `ttlMs`. */
  question(queue: string, packet: Packet, ttlMs: number): OutgoingLetter {
    const letter = this.to(queue, packet);
    const { options } = letter;
    const expiresAt = this.#now().getTime() + ttlMs;
    return {
      ...letter,
      options: {
        ...options,
        expiration: Math.max(1, Math.ceil(ttlMs)),
        headers: { ...(options.headers as object), [headers.expiresAt]: expiresAt },
      },
    };
  }

  /** A message that the broker gave up, for its queue. It keeps its id, so that it makes one dead letter. */
  givenUp(queue: string, arrival: RabbitDelivery, reason: string): OutgoingLetter {
    const { content, properties } = arrival.message;
    const letter = this.to(queue, { bytes: content });
    const { messageId } = properties as { messageId?: string };
    return {
      ...letter,
      options: {
        ...letter.options,
        ...(messageId !== undefined && { messageId }),
        headers: {
          ...withoutBrokerHeaders(properties.headers),
          [headers.givenUp]: reason,
          [headers.returns]: arrival.returns + 1,
        },
      },
    };
  }

  answer(inbox: string, packet: Packet): OutgoingLetter {
    return {
      exchange: '',
      key: inbox,
      content: contentOf(packet.bytes),
      options: { contentType, messageId: this.#id() },
    };
  }

  #headers(subject: string | undefined): Readonly<Record<string, unknown>> {
    const sentAt = this.#now().getTime();
    if (this.#plain[headers.sentAt] !== sentAt) this.#plain = { [headers.sentAt]: sentAt };
    return subject === undefined ? this.#plain : { ...this.#plain, [headers.subject]: subject };
  }

  #id(): string {
    this.#count += 1;
    return `${this.#own}.${this.#count.toString(36)}`;
  }
}

const contentOf = (bytes: Packet['bytes']): Buffer =>
  typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
