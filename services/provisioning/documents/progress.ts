/** The result of one call of a step. */
import type { JsonObject } from '@anneal/contracts/json.ts';

/** `memo` is stored, and given to the next call of the step. */
export type StepProgress =
  | { readonly kind: 'done' }
  | { readonly kind: 'wait'; readonly ms: number; readonly memo: JsonObject }
  /** The firmware takes the change over at its next start. */
  | { readonly kind: 'restart'; readonly memo: JsonObject }
  /** An operator continues. */
  | { readonly kind: 'hold' }
  /** The machine boots the ramdisk for this step. */
  | { readonly kind: 'boot' };
