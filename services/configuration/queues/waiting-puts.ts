/** New messages that wait to be stored. */
import { Gathered } from '@anneal/runtime/work/gathered.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { DeploymentBefore, MessageDocument } from '../collections.ts';
import type { QueueLimits } from './limits.ts';
import type { MessageQueue } from './message-queue.ts';

export interface NewMessage {
  readonly id: string;
  readonly body: Json;
  /** Seconds. Absent: the default of the queue. */
  readonly ttl?: number | undefined;
  /** Seconds. Absent: the default of the queue. */
  readonly delay?: number | undefined;
  /** When it became the first of a strict queue. Absent for others. */
  readonly first_at?: number | undefined;
  /** The deployments that must complete before it is handed out. */
  readonly after?: readonly DeploymentBefore[] | undefined;
}

/** A call that adds messages to a queue. */
export interface Put {
  readonly queue: MessageQueue;
  readonly client_id: string;
  readonly messages: readonly NewMessage[];
  /** The most seconds that the default of the queue gives. */
  readonly mostDefaultTtl?: number | undefined;
  /** Limits of open queues. */
  readonly limits?: QueueLimits | undefined;
  /** True for messages that were processed already. */
  readonly handled?: boolean;
  /** True when no earlier call can have added them. Then Q2 is left to the ids alone, which saves a read. */
  readonly isNew?: boolean;
}

/** The messages as stored, or the reason why they are not. */
export type PutOutcome = { readonly stored: MessageDocument[] } | { readonly error: unknown };

/** The calls that wait to be stored, by the id of their queue. */
export type PutsByQueue = Gathered<Put, PutOutcome>;

/** The most calls that are stored together. */
const mostTogether = 100;

export const createPuts = (): PutsByQueue => new Gathered({ most: mostTogether });
