/**
 * A connection that reconnects by itself.
 *
 * K1 Between `up` and `down` there is one connection. A listener opens channels on `up` and drops them on `down`.
 * K2 A failed connection is retried for ever, over all servers in turn; only the first attempt has a limit.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { connect, type ChannelModel } from 'amqplib';
import { isUnproved } from '../connect/certificate.ts';
import type { BrokerEndpoint } from './url.ts';
import { closeAmqp } from './close.ts';
import { WriteBatch } from './publish/write-batch.ts';
import type { BrokerOutage } from '../broker.ts';
import type { BusLog } from '../bus-log.ts';

/** A part that has channels. It opens them again at every `up`. */
export interface ConnectionUser {
  up(model: ChannelModel): void;
  down(): void;
  /** The broker takes no messages (with the reason), or takes them again. */
  blocked?(reason: string | undefined): void;
}

const firstWaitMs = 50;
const longestWaitMs = 2000;
/** For a broker that was just started. A process waits longer by opening again. */
const patienceMs = 2_000;

/** The connection to one server at a time (K1, K2). */
export class RabbitConnection {
  model: ChannelModel | undefined;
  /** The reason why the broker takes no messages at the moment. */
  blocked: string | undefined;
  readonly #endpoint: BrokerEndpoint;
  readonly #name: string;
  readonly #log: BusLog;
  readonly #users = new Set<ConnectionUser>();
  #turn = 0;
  #lastError = 'not connected yet';
  #troubleFrom = performance.now();
  #writes: WriteBatch | undefined;
  #closed = false;
  #wake: (() => void) | undefined;

  private constructor(parameters: { endpoint: BrokerEndpoint; name: string; log: BusLog }) {
    this.#endpoint = parameters.endpoint;
    this.#name = parameters.name;
    this.#log = parameters.log;
  }

  /** @throws AnnealError Unavailable when no server can be reached, Unauthorized when it refuses the credentials. */
  static async open(parameters: { endpoint: BrokerEndpoint; name: string; log: BusLog }): Promise<RabbitConnection> {
    const connection = new RabbitConnection(parameters);
    const deadline = performance.now() + patienceMs;
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(longestWaitMs, waitMs * 2)) {
      try {
        await connection.#connect();
        return connection;
      } catch (cause) {
        const { shown } = parameters.endpoint;
        const reason = connectionReason(cause);
        if (/ACCESS[_-]REFUSED|403/.test(reason)) {
          throw new AnnealError(
            'Unauthorized',
            `Cannot connect to ${shown}: it refused the credentials or the virtual host: ${reason}.`,
            {
              cause,
              details: { remedy: 'Correct the user, the password or the virtual host in ANNEAL_BUS_URL.' },
            },
          );
        }
        if (isUnproved(cause)) {
          throw new AnnealError(
            'Unauthorized',
            `Cannot connect to ${shown}: its certificate is not trusted: ${reason}.`,
            {
              cause,
              details: { remedy: 'Add the authority that signed its certificate to ANNEAL_BUS_URL: ca=FILE.' },
            },
          );
        }
        if (performance.now() + waitMs > deadline) {
          throw new AnnealError('Unavailable', `Cannot connect to ${shown}: ${reason}.`, { cause });
        }
        await new Promise((resolve) => void setTimeout(resolve, waitMs));
      }
    }
  }

  /** Calls `up` at once when the connection is open. */
  use(user: ConnectionUser): void {
    this.#users.add(user);
    if (this.model) user.up(this.model);
  }

  leave(user: ConnectionUser): void {
    this.#users.delete(user);
  }

  /** Call it after a frame is given to a channel, in the same turn, so that it leaves with the others. */
  gather(): void {
    this.#writes?.add();
  }

  /** The reason why nothing can be sent, or undefined. */
  get trouble(): string | undefined {
    if (!this.model) return `The connection to ${this.#endpoint.shown} is lost: ${this.#lastError}`;
    return this.blocked === undefined ? undefined : `The broker accepts no messages: ${this.blocked}`;
  }

  /** The trouble, and how long it has lasted. */
  get outage(): BrokerOutage | undefined {
    const reason = this.#closed ? undefined : this.trouble;
    return reason === undefined ? undefined : { reason, forMs: performance.now() - this.#troubleFrom };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wake?.();
    const { model } = this;
    this.model = undefined;
    await closeAmqp(model);
  }

  async #connect(): Promise<void> {
    const { servers, socket } = this.#endpoint;
    const server = servers[this.#turn % servers.length];
    this.#turn += 1;
    const model = await connect(server ?? {}, { ...socket, clientProperties: { connection_name: this.#name } });
    if (this.#closed) {
      await closeAmqp(model);
      return;
    }
    this.#writes = new WriteBatch(model.connection);
    this.model = model;
    this.blocked = undefined;
    // The driver reports a closing twice: the error has the reason, the close is the end.
    model.on('error', (error) => (this.#lastError = connectionReason(error)));
    model.on('close', (error) => {
      if (error) this.#lastError = connectionReason(error);
      if (this.model === model) this.#lost();
    });
    model.on('blocked', (reason) => this.#block(reason));
    model.on('unblocked', () => this.#block(undefined));
    for (const user of this.#users) user.up(model);
  }

  #block(reason: string | undefined): void {
    if (this.blocked === undefined) this.#troubleFrom = performance.now();
    this.blocked = reason;
    if (reason === undefined) this.#log.info({ connection: this.#name }, 'broker accepts messages again');
    else this.#log.warn({ connection: this.#name, reason }, 'broker accepts no messages; senders wait');
    for (const user of this.#users) user.blocked?.(reason);
  }

  #lost(): void {
    this.model = undefined;
    this.blocked = undefined;
    this.#troubleFrom = performance.now();
    for (const user of this.#users) user.down();
    if (this.#closed) return;
    this.#log.warn(
      { connection: this.#name, reason: this.#lastError },
      'connection to the broker lost; work in progress released, reconnecting',
    );
    void this.#comeBack();
  }

  async #comeBack(): Promise<void> {
    for (let waitMs = firstWaitMs; !this.#closed; waitMs = Math.min(longestWaitMs, waitMs * 2)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, waitMs / 2 + (Math.random() * waitMs) / 2);
      });
      if (this.#closed) return;
      try {
        await this.#connect();
        this.#log.info({ connection: this.#name }, 'reconnected to the broker');
        return;
      } catch (error) {
        this.#lastError = connectionReason(error);
      }
    }
  }
}

/** A refused connection to several addresses has its reasons inside, and no message itself. */
export function connectionReason(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(connectionReason).join('; ');
  return error instanceof Error ? error.message : String(error);
}
