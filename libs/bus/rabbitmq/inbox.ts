/** Where the answers to this process arrive: a queue that is its own and goes with its connection. */
import type { ChannelModel } from 'amqplib';
import type { Link, LinkUser } from './link.ts';

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

  /** What was asked is answered into nothing; its deadline tells the asker. */
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
        // The queue may still belong to the connection that was lost, until the broker knows that it is.
        await new Promise((resolve) => void setTimeout(resolve, againMs));
      }
    }
  }
}
