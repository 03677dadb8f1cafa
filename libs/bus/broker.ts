/**
 * What a broker's adapter has to do; everything that is the same on all of them (validation, claim checks, attempts,
 * verdicts, questions and answers) stands above it in `bus.ts`. An adapter moves bytes and never looks into them.
 */
import { AnnealError, type Failure } from '@anneal/contracts/errors.ts';
import type { Members } from './active/members.ts';
import type { DeadLetters, Queues } from './port.ts';

/** The durable queue of a group of listeners. */
export const groupQueue = (group: string): string => `events.${group}`;

/** The broker was away for too long. A handler that fails for this reason has not used up an attempt. */
export class BrokerAway extends AnnealError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super('Unavailable', message, options);
  }
}

/** What an envelope is on the wire: a CloudEvent in structured mode, on every broker. */
export const contentType = 'application/cloudevents+json';

export interface Packet {
  /** Of the CloudEvent; absent where an operator sends bytes again as they were. */
  readonly id?: string;
  /** The topic of an event. */
  readonly type: string;
  /** Events of one subject are delivered in order. */
  readonly subject?: string | undefined;
  readonly bytes: string | Uint8Array;
}

/** A message in the hands of a consumer until it is settled. */
export interface Offer {
  readonly queue: string;
  readonly bytes: string | Uint8Array;
  /** This one included. It may exceed what the consumer allows: then the process died in the last attempt. */
  readonly attempt: number;
  /** Resolves when the broker has it. Never rejects; of an offer that was lost meanwhile it does nothing. */
  settle(verdict: Verdict): Promise<void>;
}

export type Verdict =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly error: string }
  /** `id`: that of the dead letter, which those who wait for the message have been given already. */
  | { readonly kind: 'dead'; readonly id: string; readonly failure: Failure; readonly error: string }
  /** Given back unfinished: offered again at once, and the attempt is not counted. */
  | { readonly kind: 'back' };

export interface Intake {
  /** Offers that are not settled yet, at most. */
  readonly concurrency: number;
  /** Nobody else takes from it: what the broker still waits for was in the hands of the dead. */
  readonly alone?: boolean;
  /** Never throws. Called in the order of the queue. */
  readonly offer: (offer: Offer) => void;
  /** The offers in hand are no longer ours: what is done with them may be repeated elsewhere. */
  readonly onLost?: () => void;
}

export interface BrokerConsumer {
  /** Offers nothing more from now on. */
  drain(): void;
  /** What it has not settled goes back. */
  close(): Promise<void>;
}

export interface Broker {
  /** The processes that share it. Absent where it has but one. */
  readonly members?: Members;
  send(parameters: { queue: string; packets: readonly Packet[] }): Promise<void>;
  /** Makes the queue when it is missing; so does `subscribe` with that of its group. */
  consume(queue: string, intake: Intake): Promise<BrokerConsumer>;

  publish(packets: readonly Packet[]): Promise<void>;
  /** From now on the group misses nothing, though nobody takes for it yet. */
  declareGroup(parameters: { patterns: readonly string[]; group: string }): Promise<void>;
  subscribe(
    parameters: { patterns: readonly string[]; group: string | undefined },
    intake: Intake,
  ): Promise<BrokerConsumer>;

  /** Where answers to this process arrive: the `replyto` of its questions. */
  readonly inbox: string;
  readonly isInbox: (address: string) => boolean;
  onAnswer(take: (bytes: string | Uint8Array) => void): void;
  /** Neither is durable: a question or an answer may be lost, and the asker's deadline is the mending. */
  ask(parameters: { queue: string; packet: Packet; ttlMs: number }): Promise<void>;
  answer(parameters: { inbox: string; packet: Packet }): Promise<void>;

  readonly queues: Omit<Queues, 'peek'> & { peek(queue: string, limit: number): Promise<(string | Uint8Array)[]> };
  readonly deadLetters: DeadLetters;
  check(): Promise<void>;
  close(): Promise<void>;
}

/** What the bus writes to: any logger of pino's form. */
export interface BusLog {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}
