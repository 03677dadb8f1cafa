/**
 * Acknowledgements of one channel, combined per turn of the event loop, because the broker writes each acknowledgement
 * that it gets to the log of a quorum queue.
 *
 * A1 An acknowledgement never covers an earlier message that is still in hand.
 * A2 The driver has the acknowledgements before anything that is done in a later turn, and after `flush`.
 */
import type { Channel, Message } from 'amqplib';

/** Acknowledges the messages of one channel (A1, A2). */
export class Acks {
  readonly #channel: Pick<Channel, 'ack'>;
  readonly #oldestInHand: () => Message | undefined;
  readonly #onAck: () => void;
  #done: Message[] = [];

  constructor(options: { channel: Pick<Channel, 'ack'>; oldestInHand: () => Message | undefined; onAck?: () => void }) {
    this.#channel = options.channel;
    this.#oldestInHand = options.oldestInHand;
    this.#onAck = options.onAck ?? (() => undefined);
  }

  /** Called when the message is no longer in hand. */
  add(message: Message): void {
    if (this.#done.push(message) === 1) process.nextTick(() => this.flush());
  }

  flush(): void {
    const done = this.#done;
    if (done.length === 0) return;
    this.#done = [];
    const oldest = this.#oldestInHand();
    const limit = oldest ? tagOf(oldest) : Number.POSITIVE_INFINITY;
    let last: Message | undefined;
    const single: Message[] = [];
    for (const message of done) {
      if (tagOf(message) > limit) single.push(message);
      else if (!last || tagOf(message) > tagOf(last)) last = message;
    }
    try {
      if (last) this.#channel.ack(last, done.length > single.length + 1);
      for (const message of single) this.#channel.ack(message);
      this.#onAck();
    } catch {
      // The channel has ended: the broker delivers the messages again.
    }
  }
}

/** The delivery tag, which the broker counts in the order of delivery. */
const tagOf = ({ fields }: Message): number => fields.deliveryTag;
