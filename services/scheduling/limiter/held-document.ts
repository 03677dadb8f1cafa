/** Requests in the store that wait for their turn. */
import type { Document } from '@anneal/store/port.ts';
import type { Cause } from '../shard/journal.ts';
import type { WaitingRequest } from './turns.ts';

/** A request that waits for its turn, and the cause that its message will name. The id is that of its resource. */
export interface HeldDocument extends WaitingRequest, Document {
  readonly cause: Cause;
  readonly traversal: string;
}
