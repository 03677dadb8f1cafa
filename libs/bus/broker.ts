/**
 * The interface of a broker's adapter. Everything that is the same on all brokers (validation, claim checks, attempts,
 * verdicts, questions and answers) is above it in `bus.ts`. An adapter moves bytes and never looks into them.
 */
import { AnnealError, type Failure } from '@anneal/contracts/errors.ts';
import type { BusMembers } from './active/members.ts';
import type { BusMarks, DeadLetters, Queues } from './port.ts';

/** The durable queue of a group of listeners. */
export const groupQueue = (group: string): string => `events.${group}`;

/** The broker was away for too long. A handler that fails for this reason has not used an attempt. */
export class BrokerAway extends AnnealError {
  /** @param since the start of the outage, where it is known */
  constructor(message: string, { cause, since }: { cause?: unknown; since?: string } = {}) {
    super('Unavailable', message, { cause, ...(since !== undefined && { details: { broker_away_since: since } }) });
  }
}

/** The time in which a broker cannot be reached, or accepts no messages. */
export interface BrokerOutage {
  /** A sentence without its full stop. */
  readonly reason: string;
  readonly forMs: number;
}

/** The content type of an envelope on every broker: a CloudEvent in structured mode. */
export const contentType = 'application/cloudevents+json';

/** An encoded message. Adapters send its bytes unchanged. */
export interface Packet {
  /** The id of the CloudEvent. Absent where an operator resends bytes unchanged. */
  readonly id?: string;
  /** The topic of an event. */
  readonly type: string;
  /** Events of one subject are delivered in order. */
  readonly subject?: string | undefined;
  /**
   * The attributes of an event, for an adapter whose messages have them as headers too, which listeners outside Anneal
   * read.
   */
  readonly attributes?: () => Readonly<Record<string, string>>;
  readonly bytes: string | Uint8Array;
  /**
   * This process has validated the bytes. An adapter may pass this on with the same bytes while they are in memory, and
   * never with bytes that were stored or were outside this process.
   */
  readonly valid?: boolean;
}

/** A message that a consumer holds until it is settled. */
export interface BrokerOffer {
  readonly queue: string;
  readonly bytes: string | Uint8Array;
  /** See `Packet`. */
  readonly valid?: boolean;
  /** Counts this attempt too. May exceed the consumer's limit: then the process died in the last attempt. */
  readonly attempt: number;
  /** The reason why the server itself gave the message up. It dies without another attempt. */
  readonly givenUp?: string | undefined;
  /** Resolves when the broker has the verdict. Never rejects. Does nothing when the offer was lost meanwhile. */
  settle(verdict: ConsumerVerdict): Promise<void>;
}

/**
 * The end of an offer: the broker removes it, offers it again after `delayMs` milliseconds, stores it as a dead
 * letter, or offers it again at once.
 */
export type ConsumerVerdict =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly error: string }
  /** `id` of the dead letter; those who wait for the message have received it already. */
  | { readonly kind: 'dead'; readonly id: string; readonly failure: Failure; readonly error: string }
  /** Given back unfinished: offered again at once, and the attempt is not counted. */
  | { readonly kind: 'back' };

/** The receiver of the offers of one consumer. */
export interface BrokerIntake {
  /** The largest number of offers that are not settled yet. */
  readonly concurrency: number;
  /** It may get an event before the earlier ones of its subject are settled. An adapter may ignore it. */
  readonly keepsOrder?: boolean;
  /** No other consumer takes from the queue, so unsettled messages belonged to consumers that died. */
  readonly alone?: boolean;
  /** Never throws. Called in the order of the queue. */
  readonly offer: (offer: BrokerOffer) => void;
  /** The open offers no longer belong to this consumer; another consumer may repeat them. */
  readonly onLost?: () => void;
  /** The consumer takes offers again after its connection was lost. */
  readonly onAgain?: () => void;
}

/** A consumer at the broker, as its owner stops it. Repeated calls are harmless. */
export interface BrokerConsumer {
  /** Offers nothing more. */
  drain(): void;
  /** Gives back the offers that are not settled. */
  close(): Promise<void>;
}

/** The queues of a broker as operators see them: messages as bytes, because an adapter never looks into them. */
export type BrokerQueues = Omit<Queues, 'peek'> & {
  peek(queue: string, limit: number): Promise<(string | Uint8Array)[]>;
};

/** The dead letters as the broker keeps them: of the last life of a message. */
export interface BrokerDeadLetters extends Omit<DeadLetters, 'replay'> {
  /** True where the store has them, so that they can be read in an outage of the broker. */
  readonly isInStore?: boolean;
  /** @param bytes sends these in place of its own */
  replay(id: string, bytes?: string): Promise<boolean>;
}

/**
 * A broker as the bus uses it. A call rejects with BrokerAway when the broker was away for too long; the caller may
 * repeat it, because duplicates are allowed.
 */
export interface Broker {
  /** The processes that share the broker. Absent where only one process can use it. */
  readonly members?: BusMembers;
  send(parameters: { queue: string; packets: readonly Packet[] }): Promise<void>;
  /** Creates the queue when it is missing, as `subscribe` does for the queue of its group. */
  consume(queue: string, intake: BrokerIntake): Promise<BrokerConsumer>;

  publish(packets: readonly Packet[]): Promise<void>;
  /** From now on the group misses no event, even while it has no consumer. */
  declareGroup(parameters: { patterns: readonly string[]; group: string }): Promise<void>;
  subscribe(
    parameters: { patterns: readonly string[]; group: string | undefined },
    intake: BrokerIntake,
  ): Promise<BrokerConsumer>;

  /** The address for answers to this process: the `replyto` of its questions. */
  readonly inbox: string;
  readonly isInbox: (address: string) => boolean;
  onAnswer(take: (bytes: string | Uint8Array, valid?: boolean) => void): void;
  /** Neither is durable: a question or an answer may be lost, and the requester recovers by its deadline. */
  ask(parameters: { queue: string; packet: Packet; ttlMs: number }): Promise<void>;
  answer(parameters: { inbox: string; packet: Packet }): Promise<void>;

  readonly queues: BrokerQueues;
  readonly deadLetters: BrokerDeadLetters;
  /** The outage of this moment, as this process knows it without asking. Absent for a broker inside the process. */
  readonly outage?: () => BrokerOutage | undefined;
  check(): Promise<void>;
  /** See `Bus`. */
  readonly copyTo?: (file: string) => void;
  /** See `Bus`. */
  readonly marks?: BusMarks;
  close(): Promise<void>;
}
