/**
 * All that this process sends, over one channel with confirms.
 *
 * P1 Letters leave in the order of the calls, and no call waits for the confirm of the one before. As many as the
 *    window holds are unconfirmed at once.
 * P2 A call resolves when the broker has confirmed all its letters. Letters that a lost connection left unconfirmed are
 *    sent again, in their order and before later ones: twice is better than not at all.
 * P3 A call ends: confirmed, or Unavailable with the reason when its time is over.
 * P4 A letter that no queue takes is returned. Its queue is declared again, once; after that it is an error.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Channel, ChannelModel, ConfirmChannel, Options } from 'amqplib';
import { BrokerAway } from '../../broker.ts';
import { closeAmqp } from '../close.ts';
import { connectionReason, type RabbitConnection, type ConnectionUser } from '../connection.ts';

/** A message for an exchange, with the properties that AMQP carries. */
export interface OutgoingLetter {
  readonly exchange: string;
  /** The queue, or the topic of an event. */
  readonly key: string;
  readonly content: Buffer;
  readonly options: Options.Publish & { messageId: string };
  /** Declares the queue of the letter. Without it, the letter may have no receiver. */
  readonly declare?: (again: boolean) => Promise<void>;
}

interface Batch {
  left: number;
  readonly deadline: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  ended: boolean;
}

interface Parcel {
  readonly letter: OutgoingLetter;
  readonly batch: Batch | undefined;
  returned: boolean;
  returns: number;
}

const windowLetters = 2048;
const windowBytes = 32 * 1024 * 1024;
const sweepMs = 250;

