/**
 * The raw driver of a broker, used as its manual says and with the guarantees of the bus: durable queues, confirmed
 * publishes, manual acknowledgement after the handler. It validates no envelope, counts no attempt and does not
 * reconnect. `npm run bench -- bus` compares the adapters with it; nothing else uses it.
 */
export interface RawPipe {
  /** The product and version of the server. */
  readonly server: string;
  prepare(queue: string): Promise<void>;
  /** Resolves when the broker has confirmed all of them. */
  send(queue: string, texts: readonly string[]): Promise<void>;
  /** Returns the function that stops it. A message is acknowledged when `take` has resolved. */
  consume(queue: string, take: (text: string) => Promise<void>, prefetch: number): Promise<() => Promise<void>>;
  close(): Promise<void>;
}
