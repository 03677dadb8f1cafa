/** The queue for answers to this process. It belongs to the process alone and is removed with its connection. */
import type { ChannelModel } from 'amqplib';
import type { RabbitConnection, ConnectionUser } from './connection.ts';

const againMs = 200;

/** The queue of answers to this process. It lasts as long as its connection. */
export class DeliveryInbox implements ConnectionUser {
  readonly name: string;
  readonly #connection: RabbitConnection;
  readonly #ready = Promise.withResolvers<void>();
  #take: (bytes: Uint8Array) => void = () => undefined;

  constructor({ connection, name }: { connection: RabbitConnection; name: string }) {
    this.#connection = connection;
    this.name = name;
    connection.use(this);
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
    while (this.#connection.model === model) {
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
