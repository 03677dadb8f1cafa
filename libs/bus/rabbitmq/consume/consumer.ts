/**
 * A consumer: one channel, which comes back after the broker has been away.
 *
 * T1 A message is settled on the channel that delivered it, or not at all. When the channel ends, its offers are lost
 *    and the broker delivers the messages again.
 * T2 Offers are made in the order of delivery, also when one of them waits for its note.
 * T3 An ordered queue offers one event of a subject at a time, retries included; the event keeps its place at the
 *    broker.
 * T4 A message that goes back untried is noted, so that its delivery does not count as an attempt: before it is given
 *    back, or when the connection is lost. An attempt that failed counts, also when its retry was not stored in time; a
 *    death that was not stored in time is repeated.
 * T5 An ordered queue gets its messages back all at once, by the end of the channel. A quorum queue delivers again in
 *    the order in which messages came back, and it takes back those on their way to a cancelled consumer before those
 *    that the consumer gives back, so an ordered consumer cancels nothing.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import type { BrokerConsumer, BrokerIntake, ConsumerVerdict } from '../../broker.ts';
import type { BusLog } from '../../bus-log.ts';
import { Acks } from './acks.ts';
import { type RabbitDelivery, arrivalOf, type Standing, standingOf, withEntry } from './delivery.ts';
import { closeAmqp } from '../close.ts';
import { connectionReason, type RabbitConnection, type ConnectionUser } from '../connection.ts';
import type { Notes } from './attempt-log.ts';
import { SubjectLanes } from '../subjects.ts';

/** Handles a message that leaves its place in the queue: for a retry, or as a dead letter. */
export interface Afterlife {
  arrived(queue: string, messageId: unknown): void;
  /** Durable on return; never rejects while `alive` holds. */
  retry(parameters: TakenDelivery & { delayMs: number; alive: () => boolean }): Promise<void>;
  bury(
    parameters: TakenDelivery & { verdict: ConsumerVerdict & { kind: 'dead' }; alive: () => boolean },
  ): Promise<void>;
}

/** A delivery that is not settled yet. */
export interface TakenDelivery extends Standing {
  readonly queue: string;
  readonly arrival: RabbitDelivery;
}

interface Item extends TakenDelivery {
  attempt: number;
  history: Standing['history'];
  noted: boolean;
  offered: boolean;
}

/** The queue of a consumer and the parts that it works with. */
export interface TakerOptions {
  readonly connection: RabbitConnection;
  /** The name of the queue in the port. */
  readonly queue: string;
  /** Declares the queue to consume from; returns its name at the broker. */
  readonly prepare: (channel: Channel) => Promise<string>;
  readonly ordered: boolean;
  readonly intake: BrokerIntake;
  readonly notes: Notes | undefined;
  readonly afterlife: Afterlife;
  readonly now: () => Date;
  readonly log: BusLog;
  readonly onEnd: () => void;
}

const startMs = 15_000;
const reopenMs = 100;

/** Takes messages from one queue and settles them. */
export class Taker implements BrokerConsumer, ConnectionUser {
  readonly #options: TakerOptions;
  readonly #held = new Set<Item>();
  readonly #subjects = new SubjectLanes<Item>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #started = Promise.withResolvers<void>();
  #channel: Channel | undefined;
  #acks: Acks | undefined;
  #queueAtBroker = '';
  #consumerTag: string | undefined;
  #gate: Promise<void> | undefined;
  /** Messages on their way back, until they are noted. */
  readonly #returning: Item[] = [];
  #backs: Promise<void> = Promise.resolve();
  #draining = false;
  #closed = false;
  #hasStarted = false;

  constructor(options: TakerOptions) {
    this.#options = options;
  }

  get queue(): string {
    return this.#options.queue;
  }

  get active(): boolean {
    return this.#consumerTag !== undefined;
  }

  /** Resolves when the broker has accepted the consumer. */
  async start(): Promise<void> {
    const late = setTimeout(() => {
      const trouble = this.#options.connection.trouble ?? 'The broker did not answer';
      this.#started.reject(new AnnealError('Unavailable', `Cannot consume from ${this.queue}. ${trouble}.`));
    }, startMs);
    this.#options.connection.use(this);
    try {
      await this.#started.promise;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      clearTimeout(late);
    }
  }

  up(model: ChannelModel): void {
    void this.#open(model);
  }

