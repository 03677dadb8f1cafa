/**
 * A place on a broker that is not Anneal's own: an exchange of RabbitMQ or a subject of NATS. A subscription names it,
 * so the address is never trusted: it names no file, and `lookup` decides which machines it may reach.
 */
import type { LookupFunction } from 'node:net';

/** Where the broker listens, and as whom Anneal connects. */
export interface BrokerSinkAddress {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly credentials: { readonly user: string; readonly password: string } | undefined;
}

/** A message with one event, or several of a batch. */
export interface SinkMessage {
  /** The same for every attempt, so that the broker or a reader recognises a repeat. */
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * A connection that opens with the first message, and again after a failure. Messages may overlap; they arrive in the
 * order of the calls.
 */
export interface BrokerSink {
  /**
   * Resolves when the broker has stored the message.
   * @throws Error that says why the broker did not; the message may have arrived all the same
   */
  publish(message: SinkMessage): Promise<void>;
  /** Ends the connection. Messages without a confirmation fail. */
  close(): Promise<void>;
}

/** The options of every broker. `timeoutMs`: time that a connection or a confirmation may take. */
export interface BrokerSinkOptions {
  readonly address: BrokerSinkAddress;
  readonly timeoutMs: number;
  /** Absent: any address may be reached. */
  readonly lookup: LookupFunction | undefined;
}

/** A text in which `{type}` is the type of the event. */
export const withType = (template: string, type: string): string => template.replaceAll('{type}', type);

/** A connection that opens with its first use, and again with the first use after its end. */
export interface Reopening<T> {
  /** @throws Error after `end`, or why the connection could not be opened */
  get(): Promise<T>;
  /** Lets nothing open it again. Resolves with the open connection, which the caller closes; undefined when none is open. */
  end(): Promise<T | undefined>;
}

/** @param open calls `onEnd` when the connection has ended, also when it could not be opened */
export function reopening<T>(open: (onEnd: () => void) => Promise<T>): Reopening<T> {
  let opening: Promise<T> | undefined;
  let isEnded = false;
  return {
    get() {
      if (isEnded) return Promise.reject(new Error('the service stops'));
      if (opening) return opening;
      // Begins in another turn, so that an end during the opening finds this promise.
      const made: Promise<T> = Promise.resolve().then(() =>
        open(() => {
          if (opening === made) opening = undefined;
        }),
      );
      opening = made;
      return made;
    },
    async end() {
      isEnded = true;
      return opening?.catch(() => undefined);
    },
  };
}
