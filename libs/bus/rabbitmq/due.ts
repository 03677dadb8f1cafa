/**
 * Brings back what has waited long enough. The broker moves it here when its time has come, and every process takes its
 * share from here to the queue it belongs to, confirmed before it is acknowledged. The broker
 * itself would do the second step without a confirm.
 */
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import type { BusLog } from '../broker.ts';
import { reasonOf, type Link, type LinkUser } from './link.ts';
import { headers, type Names } from './names.ts';

type Forward = (message: ConsumeMessage, queue: string) => Promise<void>;

const atOnce = 64;
const againMs = 200;

export class Due implements LinkUser {
  readonly #parts: { link: Link; names: Names; forward: Forward; log: BusLog };

  constructor(parts: { link: Link; names: Names; forward: Forward; log: BusLog }) {
    this.#parts = parts;
  }

  start(): void {
    this.#parts.link.use(this);
  }

  up(model: ChannelModel): void {
    void this.#open(model);
  }

  /** What was in hand is given out again. */
  down(): void {}

  async #open(model: ChannelModel): Promise<void> {
    const { link, names } = this.#parts;
    while (link.model === model) {
      try {
        const channel = await model.createChannel();
        channel.on('error', () => undefined);
        await channel.assertQueue(names.due, names.dueOptions);
        await channel.prefetch(atOnce);
        await channel.consume(names.due, (message) => message && void this.#forward(channel, message));
        channel.on('close', () => void this.#open(model));
        return;
      } catch {
        await new Promise((resolve) => void setTimeout(resolve, againMs));
      }
    }
  }

  async #forward(channel: Channel, message: ConsumeMessage): Promise<void> {
    const queue: unknown = message.properties.headers?.[headers.queue];
    try {
      if (typeof queue === 'string') await this.#parts.forward(message, queue);
    } catch (error) {
      this.#parts.log.warn(
        { queue, reason: reasonOf(error) },
        'A message that is due cannot be moved; it is tried again.',
      );
      await new Promise((resolve) => void setTimeout(resolve, againMs));
      settle(() => channel.nack(message));
      return;
    }
    settle(() => channel.ack(message));
  }
}

/** Of a channel that has ended there is nothing to settle: the message is given out again. */
function settle(write: () => void): void {
  try {
    write();
  } catch {
    // The driver's word for it.
  }
}