  down(): void {
    const held = [...this.#held];
    this.#lost();
    this.#uncount(held);
  }

  drain(): void {
    this.#draining = true;
    const tag = this.#consumerTag;
    this.#consumerTag = undefined;
    if (this.#options.ordered) return; // T5
    // Sent before any acknowledgement that would make room for another delivery.
    if (tag !== undefined) this.#channel?.cancel(tag).catch(() => undefined);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.drain();
    this.#options.connection.leave(this);
    for (const timer of this.#timers) clearTimeout(timer);
    if (this.#options.ordered) await this.#noteHeld();
    else {
      await this.#gate;
      for (const item of this.#held) this.#back(item);
      await this.#backs;
    }
    this.#acks?.flush();
    const channel = this.#channel;
    this.#channel = undefined;
    this.#held.clear();
    await closeAmqp(channel);
    this.#options.onEnd();
  }

  /** The messages in hand, in the order of delivery. */
  get inHand(): readonly RabbitDelivery[] {
    return [...this.#held].map(({ arrival }) => arrival);
  }

  /** The number of messages with a handler now. The others wait behind their subject, or for another attempt. */
  get offered(): number {
    let count = 0;
    for (const { offered } of this.#held) if (offered) count += 1;
    return count;
  }

  /** Resolves when every message that the broker had sent to this consumer has arrived. */
  async settled(): Promise<void> {
    const channel = this.#channel;
    if (!channel || this.#queueAtBroker === '') return;
    this.#acks?.flush();
    await channel.checkQueue(this.#queueAtBroker).catch(() => undefined);
    await this.#gate;
  }

  async #open(model: ChannelModel): Promise<void> {
    const { connection, prepare, intake, log } = this.#options;
    const alive = (): boolean => !this.#closed && connection.model === model;
    while (alive() && !this.#channel) {
      let channel: Channel | undefined;
      try {
        channel = await model.createChannel();
        const opened = channel;
        opened.on('error', (error) =>
          log.warn({ queue: this.queue, reason: connectionReason(error) }, 'channel closed; reopening'),
        );
        this.#queueAtBroker = await prepare(opened);
        if (!alive()) return;
        this.#channel = opened;
        this.#acks = new Acks({
          channel: opened,
          oldestInHand: () => this.#held.values().next().value?.arrival.message,
          onAck: () => connection.gather(),
        });
        opened.on('close', () => {
          if (this.#channel !== opened) return;
          const held = [...this.#held];
          this.#lost();
          // The connection reports its loss a moment later. A channel that ends alone may end because of a message.
          setImmediate(() => connection.model !== model && this.#uncount(held));
          setTimeout(() => alive() && void this.#open(model), reopenMs);
        });
        await this.#consume(opened, intake);
        if (this.#hasStarted && this.active) intake.onAgain?.();
        this.#hasStarted = true;
        this.#started.resolve();
      } catch (error) {
        if (this.#channel === channel) this.#channel = undefined;
        await closeAmqp(channel);
        if (!alive()) return;
        log.warn({ queue: this.queue, reason: connectionReason(error) }, 'consumer not started; retrying');
        await new Promise((resolve) => void setTimeout(resolve, reopenMs));
      }
    }
  }

  async #consume(channel: Channel, { concurrency }: BrokerIntake): Promise<void> {
    await channel.prefetch(concurrency);
    if (this.#draining) return;
    const { consumerTag } = await channel.consume(this.#queueAtBroker, (message) => this.#arrive(channel, message));
    if (this.#channel !== channel) return;
    if (!this.#draining) this.#consumerTag = consumerTag;
    else if (!this.#options.ordered) await channel.cancel(consumerTag);
  }

  #arrive(channel: Channel, message: ConsumeMessage | null): void {
    if (this.#channel !== channel) return;
    if (!message) {
      // The queue was removed, so it is declared again.
      this.#consumerTag = undefined;
      void channel.close().catch(() => undefined);
      return;
    }
    const { queue, notes, now, afterlife } = this.#options;
    afterlife.arrived(queue, message.properties.messageId);
    const arrival = arrivalOf(this.#queueAtBroker, message);
    if (arrival.expiresAt !== undefined && arrival.expiresAt <= now().getTime()) {
      this.#acks?.add(message);
      return;
    }
    const { attempt, history } = standingOf(arrival, undefined, now);
    const item: Item = { queue, arrival, attempt, history, noted: false, offered: false };
    this.#held.add(item);
    const { key } = arrival;
    if (!this.#gate && (arrival.takenBefore === 0 || !notes || key === undefined)) {
      this.#ready(item);
      return;
    }
    const before = this.#gate;
    const turn = async (): Promise<void> => {
      const note = arrival.takenBefore > 0 && key !== undefined ? notes?.read(key) : undefined;
      const [found] = await Promise.all([note, before]);
      if (found) Object.assign(item, standingOf(arrival, found, now), { noted: true });
      if (this.#gate === gate) this.#gate = undefined;
      this.#ready(item);
    };
    const gate = turn();
    this.#gate = gate;
  }

  #ready(item: Item): void {
    if (!this.#held.has(item)) return;
    if (this.#draining) this.#back(item);
    else if (!this.#options.ordered || this.#subjects.enter(item.arrival.subject, item)) this.#offer(item);
  }

  #offer(item: Item): void {
    item.offered = true;
    const { queue, attempt } = item;
    const { message, givenUp } = item.arrival;
    const bytes = message.content;
    this.#options.intake.offer({
      queue,
      bytes,
      attempt,
      givenUp,
      settle: (verdict) => this.#settle(item, attempt, verdict),
    });
  }

  async #settle(item: Item, attempt: number, verdict: ConsumerVerdict): Promise<void> {
    // Lost meanwhile, or settled before.
    if (!this.#held.has(item) || item.attempt !== attempt || !item.offered) return;
    const { afterlife, ordered, now } = this.#options;
    const alive = (): boolean => this.#held.has(item);
    switch (verdict.kind) {
      case 'done':
        break;
      case 'back':
        this.#back(item);
        return this.#backs;
      case 'dead': {
        const history = withEntry(item.history, { at: now().toISOString(), error: verdict.error });
        await afterlife.bury({ ...item, history, verdict, alive });
        break;
      }
      case 'retry':
        // From here on the attempt has ended (T4), and a second verdict on it would find another number.
        item.history = withEntry(item.history, { at: now().toISOString(), error: verdict.error });
        item.attempt += 1;
        if (ordered) return this.#again(item, verdict.delayMs);
        await afterlife.retry({ ...item, attempt, delayMs: verdict.delayMs, alive });
    }
    if (!this.#held.delete(item)) return;
    this.#acks?.add(item.arrival.message);
    const { key } = item.arrival;
    if (item.noted && key !== undefined) void this.#options.notes?.remove(key);
    this.#next(item);
  }

  /** T3: retries in place, while later events of the subject wait behind it. */
  async #again(item: Item, delayMs: number): Promise<void> {
    item.offered = false;
    await this.#note([item]);
    if (this.#held.has(item) && !this.#draining) this.#offerLater(item, delayMs);
  }

  #offerLater(item: Item, delayMs: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (this.#held.has(item) && !this.#draining) this.#offer(item);
    }, delayMs);
    this.#timers.add(timer);
  }

  #next(item: Item): void {
    if (!this.#options.ordered) return;
    const next = this.#subjects.leave(item.arrival.subject);
    if (next && !this.#draining) this.#offer(next);
  }

  /** Those of an ordered queue keep their place, and go back when this consumer closes (T5). */
  #back(item: Item): void {
    item.offered = false;
    if (this.#options.ordered) {
      if (!this.#draining) this.#offerLater(item, reopenMs);
      return;
    }
    this.#returning.push(item);
    this.#backs = this.#backs.then(() => this.#giveBack());
  }

  /** Gives back together what came together, with one note. */
  async #giveBack(): Promise<void> {
    const items = this.#returning.splice(0).filter((item) => this.#held.has(item));
    if (items.length === 0) return;
    await this.#note(items);
    for (const item of items) if (this.#held.delete(item)) this.#channel?.nack(item.arrival.message);
  }

  /** Notes what goes back with the end of the channel (T4). */
  async #noteHeld(): Promise<void> {
    await this.settled();
    const noted = new Set<Item>();
    for (;;) {
      const items = [...this.#held].filter((item) => !noted.has(item));
      if (items.length === 0) return;
      await this.#note(items);
      for (const item of items) noted.add(item);
    }
  }

  async #note(items: readonly Item[]): Promise<void> {
    const at = this.#options.now().toISOString();
    const notes = items.flatMap(({ arrival, attempt, history }) =>
      arrival.key === undefined
        ? []
        : [{ id: arrival.key, attempts: attempt - 1, taken: arrival.takenBefore + 1, history, at }],
    );
    for (const item of items) item.noted = true;
    await this.#options.notes?.write(notes);
  }

  /** T4: this process is alive, so the loss of the connection is no attempt for the messages in hand. */
  #uncount(items: readonly Item[]): void {
    if (items.length > 0 && !this.#closed) void this.#note(items);
  }

  #lost(): void {
    this.#channel = undefined;
    this.#consumerTag = undefined;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#held.clear();
    this.#subjects.clear();
    this.#options.intake.onLost?.();
  }
}