/** Sends all letters of this process (P1 to P4). */
export class RabbitPublisher implements ConnectionUser {
  readonly #connection: RabbitConnection;
  readonly #timeoutMs: number;
  readonly #prepare: (channel: Channel) => Promise<unknown>;
  #channel: ConfirmChannel | undefined;
  /** In the order of sending; `#from` is the first letter that was not sent. */
  #waiting: Parcel[] = [];
  #from = 0;
  /** Letters by number, in the order of sending. */
  readonly #unconfirmed = new Map<number, Parcel>();
  #number = 0;
  #unconfirmedBytes = 0;
  /** Letters for queues that are being declared, by queue: later ones must not overtake them. */
  readonly #held = new Map<string, Parcel[]>();
  readonly #made = new Set<string>();
  readonly #batches = new Set<Batch>();
  #full = false;
  #sweeper: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(parameters: {
    connection: RabbitConnection;
    timeoutMs: number;
    prepare: (channel: Channel) => Promise<unknown>;
  }) {
    this.#connection = parameters.connection;
    this.#prepare = parameters.prepare;
    this.#timeoutMs = parameters.timeoutMs;
    this.#connection.use(this);
  }

  send(letters: readonly OutgoingLetter[]): Promise<void> {
    if (this.#closed) return Promise.reject(new AnnealError('Unavailable', 'The bus is closed.'));
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + this.#timeoutMs;
      const batch: Batch = { left: letters.length, deadline, resolve, reject, ended: false };
      this.#batches.add(batch);
      this.#sweeper ??= setInterval(() => this.#sweep(), sweepMs);
      for (const letter of letters) this.#take({ letter, batch, returned: false, returns: 0 });
      this.#pump();
    });
  }

  /** Sends a letter without a waiting caller. It may be lost, but it keeps its place among the other letters. */
  post(letter: OutgoingLetter): void {
    if (this.#closed) return;
    this.#take({ letter, batch: undefined, returned: false, returns: 0 });
    this.#pump();
  }

  /** The queue may not exist any more, so it is declared again before the next letter to it. */
  forget(queue: string): void {
    this.#made.delete(queue);
  }

  up(model: ChannelModel): void {
    void this.#open(model);
  }

  down(): void {
    this.#channel = undefined;
    this.#again();
  }

  blocked(): void {
    this.#pump();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    const deadline = performance.now() + 2000;
    while (this.#batches.size > 0 && this.#channel && performance.now() < deadline) {
      await new Promise((resolve) => void setTimeout(resolve, 5));
    }
    this.#closed = true;
    clearInterval(this.#sweeper);
    this.#connection.leave(this);
    const channel = this.#channel;
    this.#channel = undefined;
    // The closing comes last on the wire, after answers that have no waiting caller.
    await closeAmqp(channel);
    for (const batch of this.#batches) this.#fail(batch, new AnnealError('Unavailable', 'The bus was closed.'));
  }

  async #open(model: ChannelModel): Promise<void> {
    while (this.#connection.model === model && !this.#closed) {
      try {
        const channel = await model.createConfirmChannel({ highWaterMark: 1024 * 1024 });
        channel.on('error', () => undefined);
        await this.#prepare(channel);
        this.#opened(model, channel);
        return;
      } catch {
        // Where the connection was lost, the next `up` opens another channel.
        await new Promise((resolve) => void setTimeout(resolve, sweepMs));
      }
    }
  }

  #opened(model: ChannelModel, channel: ConfirmChannel): void {
    if (this.#connection.model !== model || this.#closed) return;
    this.#channel = channel;
    this.#full = false;
    channel.on('drain', () => {
      this.#full = false;
      this.#pump();
    });
    channel.on('return', ({ properties }) => {
      // Rare. A return comes before its confirm.
      for (const parcel of this.#unconfirmed.values()) {
        if (parcel.letter.options.messageId === properties.messageId) parcel.returned = true;
      }
    });
    channel.on('close', () => {
      if (this.#channel !== channel) return;
      this.#channel = undefined;
      this.#again();
      // The broker closed the channel but not the connection, so open another channel.
      if (this.#connection.model === model && !this.#closed) this.up(model);
    });
    this.#pump();
  }

  #take(parcel: Parcel): void {
    const { key, declare } = parcel.letter;
    if (!declare || this.#made.has(key)) {
      this.#waiting.push(parcel);
      return;
    }
    const held = this.#held.get(key);
    if (held) held.push(parcel);
    else {
      this.#held.set(key, [parcel]);
      void this.#make(key, declare, parcel.returns > 0);
    }
  }

  async #make(key: string, declare: (again: boolean) => Promise<void>, again: boolean): Promise<void> {
    let failure: unknown;
    try {
      await declare(again);
      this.#made.add(key);
    } catch (error) {
      failure = error;
    }
    const held = this.#held.get(key) ?? [];
    this.#held.delete(key);
    for (const parcel of held) {
      if (failure === undefined) this.#waiting.push(parcel);
      else if (parcel.batch) this.#fail(parcel.batch, failure);
    }
    this.#pump();
  }

  #pump(): void {
    const channel = this.#channel;
    if (!channel || this.#full || this.#connection.blocked !== undefined) return;
    while (this.#from < this.#waiting.length) {
      if (this.#unconfirmed.size >= windowLetters || this.#unconfirmedBytes >= windowBytes) break;
      const parcel = this.#waiting[this.#from];
      this.#from += 1;
      if (!parcel || parcel.batch?.ended) continue;
      const { exchange, key, content, options } = parcel.letter;
      const number = (this.#number += 1);
      this.#unconfirmed.set(number, parcel);
      this.#unconfirmedBytes += content.length;
      try {
        this.#full = !channel.publish(exchange, key, content, options, (error: unknown) =>
          this.#confirmed(channel, number, error),
        );
        this.#connection.gather();
      } catch {
        // The channel has ended without a report yet; unconfirmed letters go to the next channel.
        this.#full = true;
      }
      if (this.#full) break;
    }
    if (this.#from === this.#waiting.length || this.#from > 4096) {
      this.#waiting = this.#waiting.slice(this.#from);
      this.#from = 0;
    }
  }

  #confirmed(channel: ConfirmChannel, number: number, error: unknown): void {
    // From a channel that has ended: `#again` handles the parcel, or will in a moment.
    if (this.#channel !== channel || (error instanceof Error && error.message === 'channel closed')) return;
    const parcel = this.#unconfirmed.get(number);
    if (!parcel) return;
    const { letter, batch } = parcel;
    this.#unconfirmed.delete(number);
    this.#unconfirmedBytes -= letter.content.length;
    if (error) {
      // The queue refused it, e.g. while it has no majority: retry until its time is over.
      if (batch) setTimeout(() => this.#retake(parcel), sweepMs);
    } else if (parcel.returned) {
      this.#unroutable(parcel);
    } else if (batch) {
      batch.left -= 1;
      if (batch.left === 0) this.#end(batch);
    }
    this.#pump();
  }

  #unroutable(parcel: Parcel): void {
    const { letter, batch } = parcel;
    if (!batch) return;
    if (letter.declare && parcel.returns === 0) {
      this.#made.delete(letter.key);
      this.#retake({ ...parcel, returned: false, returns: 1 });
    } else {
      this.#fail(
        batch,
        new AnnealError(
          'Unavailable',
          `Cannot send to queue ${letter.key}: the broker does not have it and could not create it.`,
        ),
      );
    }
  }

  #retake(parcel: Parcel): void {
    if (this.#closed || parcel.batch?.ended) return;
    this.#take(parcel);
    this.#pump();
  }

  /** Unconfirmed letters go first (P2). A letter without a waiting caller is not sent twice. */
  #again(): void {
    const lost = [...this.#unconfirmed.values()].filter(({ batch }) => batch && !batch.ended);
    for (const parcel of lost) parcel.returned = false;
    this.#unconfirmed.clear();
    this.#unconfirmedBytes = 0;
    this.#waiting = [...lost, ...this.#waiting.slice(this.#from)];
    this.#from = 0;
  }

  #sweep(): void {
    const now = performance.now();
    for (const batch of this.#batches) {
      // The batches are in the order of the calls, and all have the same time limit.
      if (batch.deadline > now) break;
      const trouble = this.#connection.trouble ?? 'The broker did not confirm the message';
      this.#fail(batch, new BrokerAway(`A message was not sent within ${this.#timeoutMs} ms. ${trouble}.`));
    }
    if (this.#batches.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  #end(batch: Batch): void {
    batch.ended = true;
    this.#batches.delete(batch);
    batch.resolve();
  }

  #fail(batch: Batch, error: unknown): void {
    if (batch.ended) return;
    batch.ended = true;
    this.#batches.delete(batch);
    batch.reject(error instanceof AnnealError ? error : new AnnealError('Unavailable', connectionReason(error)));
  }
}
