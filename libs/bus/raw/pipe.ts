/**
 * The raw driver of a broker, used as its manual says and with the guarantees of the bus: durable queues, confirmed
 * publishes, manual acknowledgement after the handler. No envelope is validated, no attempt counted, nothing reconnects.
 * It is what `npm run bench -- bus` measures the adapters against, and nothing else uses it.
 */
export interface RawPipe {
  /** The product and version that answers. */
  readonly server: string;
  prepare(queue: string): Promise<void>;
  /** Resolves when the broker has confirmed all of them. */
  send(queue: string, texts: readonly string[]): Promise<void>;
  /** Gives what ends it. A message is acknowledged when `take` has resolved. */
  consume(queue: string, take: (text: string) => Promise<void>, prefetch: number): Promise<() => Promise<void>>;
  close(): Promise<void>;
}
