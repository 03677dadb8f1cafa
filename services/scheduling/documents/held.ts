/** Requests in the store that wait for their turn. */
import type { Document } from '@anneal/store/port.ts';
import type { Cause } from './journal.ts';

export interface WaitingRequest {
  readonly resource: string;
  readonly fence: number;
  readonly stack: string;
  readonly project: string;
  readonly queue: string;
  readonly shard: number;
  readonly urgent: boolean;
}

/** A request that waits for its turn, and the cause that its message will name. The id is that of its resource. */
export interface HeldDocument extends WaitingRequest, Document {
  readonly cause: Cause;
  readonly traversal: string;
}
