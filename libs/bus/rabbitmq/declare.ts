/**
 * Declares queues, and resolves when the broker has recorded them for good.
 *
 * RabbitMQ before 4.0 records new quorum queues half a second late. When it is killed before that, it restarts with an
 * empty queue in place of the newest one. That queue has no leader and never accepts a message again, and messages that
 * were confirmed to it are lost. Declaring one more quorum queue makes the broker record all earlier ones. Hence:
 *
 * D1 Nothing is sent to a queue before another one was declared after it, while the same connection lasted.
 * D2 A queue that is not known to be recorded, and does not answer, has never received a message: it is recreated.
 */
import { randomUUID } from 'node:crypto';
import type { Channel, Replies } from 'amqplib';
import { type QuestionChannel, isMissing } from './channel.ts';
import { connectionReason, type RabbitConnection } from './connection.ts';
import type { DeclareOptions, RabbitNames } from './names.ts';
import type { Written } from './durable-queues.ts';
import type { BusLog } from '../bus-log.ts';

const firstPromptVersion = 4;
/** A queue with a leader answers in milliseconds, and within this time on a busy broker. */
const answerMs = 8000;
/** The broker itself waits five seconds for a queue without a leader before it forces the removal. */
const removeMs = 30_000;

interface Parts {
  readonly connection: RabbitConnection;
  readonly asker: QuestionChannel;
  readonly names: RabbitNames;
  readonly written: Written;
  readonly log: BusLog;
}

/** Declares queues so that they survive a broker that is killed soon after. */
export class Declarer {
  readonly #parts: Parts;
  /** The next queue that is declared to record the earlier ones. */
  #next: Promise<void> | undefined;
  #reported = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @param name the name at the broker. */
  async make(name: string, options: DeclareOptions): Promise<void> {
    const { connection, asker, written, log } = this.#parts;
    const { 'x-queue-type': type } = options.arguments as Record<string, unknown>;
    if (type !== 'quorum' || !this.#isLate) {
      await this.#assert(name, options);
      return;
    }
    for (;;) {
      const { model } = connection;
      const isThere = await this.#exists(name);
      if (!isThere) await written.remove(name);
      const { messageCount } = await this.#assert(name, options);
      if (isThere && (await written.has(name))) return;
      // A queue without a leader shows no messages.
      if (messageCount === 0 && !(await this.#answers(name)) && !(await written.has(name))) {
        if (connection.model !== model) continue;
        log.warn({ queue: name }, 'queue was not durable when the broker died; recreating it');
        await asker.ask((channel) => channel.deleteQueue(name), removeMs);
        continue;
      }
      await this.#writeDown();
      if (connection.model !== model) continue;
      await written.add(name);
      return;
    }
  }

  async #assert(name: string, { earlier, ...options }: DeclareOptions): Promise<Replies.AssertQueue> {
    const { asker, log } = this.#parts;
    try {
      return await asker.ask((channel) => channel.assertQueue(name, options));
    } catch (error) {
      if ((error as { code?: unknown }).code !== 406) throw error;
      if (earlier) {
        const declared = await this.#assert(name, earlier);
        this.#reportEarlier(name);
        return declared;
      }
      // Declared otherwise, by an operator or a foreign program. It is used as it is.
      log.warn(
        { queue: name, reason: connectionReason(error) },
        'queue exists with other arguments; using it as it is',
      );
      return asker.ask((channel) => channel.checkQueue(name));
    }
  }

  async #exists(name: string): Promise<boolean> {
    try {
      await this.#parts.asker.ask((channel) => channel.checkQueue(name));
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /** Once, because an upgraded installation may have thousands of such queues. */
  #reportEarlier(queue: string): void {
    if (this.#reported) return;
    this.#reported = true;
    this.#parts.log.info(
      { queue },
      'queue of an earlier version has no place for messages that foreign consumers reject; set the policy of ' +
        'docs/symptoms/dead-letters-appear.md unless you have set it',
    );
  }

  get #isLate(): boolean {
    const version: unknown = this.#parts.connection.model?.connection.serverProperties['version'];
    return typeof version !== 'string' || Number.parseInt(version, 10) < firstPromptVersion;
  }

  /** A refusal is an answer too; only silence is none. */
  async #answers(name: string): Promise<boolean> {
    const channel = await this.#parts.connection.model?.createChannel().catch(() => undefined);
    if (!channel) return false;
    channel.on('error', () => undefined);
    const answered = Promise.withResolvers<boolean>();
    const late = setTimeout(() => answered.resolve(false), answerMs);
    this.#knock(channel, name).then(
      () => answered.resolve(true),
      () => answered.resolve(true),
    );
    const outcome = await answered.promise;
    clearTimeout(late);
    // A channel that waits for a queue without a leader does not close either.
    channel.close().catch(() => undefined);
    return outcome;
  }

  async #knock(channel: Channel, name: string): Promise<void> {
    const message = await channel.get(name);
    if (message !== false) channel.nack(message);
  }

  /**
   * Declares and removes one more queue, so that the broker records the earlier ones. All callers before it begins
   * share it.
   */
  #writeDown(): Promise<void> {
    const { asker, names } = this.#parts;
    this.#next ??= asker.ask(async (channel) => {
      this.#next = undefined;
      const name = names.passing(randomUUID());
      await channel.assertQueue(name, names.passingOptions);
      await channel.deleteQueue(name);
    }, removeMs);
    return this.#next;
  }
}
