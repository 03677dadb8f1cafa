/**
 * Turns messages that the broker itself gives up on into dead letters: a foreign consumer rejected the message without
 * returning it, or an operator's policy limits the queue. Every queue names `anneal.rejected` as the place for them.
 *
 * R1 Such a message returns to its queue with the reason. There it dies as every other message: the requester is
 *    notified, and then the dead letter is stored (B7).
 * R2 It leaves `anneal.rejected` after the broker has confirmed its return. A kill between the two returns it twice;
 *    both make one dead letter.
 * R3 Each further return of the same message waits longer. After the last one it becomes a dead letter at once, because
 *    a foreign consumer that rejects everything must not keep it moving for ever.
 * R4 A question that has expired is dropped, because its requester no longer waits.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { closeAmqp } from '../close.ts';
import { connectionReason, type RabbitConnection, type ConnectionUser } from '../connection.ts';
import type { RabbitDeadLetters } from './dead-letters.ts';
import type { Declarer } from '../declare.ts';
import { arrivalOf, lastDeathOf, standingOf, type RabbitDelivery } from './delivery.ts';
import type { RabbitNames } from '../names.ts';
import type { Letters } from '../publish/outgoing.ts';
import type { RabbitPublisher } from '../publish/publisher.ts';
import type { BusLog } from '../../bus-log.ts';

const mostAtOnce = 8;
const againMs = 1_000;
const mostReturns = 4;
const texts: Readonly<Record<string, string>> = {
  rejected: 'A consumer rejected it without returning it.',
  delivery_limit: 'It reached the delivery limit of its queue.',
  expired: 'It expired in its queue.',
  maxlen: 'Its queue was full.',
};

interface Parts {
  readonly connection: RabbitConnection;
  readonly names: RabbitNames;
  readonly declarer: Declarer;
  readonly publisher: RabbitPublisher;
  readonly letters: Letters;
  readonly graveyard: RabbitDeadLetters;
  readonly newId: () => string;
  readonly now: () => Date;
  readonly log: BusLog;
}

/** Handles the messages that the broker moves to its queue of rejected ones. */
export class Rejected implements ConnectionUser {
  readonly #parts: Parts;
  readonly #ready = Promise.withResolvers<void>();
  readonly #closing = new AbortController();
  #channel: Channel | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    parts.connection.use(this);
  }

  /** Resolves when the queue exists, so that the broker has a place for a rejected message. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  up(model: ChannelModel): void {
    void this.#open(model);
  }

  /** The broker delivers the messages in hand again. */
  down(): void {
    this.#channel = undefined;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#parts.connection.leave(this);
    const channel = this.#channel;
    this.#channel = undefined;
    await closeAmqp(channel);
  }

  async #open(model: ChannelModel): Promise<void> {
    const { connection, names, declarer, log } = this.#parts;
    const isCurrent = (): boolean => connection.model === model && !this.#closing.signal.aborted;
    while (isCurrent()) {
      let channel: Channel | undefined;
      try {
        await declarer.make(names.rejected, names.rejectedOptions);
        channel = await model.createChannel();
        channel.on('error', () => undefined);
        await this.#consume(channel);
        if (!isCurrent()) break;
        channel.on('close', () => void this.#open(model));
        this.#ready.resolve();
        return;
      } catch (error) {
        await closeAmqp(channel);
        if (!isCurrent()) return;
        log.warn(
          { queue: names.rejected, reason: connectionReason(error) },
          'rejected messages not consumed; retrying',
        );
        await this.#wait(againMs);
      }
    }
  }

  async #consume(channel: Channel): Promise<void> {
    await channel.prefetch(mostAtOnce);
    this.#channel = channel;
    await channel.consume(this.#parts.names.rejected, (message) => {
      // Without a message the queue was removed: the next channel declares it again.
      if (message) void this.#take(channel, message);
      else void channel.close().catch(() => undefined);
    });
  }

  async #take(channel: Channel, message: ConsumeMessage): Promise<void> {
    const { log } = this.#parts;
    const isOurs = (): boolean => this.#channel === channel;
    while (isOurs()) {
      try {
        await this.#bury(message, isOurs);
        if (isOurs()) channel.ack(message);
        return;
      } catch (error) {
        log.warn({ reason: connectionReason(error) }, 'rejected message not moved; retrying');
        await this.#wait(againMs);
      }
    }
  }

  async #bury(message: ConsumeMessage, isOurs: () => boolean): Promise<void> {
    const { names, publisher, letters, log } = this.#parts;
    const death = lastDeathOf(message);
    const queue = death && names.portNameOf(death.queue);
    if (death === undefined || queue === undefined) {
      log.warn(
        { queue: death?.queue },
        'message in the queue of rejected messages is not of this installation; dropped',
      );
      return;
    }
    const arrival = arrivalOf(death.queue, message);
    if (death.reason === 'expired' && arrival.expiresAt !== undefined) return;
    const reason = texts[death.reason] ?? `The broker removed it: ${death.reason}.`;
    if (arrival.returns >= mostReturns) return this.#keep(queue, arrival, reason);
    await this.#wait(arrival.returns * againMs);
    if (!isOurs()) return;
    log.error({ queue, reason }, 'broker stopped delivering a message; message moved to dead letters');
    await publisher.send([letters.givenUp(queue, arrival, reason)]);
  }

  /** R3: without a notification, because no consumer of ours received the message. */
  async #keep(queue: string, arrival: RabbitDelivery, reason: string): Promise<void> {
    const { graveyard, newId, now, log } = this.#parts;
    log.error({ queue, reason }, 'message returned too often; dead letter stored without notifying its requester');
    const { attempt, history } = standingOf(arrival, undefined, now);
    await graveyard.bury({
      id: newId(),
      queue,
      key: arrival.grave,
      subject: arrival.subject,
      attempts: attempt,
      failure: { code: 'Defect', message: `The broker stopped delivering a message of ${queue}: ${reason}` },
      history: [...history, { at: now().toISOString(), error: reason }],
      content: arrival.message.content,
    });
  }

  async #wait(ms: number): Promise<void> {
    if (ms > 0) await delay(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }
}
