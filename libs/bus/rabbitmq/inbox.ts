/** The queue for answers to this process. It belongs to the process alone and is removed with its connection. */
import type { ChannelModel } from 'amqplib';
import type { Link, LinkUser } from './connection.ts';

const againMs = 200;

export class Inbox implements LinkUser {
  readonly name: string;
  readonly #link: Link;
  readonly #ready = Promise.withResolvers<void>();
  #take: (bytes: Uint8Array) => void = () => undefined;

  constructor({ link, name }: { link: Link; name: string }) {
    this.#link = link;
    this.name = name;
    link.use(this);
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  onAnswer(take: (bytes: Uint8Array) => void): void {
    this.#take = take;
  }

  up(model: ChannelModel): void {
    void this.#open(model);
  }

  /** Answers to open questions are lost; the deadline ends each question. */
  down(): void {}

  async #open(model: ChannelModel): Promise<void> {
    while (this.#link.model === model) {
      try {
        const channel = await model.createChannel();
        channel.on('error', () => undefined);
        await channel.assertQueue(this.name, { exclusive: true, durable: false, autoDelete: false });
        await channel.consume(this.name, (message) => message && this.#take(message.content), { noAck: true });
        channel.on('close', () => void this.#open(model));
        this.#ready.resolve();
        return;
      } catch {
        // The queue may still belong to the lost connection, until the broker notices the loss.
        await new Promise((resolve) => void setTimeout(resolve, againMs));
      }
    }
  }
}
