/**
 * The bus, as services see it. RabbitMQ, NATS JetStream and the embedded SQLite broker stand behind it; nothing above
 * knows which. What holds on every one of them (and is proved by `conformance.ts`):
 *
 * B1 `send` resolves when the broker has the message durably; before that it may be lost, after that it is not.
 * B2 Delivery is at least once. A handler's return acknowledges; its throw is answered by the kind of the error.
 * B3 First deliveries of one queue start in the order of sending; with `singleActive` one consumer has them all.
 * B4 Attempts are counted in our own header and survive restarts; after the last one the message is a dead letter with
 *    the error, the history and the bytes, even when the consumer died in that attempt.
 * B5 What does not parse or validate is a dead letter at once, never a crash.
 * B6 Events are delivered in order per subject; a named group is durable and catches up from where it stopped.
 * B7 Nothing waits for a dead letter: before it is stored, whoever asked is told, with its id. A question is answered with
 *    the failure, a request whose answer goes to a queue is followed there by `request.died`.
 */
import type { CallDefinition } from '@anneal/contracts/define.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Failure } from '@anneal/contracts/errors.ts';

export interface Delivery<T = unknown> {
  readonly message: Envelope<T>;
  readonly queue: string;
  /** 1 at the first. */
  readonly attempt: number;
  /** True when this is the last attempt before it becomes a dead letter. */
  readonly last: boolean;
  /** Aborted when the consumer stops at once or loses its connection: what the handler does now may be repeated elsewhere. */
  readonly signal: AbortSignal;
}

export type Handler = (delivery: Delivery) => Promise<void>;

/** A message that is about to become a dead letter. */
export interface Death {
  /** The id of the dead letter. */
  readonly letter: string;
  readonly queue: string;
  /** As far as it can be read; its data was not validated. */
  readonly message: Envelope | undefined;
  /** Names the dead letter in its text and in `details.dead_letter`. */
  readonly failure: Failure;
}

export interface ConsumeOptions {
  /** Handlers in flight, and messages prefetched. Default 16. */
  readonly concurrency?: number;
  /**
   * One active consumer of the queue among all replicas, so that queues are spread evenly; another takes over within ten
   * seconds of its death. A group has one in any case.
   */
  readonly singleActive?: boolean;
  /** Told when this consumer becomes, or ceases to be, the active one. Only with `singleActive`. */
  readonly onActive?: (active: boolean) => void;
  /** Deliveries before it becomes a dead letter. Default 8. */
  readonly maxAttempts?: number;
  /**
   * Ends what waits for the message, besides its asker: that one the bus tells itself. It comes before the dead letter is
   * stored, and again when the process dies between the two; when it throws, the message is tried again.
   */
  readonly onDeath?: (death: Death) => Promise<void>;
  /** Wait before attempt n+1, in milliseconds. Default: 100 ms doubling to 30 s, with jitter. */
  readonly backoff?: (attempt: number) => number;
}

export interface Consumer {
  /** Takes nothing new; resolves when what is in flight has ended, or was given back at the deadline. */
  stop(options?: { deadlineMs?: number }): Promise<void>;
}

export interface QueueMeasure {
  readonly name: string;
  /** Waiting, those that wait for a retry included. */
  readonly depth: number;
  readonly inFlight: number;
  /** Who takes from it now; those who stand by are not counted. */
  readonly consumers: number;
  readonly oldestAgeMs: number | null;
}

export interface DeadLetter {
  readonly id: string;
  /** The queue in which it died. */
  readonly queue: string;
  readonly diedAt: string;
  readonly attempts: number;
  readonly failure: Failure;
  /** One entry per failed attempt, the first first; bounded. */
  readonly history: readonly { readonly at: string; readonly error: string }[];
  /** The message as it came. Text when it is UTF-8, else base64 with `base64:` before it. */
  readonly bytes: string;
}

export interface Queues {
  /** Makes a queue before anyone consumes from it. Repeats are harmless. */
  declare(queue: string): Promise<void>;
  list(prefix?: string): Promise<QueueMeasure[]>;
  measure(queue: string): Promise<QueueMeasure>;
  /** The first messages, untouched. */
  peek(queue: string, limit: number): Promise<Envelope[]>;
  /** Drops all that wait; gives how many. */
  purge(queue: string): Promise<number>;
  remove(queue: string): Promise<void>;
}

export interface DeadLetters {
  list(parameters: { queue?: string; limit: number; after?: string }): Promise<DeadLetter[]>;
  show(id: string): Promise<DeadLetter | undefined>;
  /** Sends it again, to the end of the queue in which it died, attempts from zero. False when it is gone. */
  replay(id: string): Promise<boolean>;
  purge(parameters: { queue?: string; id?: string }): Promise<number>;
}

export interface Bus {
  /** Durable on return. All messages of one call go to the broker together, in order. */
  send(parameters: { queue: string; messages: readonly Envelope[] }): Promise<void>;
  consume(queue: string, handler: Handler, options?: ConsumeOptions): Promise<Consumer>;

  /**
   * A short question: resolves with the answer, rejects with the asked service's error, or TimedOut. The question is not
   * durable beyond its timeout (default 30 s).
   */
  request<Q, A>(parameters: {
    queue: string;
    call: CallDefinition<Q, A>;
    message: Envelope<Q>;
    timeoutMs?: number;
    signal?: AbortSignal;
  }): Promise<A>;
  /** Sends an answer to whoever asked. Harmless when nobody waits any more. */
  reply(parameters: { to: Envelope; message: Envelope }): Promise<void>;

  /** Durable on return, to every group; those who listen without a group get what happens while they listen. */
  publish(events: readonly Envelope[]): Promise<void>;
  /**
   * Patterns as in AMQP topics over the event type: `*` is one word, `#` any number (`stack.#`, `*.*.failed`).
   * With `group`, durable and shared; a new group starts with what is published after its creation.
   */
  subscribe(
    patterns: readonly string[],
    handler: Handler,
    options?: ConsumeOptions & { group?: string },
  ): Promise<Consumer>;

  readonly queues: Queues;
  readonly deadLetters: DeadLetters;

  /** Rejects, saying why, while the broker cannot take messages. */
  check(): Promise<void>;
  close(): Promise<void>;
}
