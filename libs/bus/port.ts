/**
 * The bus as services see it. RabbitMQ, NATS JetStream and the embedded SQLite broker implement it; no caller knows
 * which. Every one of them keeps these guarantees, and `conformance.ts` proves them:
 *
 * B1 `send` resolves when the broker has the message durably; before that it may be lost, after that it is not.
 * B2 Delivery is at least once. A handler that returns acknowledges; for one that throws, the kind of the error
 *    decides.
 * B3 First deliveries of one queue start in the order of sending; with `singleActive` one consumer has them all.
 * B4 Attempts are counted in our own header and survive restarts; after the last one the message is a dead letter with
 *    the error, the history and the bytes, even when the consumer died in that attempt.
 * B5 What does not parse or validate is a dead letter at once, never a crash.
 * B6 Events are delivered in order per subject; a named group is durable and catches up from where it stopped.
 * B7 No process waits for a dead letter: before it is stored, the requester is notified, with its id. A question is
 *    answered with the failure. A request whose answer goes to a queue gets `request.died` there.
 */
import type { CallDefinition } from '@anneal/contracts/define.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Failure } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { WorkPermission } from '@anneal/store/permission.ts';

/** One attempt to handle a message. A message may be delivered again, also while an earlier attempt runs. */
export interface Delivery<T = unknown> {
  readonly message: Envelope<T>;
  readonly queue: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** True when this is the last attempt before it becomes a dead letter. */
  readonly last: boolean;
  /** Aborted when the consumer stops at once or loses its connection: another consumer may repeat the work. */
  readonly signal: AbortSignal;
}

/**
 * Handles one message. Returning acknowledges it; the kind of a thrown error decides what follows (B2). It must be
 * idempotent.
 */
export type Handler = (delivery: Delivery) => Promise<void>;

/** A message that is about to become a dead letter. */
export interface Death {
  /** The id of the dead letter. */
  readonly letter: string;
  readonly queue: string;
  /** The part that can be read; its data was not validated. */
  readonly message: Envelope | undefined;
  /** Its text and `details.dead_letter` name the dead letter. */
  readonly failure: Failure;
}

/** The behaviour of one consumer. All consumers of a queue should agree on `singleActive`. */
export interface ConsumeOptions {
  /** Handlers in flight, and messages prefetched. Default 16. */
  readonly concurrency?: number;
  /**
   * One active consumer of the queue among all replicas; queues are spread evenly. Another replica takes over within
   * ten seconds of its death. A group always has a single active consumer.
   */
  readonly singleActive?: boolean;
  /** Called when this consumer becomes the active one, or ceases to be. Only with `singleActive`. */
  readonly onActive?: (active: boolean) => void;
  /**
   * Called when a listener without a group listens again after the connection to the broker was lost: events that were
   * published meanwhile never arrive, later ones do. The embedded bus never calls it.
   */
  readonly onGap?: () => void;
  /**
   * Only with a group: the handler keeps the events of each subject in order by itself. The bus starts it in their order,
   * and need not wait for the earlier ones. So the handler must not fail an event that another attempt could save,
   * because later ones of the subject may have succeeded. A broker may ignore it.
   */
  readonly keepsOrder?: boolean;
  /** Deliveries before the message becomes a dead letter. Default 8. */
  readonly maxAttempts?: number;
  /**
   * Ends the waits for the message, except the requester's, which the bus notifies itself. Called before the dead
   * letter is stored, and again when the process dies between the two. When it throws, the message is retried.
   */
  readonly onDeath?: (death: Death) => Promise<void>;
  /** Wait before attempt n+1, in milliseconds. Default: 100 ms doubling to 30 s, with jitter. */
  readonly backoff?: (attempt: number) => number;
}

/** A running consumer. Repeated stops wait for the first. */
export interface Consumer {
  /** Takes no new message; resolves when those in progress have ended, or were given back at the deadline. */
  stop(options?: { deadlineMs?: number }): Promise<void>;
}

/** The numbers of a queue at one moment. A message that moves may be counted twice, but is never missed. */
export interface QueueMeasure {
  readonly name: string;
  /** Messages that wait, including those that wait for a retry. */
  readonly depth: number;
  readonly inFlight: number;
  /** Consumers that take messages now; those that stand by are not counted. */
  readonly consumers: number;
  readonly oldestAgeMs: number | null;
}

/** A message that is no longer tried, with the reason. It stays until it is replayed or purged. */
export interface DeadLetter {
  readonly id: string;
  /** The queue in which it died. */
  readonly queue: string;
  readonly diedAt: string;
  /** Also those before its replays. */
  readonly attempts: number;
  readonly failure: Failure;
  /** How often it was replayed before it died again. Absent for a message that was not. */
  readonly replays?: number;
  /** One entry per failed attempt and per replay, oldest first; bounded. */
  readonly history: readonly { readonly at: string; readonly error: string }[];
  /** The message as received. Text when it is UTF-8, else base64 after `base64:`. */
  readonly bytes: string;
}

