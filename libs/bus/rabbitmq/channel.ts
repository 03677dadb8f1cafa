/**
 * A channel for questions to the broker: declarations, counts, single messages. A refusal closes the channel, so
 * questions run one after another, and the next question opens a new channel.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Channel } from 'amqplib';
import { BrokerAway } from '../broker.ts';
import { answerWithin } from '../connect/within.ts';
import { connectionReason, type RabbitConnection } from './connection.ts';
import { closeAmqp } from './close.ts';

const answerMs = 15_000;
const pollMs = 20;

/** Asks one question at a time, each for at most 15 s. */
export class QuestionChannel {
  readonly #connection: RabbitConnection;
  #channel: Channel | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(connection: RabbitConnection) {
    this.#connection = connection;
  }

  /** @throws AnnealError Unavailable when the broker is away; a refusal as the broker sends it. */
  ask<T>(question: (channel: Channel) => Promise<T>, waitMs = answerMs): Promise<T> {
    const turn = this.#last.then(() => this.#ask(question, waitMs));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await closeAmqp(this.#channel);
  }

  async #ask<T>(question: (channel: Channel) => Promise<T>, waitMs: number): Promise<T> {
    const deadline = performance.now() + waitMs;
    for (;;) {
      if (this.#closed) throw new AnnealError('Unavailable', 'The bus is closed.');
      try {
        return await answerWithin(question(await this.#open()), deadline - performance.now());
      } catch (error) {
        const { code } = error as { code?: unknown };
        // 404, 405 and 406 answer this question. Any other error belongs to the connection, and passes.
        if (code === 404 || code === 405 || code === 406) throw error;
        this.#channel = undefined;
        if (performance.now() + pollMs > deadline) {
          throw new BrokerAway(`The broker did not answer. ${this.#connection.trouble ?? connectionReason(error)}.`, {
            cause: error,
          });
        }
        await new Promise((resolve) => void setTimeout(resolve, pollMs));
      }
    }
  }

  async #open(): Promise<Channel> {
    if (this.#channel) return this.#channel;
    const { model } = this.#connection;
    if (!model) throw new Error(this.#connection.trouble);
    const channel = await model.createChannel();
    channel.on('error', () => undefined);
    channel.on('close', () => {
      if (this.#channel === channel) this.#channel = undefined;
    });
    this.#channel = channel;
    return channel;
  }
}

/** The broker has no such queue. */
export const isMissing = (error: unknown): boolean => (error as { code?: unknown }).code === 404;
