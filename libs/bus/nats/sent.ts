/**
 * Keeps the latest messages that this process sent to queues, for the other processes too. A work queue removes a
 * message that a consumer terminates, and only then does the server report it. The sender still has the bytes.
 *
 * K1 The memory is bounded: the oldest messages leave first.
 * K2 A message that no process has is not an error. The caller continues without its bytes.
 */
import { NoRespondersError, RequestError, TimeoutError, type Msg } from '@nats-io/transport-node';
import type { Packet } from '../broker.ts';
import type { Connection } from './connection.ts';

const mostMessages = 20_000;
const mostBytes = 8 * 1024 * 1024;
const askMs = 1_000;

export class Sent {
  readonly #connection: Connection;
  readonly #bytes = new Map<string, Packet['bytes']>();
  #size = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
    connection.nc.subscribe(connection.names.sent('*', '*'), {
      callback: (error, question) => {
        if (!error) this.#answer(question);
      },
    });
  }

  /** `seq` is the number of the message in the stream. */
  keep(stream: string, seq: number, bytes: Packet['bytes']): void {
    const name = this.#connection.names.sent(stream, seq);
    if (this.#bytes.has(name)) return;
    this.#bytes.set(name, bytes);
    this.#size += bytes.length;
    for (const [oldest, { length }] of this.#bytes) {
      if (this.#bytes.size <= mostMessages && this.#size <= mostBytes) break;
      this.#bytes.delete(oldest);
      this.#size -= length;
    }
  }

  /** Asks every process on the bus, this one included. @throws what the connection throws when it is lost. */
  async find(stream: string, seq: number): Promise<Uint8Array | undefined> {
    try {
      return (await this.#connection.nc.request(this.#connection.names.sent(stream, seq), '', { timeout: askMs })).data;
    } catch (error) {
      if (error instanceof TimeoutError || error instanceof NoRespondersError) return undefined;
      if (error instanceof RequestError && error.isNoResponders()) return undefined;
      throw error;
    }
  }

  #answer(question: Msg): void {
    const bytes = this.#bytes.get(question.subject);
    if (bytes !== undefined) question.respond(bytes);
  }
}