/**
 * The end of a dead letter that was sent again: handled, or dead again under another id. `sent`: it had no end within the wait,
 * because it waits for a consumer or for its next attempt.
 */
export type ReplayOutcome =
  | { readonly outcome: 'sent' | 'handled' }
  | { readonly outcome: 'died'; readonly deadLetter: string; readonly failure: Failure };

/** The queues as operators see them. All but `declare` reject at once in an outage that lasts longer than a second. */
export interface Queues {
  /** Creates a queue before its first consumer exists. Repeats are harmless. */
  declare(queue: string): Promise<void>;
  list(prefix?: string): Promise<QueueMeasure[]>;
  measure(queue: string): Promise<QueueMeasure>;
  /** The first messages; they stay in the queue. */
  peek(queue: string, limit: number): Promise<Envelope[]>;
  /** Drops all waiting messages; returns their number. A message whose wait for a retry ends at this moment may stay. */
  purge(queue: string): Promise<number>;
  remove(queue: string): Promise<void>;
}

/**
 * The dead letters of the broker, in the order of death. In an outage that lasts longer than a second, `replay` rejects
 * at once, and so do the others where the broker itself keeps the letters.
 */
export interface DeadLetters {
  list(parameters: { queue?: string; limit: number; after?: string }): Promise<DeadLetter[]>;
  show(id: string): Promise<DeadLetter | undefined>;
  /**
   * Sends it again, to the end of the queue in which it died, with as many attempts as a new message. When it dies again,
   * its letter has the history of all its lives. Undefined when it does not exist.
   * @param options.patch changes the data of the message first, as a JSON merge patch (RFC 7396)
   * @param options.waitMs how long to await its end; 0 when it is absent
   * @throws AnnealError InvalidRequest, with every mistake, when the changed message would not be valid; nothing is sent
   */
  replay(id: string, options?: { patch?: JsonObject; waitMs?: number }): Promise<ReplayOutcome | undefined>;
  purge(parameters: { queue?: string; id?: string }): Promise<number>;
}

/** Messages between services. Every call rejects with AnnealError Unavailable while the broker is away for too long. */
export interface Bus {
  /** Durable on return. All messages of one call go to the broker together, in order. */
  send(parameters: { queue: string; messages: readonly Envelope[] }): Promise<void>;
  consume(queue: string, handler: Handler, options?: ConsumeOptions): Promise<Consumer>;

  /**
   * A short question: resolves with the answer; rejects with the error of the service, or TimedOut. The question is
   * durable only until its timeout (default 30 s).
   */
  request<Q, A>(parameters: {
    queue: string;
    call: CallDefinition<Q, A>;
    message: Envelope<Q>;
    timeoutMs?: number;
    /**
     * Rejects with Unavailable when an outage of the broker lasts longer than a second. Before that, nothing is sent; a
     * question that was sent before the outage may still be handled. Default: waits until the timeout.
     */
    failsInOutage?: boolean;
    /** Seals the data, so that no broker keeps it in the clear. For receivers that open it, see `sealing` of the bus. */
    seals?: boolean;
    signal?: AbortSignal;
  }): Promise<A>;
  /** Sends an answer to the requester. Harmless when it no longer waits. */
  reply(parameters: { to: Envelope; message: Envelope }): Promise<void>;

  /** Durable on return, for every group. Listeners without a group get the events that happen while they listen. */
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

  /**
   * Like `singleActive`, for work without a queue that all replicas share: of the processes that ask for a name, one
   * holds it. Names are spread evenly, and another process takes over within ten seconds of the death of the holder. For
   * a moment two processes may hold a name. Resolves when the others can see the wish; `onHeld` reports each change.
   */
  hold(name: string, onHeld: (held: boolean) => void): Promise<Consumer>;

  /**
   * Whether this process may take work. While it may not, no consumer takes messages, except listeners without a group,
   * and this process holds no name. Code that finds work elsewhere than in a queue asks it.
   */
  readonly permission: WorkPermission;

  readonly queues: Queues;
  readonly deadLetters: DeadLetters;

  /** Rejects with the reason while the broker cannot take messages, or this process may take no work. */
  check(): Promise<void>;
  /** The outage at this moment, and its length so far. Absent for a broker that has none. */
  outage?(): { readonly reason: string; readonly forMs: number } | undefined;
  /**
   * Writes all stored messages to a new file, before it returns, so that a caller can copy something else of the same
   * moment. Absent for a broker on a network.
   * @throws Error when the file cannot be written; then the broker is as before
   */
  readonly copyTo?: (file: string) => void;
  /** See {@link BusMarks}. Absent for a broker on a network. */
  readonly marks?: BusMarks;
  close(): Promise<void>;
}

/** A number in the file of the broker, which shows whether the file has its last writes. */
export interface BusMarks {
  /** 0 in a file that was never marked. */
  last(): Promise<number>;
  /** Durable on return. */
  put(count: number): Promise<void>;
  /** How many commits this process has made. */
  commits(): number;
}
