/**
 * Queues are made here, and are there for good when it says so.
 *
 * RabbitMQ before 4.0 writes down which quorum queues it has half a second late. Killed before that, it comes back with an
 * empty queue in place of the newest one, without a leader, and what was confirmed to it is gone. Making one more quorum
 * queue makes it write down all the earlier ones: nothing is sent to a queue before another one was made after it.
 */
import { randomUUID } from 'node:crypto';
import type { Options } from 'amqplib';
import type { BusLog } from '../broker.ts';
import type { Asker } from './channel.ts';
import { reasonOf, type Link } from './link.ts';
import type { Names } from './names.ts';

const firstPromptVersion = 4;

export class Declarer {
  readonly #link: Link;
  readonly #asker: Asker;
  readonly #names: Names;
  readonly #log: BusLog;
  /** The next one that is made for those before it. */
  #next: Promise<void> | undefined;

  constructor(parameters: { link: Link; asker: Asker; names: Names; log: BusLog }) {
    this.#link = parameters.link;
    this.#asker = parameters.asker;
    this.#names = parameters.names;
    this.#log = parameters.log;
  }

  /** @param name at the broker. */
  async make(name: string, options: Options.AssertQueue): Promise<void> {
    try {
      await this.#asker.ask((channel) => channel.assertQueue(name, options));
    } catch (error) {
      if ((error as { code?: unknown }).code !== 406) throw error;
      // Somebody made it otherwise. It is used as it is.
      this.#log.warn({ queue: name, reason: reasonOf(error) }, 'A queue has other arguments than ours.');
      await this.#asker.ask((channel) => channel.checkQueue(name));
    }
    const { 'x-queue-type': type } = options.arguments as Record<string, unknown>;
    if (type === 'quorum' && this.#isLate) await this.#written();
  }

  get #isLate(): boolean {
    const version: unknown = this.#link.model?.connection.serverProperties['version'];
    return typeof version !== 'string' || Number.parseInt(version, 10) < firstPromptVersion;
  }

  /** Questions to the broker run one after another: all that are asked before it begins share one. */
  #written(): Promise<void> {
    this.#next ??= this.#asker.ask(async (channel) => {
      this.#next = undefined;
      const name = this.#names.passing(randomUUID());
      await channel.assertQueue(name, this.#names.passingOptions);
      await channel.deleteQueue(name);
    });
    return this.#next;
  }
}
