/**
 * Asks a durable consumer for as many messages as its owner has room for, and never for more.
 *
 * L1 The messages asked for but not received, together with those in hand, never exceed what the owner wants.
 * L2 The server may forget a request (restart, new leader, lost connection). The puller notices that its end is not
 *    reported, or the return of the connection, and asks again.
 * L3 A request ends soon: the server sends messages to a process that is cut off until its requests end.
 * L4 After `stop` it asks for no more; messages under way still arrive, so that they can be given back.
 */
import { createInbox, nanos, type Msg, type Subscription } from '@nats-io/transport-node';
import type { JetStreamConnection } from '../connection.ts';
import type { Address } from '../names.ts';

const expiresMs = 4_000;
const againMs = 250;
const missedMs = expiresMs + 2_000;

/** Asks one durable consumer for messages (L1 to L4). */
export class Puller {
  readonly #connection: JetStreamConnection;
  readonly #address: Address;
  readonly #want: () => number;
  readonly #floor: number;
  readonly #take: (message: Msg) => void;
  readonly #ensure: () => Promise<void>;
  #inbox = '';
  #replies: Subscription | undefined;
  #asked = 0;
  #heardAt = 0;
  #scheduled = false;
  #recreating = false;
  #stopped = false;
  #stopping: Promise<void> | undefined;

  constructor(parameters: {
    connection: JetStreamConnection;
    address: Address;
    /** The remaining room; messages already asked for are not counted. */
    want: () => number;
    concurrency: number;
    take: (message: Msg) => void;
    /** Creates the consumer again when it was removed. */
    ensure: () => Promise<void>;
  }) {
    this.#connection = parameters.connection;
    this.#address = parameters.address;
    this.#want = parameters.want;
    // A request for each freed place would double the traffic.
    this.#floor = Math.max(1, Math.floor(parameters.concurrency / 2));
    this.#take = parameters.take;
    this.#ensure = parameters.ensure;
    this.#listen();
  }

  kick(): void {
    if (this.#scheduled || this.#stopped) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#ask();
    });
  }

  /** Drops the old requests, which belong to a lost connection or a restarted server. */
  reset(): void {
    if (this.#stopped) return;
    this.#replies?.unsubscribe();
    this.#listen();
    this.kick();
  }

  /** To be called about every second. */
  watch(): void {
    if (this.#asked > 0 && this.#connection.connected && performance.now() - this.#heardAt > missedMs) this.reset();
    else this.kick();
  }

  /** Resolves when no more messages can arrive. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    this.#stopped = true;
    const { closed, connected } = this.#connection;
    if (closed || !connected) this.#replies?.unsubscribe();
    // The connection may end meanwhile: then no messages arrive either.
    else await this.#replies?.drain().catch(() => undefined);
  }

  #listen(): void {
    this.#asked = 0;
    this.#inbox = createInbox();
    this.#replies = this.#connection.nc.subscribe(this.#inbox, { callback: (_error, message) => this.#heard(message) });
  }

  #ask(): void {
    if (this.#stopped || this.#recreating || !this.#connection.connected || this.#connection.closed) return;
    const batch = this.#want() - this.#asked;
    if (batch <= 0 || (this.#asked > 0 && batch < this.#floor)) return;
    this.#asked += batch;
    this.#heardAt = performance.now();
    const { stream, durable } = this.#address;
    this.#connection.nc.publish(
      `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`,
      JSON.stringify({ batch, expires: nanos(expiresMs) }),
      { reply: this.#inbox },
    );
  }

  #heard(message: Msg): void {
    this.#heardAt = performance.now();
    const code = message.headers?.code ?? 0;
    if (code === 0) {
      this.#asked = Math.max(0, this.#asked - 1);
      this.#take(message);
      if (this.#asked === 0) this.kick();
      return;
    }
    const left = message.headers?.get('Nats-Pending-Messages') ?? '';
    this.#asked = left === '' ? 0 : Math.max(0, this.#asked - Number(left));
    if (code === 408 || code === 404) this.kick();
    else void this.#recreate();
  }

  /** Creates the consumer again. It was removed, moves to another server, or JetStream is not up yet. */
  async #recreate(): Promise<void> {
    if (this.#recreating || this.#stopped) return;
    this.#recreating = true;
    try {
      await this.#ensure();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, againMs));
    } finally {
      this.#recreating = false;
      this.kick();
    }
  }
}
