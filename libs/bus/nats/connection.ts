/** The connection of this process: one for everything. It reconnects by itself. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  JetStreamApiError,
  jetstreamManager,
  type JetStreamManager,
  type StoredMsg,
  type StreamState,
} from '@nats-io/jetstream';
import { AuthorizationError, connect, type NatsConnection } from '@nats-io/transport-node';
import { BrokerAway } from '../broker.ts';
import type { BusLog } from '../bus-log.ts';
import { isUnproved } from '../connect/certificate.ts';
import { createNames, type NatsNames } from './names.ts';
import { readNatsUrl } from './url.ts';

const apiTimeoutMs = 4_000;
const askedMs = 10_000;
const againMs = 100;
const notReady = 503;
const noMessage = 10037;
const lostInput = 10014;

/** The connection to the servers. It reconnects by itself, for ever. */
export class JetStreamConnection {
  readonly nc: NatsConnection;
  readonly jsm: JetStreamManager;
  readonly names: NatsNames;
  readonly replicas: number;
  /** The name of this process for the others. */
  readonly id: string;
  readonly log: BusLog;
  /** For logs and errors: where the servers are. */
  readonly #at: string;
  readonly #onChange = new Set<(connected: boolean) => void>();
  #written: Promise<void> | undefined;
  connected = true;
  closed = false;

  private constructor(parameters: {
    nc: NatsConnection;
    jsm: JetStreamManager;
    names: NatsNames;
    replicas: number;
    id: string;
    at: string;
    log: BusLog;
  }) {
    this.nc = parameters.nc;
    this.jsm = parameters.jsm;
    this.names = parameters.names;
    this.replicas = parameters.replicas;
    this.id = parameters.id;
    this.#at = parameters.at;
    this.log = parameters.log;
    void this.#watch();
  }

  /** @throws AnnealError InvalidRequest for a wrong URL, Unauthorized, Unavailable when no server answers. */
  static async open(options: { url: string; name: string; id: string; log: BusLog }): Promise<JetStreamConnection> {
    const { connection, prefix, replicas } = await readNatsUrl(options.url);
    const at = `NATS at ${String(connection.servers)}`;
    let nc: NatsConnection;
    try {
      nc = await connect({
        ...connection,
        name: options.name,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 250,
        reconnectJitter: 100,
        pingInterval: 5_000,
        timeout: 5_000,
        ignoreAuthErrorAbort: true,
      });
    } catch (cause) {
      if (cause instanceof AuthorizationError)
        throw unauthorized(`Cannot connect to ${at}: it refused the credentials`, cause);
      if (isUnproved(cause)) throw unauthorized(`Cannot connect to ${at}: its certificate is not trusted`, cause);
      throw unavailable(`Cannot connect to ${at}`, cause);
    }
    try {
      const jsm = await jetstreamManager(nc, { timeout: apiTimeoutMs });
      return new JetStreamConnection({
        nc,
        jsm,
        names: createNames(prefix),
        replicas,
        at,
        id: options.id,
        log: options.log,
      });
    } catch (cause) {
      await nc.close();
      throw unavailable('Cannot use JetStream with this account of the NATS server', cause);
    }
  }

  /** The reason why nothing can be sent, or undefined. */
  get trouble(): string | undefined {
    return this.connected ? undefined : `The connection to ${this.#at} is lost; reconnecting`;
  }

  /** Calls the listener at every loss and return of the connection. */
  onChange(listener: (connected: boolean) => void): void {
    this.#onChange.add(listener);
  }

  offChange(listener: (connected: boolean) => void): void {
    this.#onChange.delete(listener);
  }

