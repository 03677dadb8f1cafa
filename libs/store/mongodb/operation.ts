import type { BulkOutcome } from '../port.ts';
import type { Keys } from './stored.ts';

/** A write as the queue holds it: made into text when it was asked for. */
export interface Operation {
  readonly kind: 'put' | 'insert' | 'replace' | 'remove';
  readonly id: string;
  /** The version to act on. */
  readonly version: number | undefined;
  readonly text: string;
  readonly keys: Keys;
  /** Names this write in the document that it makes. */
  readonly write: string;
}

/** `refusal` is the server's text for a duplicate, when it gave one. */
export type Result = { readonly outcome: BulkOutcome; readonly refusal?: string } | { readonly error: unknown };
