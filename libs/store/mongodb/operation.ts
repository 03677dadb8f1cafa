import type { BulkOutcome } from '../port.ts';
import type { Keys } from './stored.ts';

/** A write in the queue. It was converted to text when it was requested. */
export interface Operation {
  readonly kind: 'put' | 'insert' | 'replace' | 'remove';
  readonly id: string;
  /** The version to act on. */
  readonly version: number | undefined;
  readonly text: string;
  readonly keys: Keys;
  /** Names this write in the document that it creates. */
  readonly write: string;
}

/** `refusal` is the server's text for a duplicate, when it sent one. */
export type OperationResult =
  | { readonly outcome: BulkOutcome; readonly refusal?: string }
  | { readonly error: unknown };