  async #watch(): Promise<void> {
    for await (const status of this.nc.status()) {
      if (status.type === 'disconnect' || status.type === 'staleConnection') this.#changed(false);
      else if (status.type === 'reconnect') this.#changed(true);
      else if (status.type === 'error') this.log.warn({ err: status.error }, 'NATS reported an error');
    }
    this.connected = false;
  }

  #changed(connected: boolean): void {
    if (this.connected === connected) return;
    this.connected = connected;
    if (connected) this.log.info({}, `reconnected to ${this.#at}`);
    else this.log.warn({}, `connection to ${this.#at} lost; reconnecting`);
    for (const listener of this.#onChange) listener(connected);
  }

  /** Asks the leader, so that earlier writes are visible. */
  async last(stream: string, subject: string): Promise<StoredMsg | undefined> {
    return (await this.#unlessAbsent(this.jsm.streams.getMessage(stream, { last_by_subj: subject }))) ?? undefined;
  }

  /** The first message at `seq` or after it whose subject matches. */
  async next(stream: string, subject: string, seq: number): Promise<StoredMsg | undefined> {
    const query = { next_by_subj: subject, seq } as never;
    return (await this.#unlessAbsent(this.jsm.streams.getMessage(stream, query))) ?? undefined;
  }

  async at(stream: string, seq: number): Promise<StoredMsg | undefined> {
    return (await this.#unlessAbsent(this.jsm.streams.getMessage(stream, { seq }))) ?? undefined;
  }

  async state(stream: string): Promise<StreamState | undefined> {
    return (await this.#unlessAbsent(this.jsm.streams.info(stream)))?.state;
  }

  async forget(stream: string, seq: number): Promise<boolean> {
    try {
      return await this.jsm.streams.deleteMessage(stream, seq, false);
    } catch (error) {
      if (error instanceof JetStreamApiError) return false;
      throw error;
    }
  }

  /** All subjects of a stream below a filter, with the number of their messages. */
  async subjects(stream: string, filter: string): Promise<Map<string, number>> {
    const info = await this.jsm.streams.info(stream, { subjects_filter: filter });
    return new Map(Object.entries(info.state.subjects ?? {}));
  }

  /** Resolves when the server has read everything written; one round trip for all callers of the same tick. */
  written(): Promise<void> {
    this.#written ??= new Promise<void>((resolve, reject) => {
      setImmediate(() => {
        this.#written = undefined;
        if (this.closed || !this.connected) resolve();
        else this.nc.flush().then(resolve, reject);
      });
    });
    return this.#written;
  }

  /**
   * Asks JetStream, and repeats the question when the connection was lost meanwhile or no server answered, because a
   * server takes time to start. The question must be idempotent. @throws AnnealError Unavailable in the end, or for a
   * refusal.
   */
  async asked<T>(what: string, run: () => Promise<T>): Promise<T> {
    const end = performance.now() + askedMs;
    for (;;) {
      try {
        return await this.#untilReconnected(run());
      } catch (error) {
        if (error instanceof AnnealError) throw error;
        const refused = error instanceof JetStreamApiError && error.status !== notReady;
        if (refused || this.closed) throw unavailable(what, error);
        if (performance.now() > end) throw new BrokerAway(`${what}: ${textOf(error)}.`, { cause: error });
        await new Promise((resolve) => setTimeout(resolve, againMs));
      }
    }
  }

  /** An answer to a question of the old connection does not come over the new one. */
  async #untilReconnected<T>(answer: Promise<T>): Promise<T> {
    const lost = Promise.withResolvers<never>();
    const listener = (connected: boolean): void => {
      if (connected) lost.reject(new Error('the connection was lost before the answer'));
    };
    this.onChange(listener);
    try {
      return await Promise.race([answer, lost.promise]);
    } finally {
      this.offChange(listener);
    }
  }

  async #unlessAbsent<T>(read: Promise<T>): Promise<T | undefined> {
    try {
      return await read;
    } catch (error) {
      if (error instanceof JetStreamApiError && (error.code === noMessage || error.status === 404)) return undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    try {
      if (this.connected) await this.nc.flush();
    } catch {
      // A message without an acknowledgement is delivered and handled again.
    }
    await this.nc.close();
  }
}

function unauthorized(what: string, cause: Error): AnnealError {
  return new AnnealError('Unauthorized', `${what}: ${cause.message}.`, {
    cause,
    details: { remedy: 'Correct the user, the password, the token or the authority (ca=FILE) in ANNEAL_BUS_URL.' },
  });
}

/** The error of an attempt that failed because the servers could not be reached. `what` names the attempt. */
export function unavailable(what: string, cause: unknown): AnnealError {
  return new AnnealError('Unavailable', `${what}: ${textOf(cause)}.`, { cause });
}

const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** Whether the server reports that the stream or the consumer does not exist. */
export function isAbsent(error: unknown): boolean {
  return error instanceof JetStreamApiError && (error.status === 404 || error.code === lostInput);
}
